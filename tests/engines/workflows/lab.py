"""A worker with workflows, as these tests drive it."""

from collections.abc import Iterator, Sequence
from typing import Any

from pyflare.engines.workflows.history import History
from pyflare.testing import Harness
from pyflare.testing.harness import _rest

CONFIG = "tests/engines/workflows/worker"
HOUR, DAY = 3600.0, 86_400.0


async def call(worker: Harness, method: str, *args: Any, **more: Any) -> Any:
    """What a method of the binding gives, or of an instance with `id=`; {"error": text} is raised as Refused."""
    answer = (await worker.fetch("/", json={"method": method, "args": args, **more})).json()
    if "error" in answer:
        raise Refused(answer["error"])
    return answer["result"]


class Refused(Exception):
    """What the worker got as an exception."""


async def start(worker: Harness, flow: str, id: str = "i", **params: Any) -> str:
    """Begin a flow and let it come to rest."""
    made: str = await call(worker, "create", {"id": id, "params": {"flow": flow, **params}})
    await worker.settle()
    return made


async def status(worker: Harness, id: str = "i") -> Any:
    return await call(worker, "status", id=id)


async def state(worker: Harness, id: str = "i") -> tuple[str, Any]:
    """(status, output)."""
    found = await status(worker, id)
    return found["status"], found["output"]


async def log(worker: Harness) -> list[str]:
    lines: list[str] = (await worker.fetch("/")).json()
    return lines


def history(worker: Harness, id: str = "i") -> History:
    found: History = worker.engines["workflows"].history("flow", id)
    return found


def in_memory(worker: Harness) -> int:
    return len(worker.engines["workflows"]._awake.runs)


async def until(worker: Harness, line: str) -> None:
    """Wait until a flow has noted `line`, while it goes on with what it does."""
    for _ in range(1000):
        if line in await log(worker):
            return
        await _rest(0.002)
    raise AssertionError(f"{line!r} was not noted")


async def tell(worker: Harness) -> None:
    """Say the word that some flows wait for or look at."""
    worker.engines["kv"].namespace("log").put("told", b"yes")


def moments(found: History) -> Iterator[float]:
    """When the attempts of the first step began, counted from the first."""
    attempts: Sequence[Any] = found.steps[0].attempts
    return (attempt.start - attempts[0].start for attempt in attempts)
