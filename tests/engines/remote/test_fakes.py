"""`[tool.pyflare.fakes]` of a project: objects of the user's in the place of what only Cloudflare has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.errors import ConfigError, WorkerError
from pyflare.testing import Harness
from tests.support.project import Project

WORKER = """
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response(await self.env.AI.run("model"))
"""
FAKES = """
from mocks.data import ANSWER

calls = 0


class Ai:
    async def run(self, model):
        global calls
        calls += 1
        return f"{ANSWER} {calls}"
"""

Make = Callable[..., Project]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def project(name: str = "w", answer: str = "faked", fakes: str = 'AI = "mocks.fakes:Ai"', **keys: Any) -> Project:
        made = Project(tmp_path / name)
        made.configure(name=name, **{"ai": {"binding": "AI"}, **keys})
        made.write("src/entry.py", WORKER)
        made.write("mocks/fakes.py", FAKES)
        made.write("mocks/data.py", f"ANSWER = {answer!r}")
        made.write("pyproject.toml", f"[tool.pyflare.fakes]\n{fakes}\n")
        return made

    return project


def asked(*projects: Project) -> str:
    """What the worker answers, and what the terminal says."""

    async def run() -> str:
        async with Harness(*(project.root for project in projects)) as worker:
            return (await worker.fetch("/")).text + worker.terminal

    return asyncio.run(run())


def test_a_fake_lies_in_the_folder_of_pyproject_toml(make: Make) -> None:
    assert make().warnings() == []
    assert asked(make()) == "faked 1"


def test_each_harness_has_its_own(make: Make) -> None:
    assert [asked(make()), asked(make())] == ["faked 1", "faked 1"]


def test_two_projects_may_call_their_modules_alike(make: Make) -> None:
    one, other = make("one", "first"), make("other", "second")
    assert [asked(one, other), asked(other, one)] == ["first 1", "second 1"]


def test_a_fake_may_lie_beside_main(make: Make) -> None:
    project = make(fakes='AI = "own:Ai"')
    project.write("src/own.py", "class Ai:\n    async def run(self, model):\n        return 'own'\n")
    assert asked(project) == "own"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("mocks.nope:Ai", "there is no module mocks.nope beside main or pyproject.toml"),
        ("nope.fakes:Ai", "there is no module nope.fakes beside main or pyproject.toml"),
        ("mocks.fakes:Nope", "mocks.fakes has no class Nope"),
        ("mocks.fakes:calls", "mocks.fakes has no class calls"),
    ],
)
def test_a_target_that_is_not_there_fails_the_start(make: Make, target: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        asked(make(fakes=f'AI = "{target}"'))
    assert str(raised.value).startswith(f"pyproject.toml: tool.pyflare.fakes.AI = {target!r}: {said}")


def test_a_module_that_fails_is_told_with_its_lines(make: Make) -> None:
    project = make()
    project.write("mocks/fakes.py", "import nothing_of_that_name")
    with pytest.raises(WorkerError, match="ModuleNotFoundError: No module named 'nothing_of_that_name'") as raised:
        asked(project)
    assert "mocks/fakes.py" in raised.value.details


@pytest.mark.parametrize(("keys", "there"), [({}, "AI"), ({"ai": None}, "none")])
def test_a_fake_of_no_binding_is_a_warning(make: Make, keys: dict[str, Any], there: str) -> None:
    async def terminal(project: Project) -> str:
        async with Harness(project.root) as worker:
            return worker.terminal

    project = make(fakes='NOPE = "x:Y"', **keys)
    said = f"pyproject.toml: tool.pyflare.fakes.NOPE: no binding of that name needs a fake; those that do: {there}\n"
    assert said in asyncio.run(terminal(project))
