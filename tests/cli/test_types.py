"""`pyflare types`."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pyflare import engines
from pyflare.cli import main
from pyflare.cli.types import BINDINGS, PROTOCOLS, members
from pyflare.testing import Harness
from tests.cli import typed_worker
from tests.support.project import Project

KEYS: dict[str, Any] = {
    "vars": {"GREETING": "Hello", "LIMIT": 5, "DEBUG": True, "NESTED": {"a": [1]}},
    "kv_namespaces": [{"binding": "NOTES", "id": "n"}],
    "queues": {"producers": [{"binding": "JOBS", "queue": "jobs"}]},
    "durable_objects": {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
    "version_metadata": {"binding": "VERSION"},
}


def types(project: Project, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["types", "--cwd", str(project.root), *arguments])


def test_env_has_a_member_for_each_binding_and_variable(project: Project) -> None:
    project.configure(**KEYS)
    assert members(project.load()) == {
        "GREETING": "str",
        "LIMIT": "float",
        "DEBUG": "bool",
        "NESTED": "Any",
        "NOTES": "KVNamespace",
        "JOBS": "Queue",
        "COUNTER": "DurableObjectNamespace",
        "VERSION": "VersionMetadata",
    }


def test_the_stub_lies_beside_the_entry_module(project: Project) -> None:
    project.configure(**KEYS)
    assert types(project).output == "Wrote src/worker_env.pyi\n"
    text = (project.root / "src/worker_env.pyi").read_text()
    assert "class Env(Protocol):\n    COUNTER: DurableObjectNamespace\n    DEBUG: bool\n" in text


WRONG = """
from worker_env import Env

async def f(env: Env) -> None:
    env.KV.send(1)
    env.KV.put("a", "b", expiration_ttl=60)
    env.KV.put("a", "b", 60)
    (await env.R2.put("a", "b")).text()
"""


def test_a_type_checker_reads_it(project: Project, tmp_path: Path) -> None:
    project.configure(**typed_worker.CONFIG)
    types(project)
    project.write("src/right.py", typed_worker.CALLS)
    project.write("src/wrong.py", WRONG)

    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "right.py", "wrong.py"]
    done = subprocess.run(command, cwd=project.root / "src", capture_output=True, text=True, check=False)
    errors = re.findall(r"^(\w+\.py:\d+): error", done.stdout, re.MULTILINE)
    assert errors == [f"wrong.py:{line}" for line in range(5, 9)], done.stdout


def test_what_the_type_checker_allows_runs(project: Project) -> None:
    project.configure(**typed_worker.CONFIG)
    project.write("src/entry.py", typed_worker.entry())
    project.write("src/calls.py", typed_worker.CALLS)
    project.write("public/page.txt", "page")

    async def run() -> None:
        async with Harness(project.root, secrets={"SECRET": "hush"}) as worker:
            answer = await worker.fetch("/", method="POST")
            assert (answer.status, answer.text) == (200, "done"), worker.terminal
            await worker.advance(5)
            assert await worker.env.KV.get("handled") == "jobs"

    asyncio.run(run())


def test_place_and_name_can_be_given(project: Project) -> None:
    project.configure(**KEYS)
    types(project, "types/bindings.pyi", "--env-interface", "Bindings")
    assert "class Bindings(Protocol):" in (project.root / "types/bindings.pyi").read_text()


def test_the_source_of_the_worker_is_not_written_over(project: Project) -> None:
    project.configure(**KEYS)
    before = (project.root / "src/entry.py").read_text()
    result = types(project, "src/entry.py")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: src/entry.py does not end in .pyi")
    assert (project.root / "src/entry.py").read_text() == before


def test_a_stub_that_somebody_wrote_is_left_as_it_is(project: Project) -> None:
    project.configure(**KEYS)
    project.write("src/worker_env.pyi", "class Env: ...\n")
    result = types(project)
    assert (result.exit_code, "was not made by `pyflare types`" in result.stderr) == (1, True)
    assert (project.root / "src/worker_env.pyi").read_text() == "class Env: ...\n"


def test_a_stub_is_made_anew(project: Project) -> None:
    project.configure(**KEYS)
    types(project)
    project.configure(vars={"OTHER": "x"})
    assert types(project).exit_code == 0
    assert "OTHER: str" in (project.root / "src/worker_env.pyi").read_text()


def test_a_stub_that_is_out_of_date_is_told(project: Project) -> None:
    project.configure(**KEYS)
    types(project)
    assert types(project, "--check").output == "src/worker_env.pyi is up to date\n"
    project.configure(vars={"OTHER": "x"})
    result = types(project, "--check")
    assert (result.exit_code, result.stderr) == (1, "error: src/worker_env.pyi is out of date; run pyflare types\n")


def test_a_worker_without_bindings_has_an_empty_env(project: Project) -> None:
    project.configure()
    types(project)
    assert (project.root / "src/worker_env.pyi").read_text().endswith("class Env(Protocol):\n    ...\n")


def test_a_name_that_is_no_class_is_refused(project: Project) -> None:
    project.configure()
    assert 'error: "class" cannot be the name of a class' in types(project, "--env-interface", "class").stderr


@pytest.mark.parametrize("key", BINDINGS)
def test_every_key_is_one_that_a_room_understands(key: str) -> None:
    known = {name for names in engines.ENGINES.values() for name in names}
    assert key.split(".")[0] in known


def test_the_protocols_have_no_name_twice() -> None:
    lines = PROTOCOLS.read_text().splitlines()
    classes = [line.partition("(")[0] for line in lines if line.startswith("class ")]
    assert len(classes) == len(set(classes))
    assert {f"class {kind}" for _, kind in BINDINGS.values() if kind != "Any"} <= set(classes)
