"""A workflow's class may live in another worker."""

import asyncio
import json
from pathlib import Path

import pytest

from pyflare.errors import ConfigError
from pyflare.testing import Harness

OWNER = """
from workers import Response, WorkerEntrypoint, WorkflowEntrypoint

class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        return [self.env.WHO, event["payload"]]

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("owner")
"""
CALLER = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        instance = await self.env.FLOW.create(id="i", params="from the caller")
        return Response.json((await (await self.env.FLOW.get("i")).status())["status"])
"""


def project(folder: Path, name: str, code: str, **config: object) -> Path:
    folder.mkdir()
    (folder / f"{name}.py").write_text(code)
    base = {"name": name, "main": f"{name}.py", "compatibility_date": "2026-08-01"}
    flags = {"compatibility_flags": ["python_workers"]}
    (folder / "wrangler.json").write_text(json.dumps({**base, **flags, **config}))
    return folder / "wrangler.json"


def test_an_instance_runs_in_the_worker_that_has_its_class(tmp_path: Path) -> None:
    flow = {"binding": "FLOW", "name": "flow", "class_name": "Flow"}
    owner = project(tmp_path / "a", "owner", OWNER, workflows=[flow], vars={"WHO": "the owner"})
    caller = project(tmp_path / "b", "caller", CALLER, workflows=[{**flow, "script_name": "owner"}])

    async def story() -> str | None:
        async with Harness(caller, owner) as worker:
            await worker.fetch("/")
            await worker.settle()
            return worker.engines["workflows"].history("flow", "i").instance.output  # type: ignore[no-any-return]

    assert asyncio.run(story()) == '["the owner","from the caller"]'


def test_a_class_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    flow = {"binding": "FLOW", "name": "flow", "class_name": "Flaw"}
    owner = project(tmp_path / "a", "owner", OWNER, workflows=[flow])

    async def story() -> None:
        async with Harness(owner):
            pass

    with pytest.raises(ConfigError, match="owner has no class 'Flaw'"):
        asyncio.run(story())
