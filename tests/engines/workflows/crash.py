"""A workflow of ten steps whose process is killed at commits chosen by a seed.

    python -m tests.engines.workflows.crash ROUNDS SEED

Each round takes a new state folder, runs the workflow in a child that sends itself SIGKILL after a commit (and perhaps
another one after a later commit), then in a child that lives to the end. Prints {"kills", "different"}: how many
children were killed, and the final histories that differ from the undisturbed one. Histories are compared without times
and attempts, which a crash may change.
"""

import asyncio
import json
import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyflare.storage.database import Database
from pyflare.testing import Harness

WORKER = Path(__file__).parent / "worker"
ID = "crash"
DAY = 86_400.0


def kill_after(commits: int) -> None:
    """SIGKILL after the n-th statement or transaction that the workflows' file has committed."""
    execute, transaction = Database.execute, Database.transaction
    seen = {"commits": 0}

    def committed(database: Database) -> None:
        if "workflows" in database.path and not database.raw.in_transaction:
            seen["commits"] += 1
            if seen["commits"] == commits:
                os.kill(os.getpid(), signal.SIGKILL)

    def counted_execute(self: Database, sql: str, params: Any = ()) -> Any:
        before = self.raw.total_changes()
        rows = execute(self, sql, params)
        if self.raw.total_changes() != before:
            committed(self)
        return rows

    @contextmanager
    def counted_transaction(self: Database) -> Iterator[None]:
        with transaction(self):
            yield
        committed(self)

    Database.execute = counted_execute  # type: ignore[method-assign]
    Database.transaction = counted_transaction  # type: ignore[method-assign]


async def drive(state: Path) -> list[Any]:
    """Take the instance to its end, whatever was done before."""
    async with Harness(WORKER, state=state) as worker:
        engine = worker.engines["workflows"]
        store, operations = engine.operations.store, engine.operations
        instance = store.find("flow", ID)
        if instance is None:
            await worker.fetch("/", json={"method": "create", "args": [{"id": ID, "params": {"flow": "everything"}}]})
        await worker.advance(2 * DAY)
        instance = operations.get("flow", ID)
        if operations.status(instance) == "waiting" and not store.catalogue.events(instance.id):
            event = {"type": "go", "payload": "news"}
            await worker.fetch("/", json={"method": "sendEvent", "args": [event], "id": ID})
        await worker.advance(2 * DAY)
        found = engine.history("flow", ID)
        steps = [(step.type, step.name, step.count, step.state, step.output) for step in found.steps]
        return [found.status, found.error.name if found.error else None, found.instance.rollback, sorted(steps)]


def in_a_child(state: Path, kill_at: int | None) -> tuple[bool, str]:
    """(whether it was killed, what it found)."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if kill_at is not None:
            kill_after(kill_at)
        os.write(writing, json.dumps(asyncio.run(drive(state))).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    return os.WIFSIGNALED(os.waitpid(child, 0)[1]), said


def rounds(count: int, seed: int) -> dict[str, Any]:
    chance, kills, different = random.Random(seed), 0, []
    with tempfile.TemporaryDirectory() as folder:
        _, undisturbed = in_a_child(Path(folder) / "undisturbed", None)
        for number in range(count):
            state = Path(folder) / str(number)
            points = [chance.randrange(2, 42) for _ in range(chance.choice((1, 1, 2)))]
            kills += sum(in_a_child(state, point)[0] for point in points)
            _, found = in_a_child(state, None)
            if found != undisturbed:
                different.append([points, found])
    return {"kills": kills, "different": different, "undisturbed": json.loads(undisturbed)}


if __name__ == "__main__":
    print(json.dumps(rounds(int(sys.argv[1]), int(sys.argv[2]))))
