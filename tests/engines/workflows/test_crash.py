"""Instances survive: a stop, a SIGKILL at any commit, a restart of the server."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.clock import FakeClock
from pyflare.testing import Harness
from tests.engines.workflows.lab import HOUR, call, history, log, start, state, tell, until

ROUNDS = int(os.environ.get("PYFLARE_KILL_ROUNDS", "20"))
FOLDER = Path(__file__).parent / "worker"

Story = Callable[[Harness], Awaitable[Any]]


def in_turn(folder: Path, *stories: Story) -> list[Any]:
    """Each story in a server of its own, on one state and one clock."""
    clock = FakeClock()

    async def tell_one(story: Story) -> Any:
        async with Harness(FOLDER, state=folder, clock=clock) as worker:
            return await story(worker)

    return [asyncio.run(tell_one(story)) for story in stories]


def test_after_random_kills_the_final_history_is_that_of_an_undisturbed_run() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.engines.workflows.crash", str(ROUNDS), "7"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(found.stdout)
    assert answer["kills"] >= ROUNDS
    assert answer["different"] == []
    assert answer["undisturbed"][:3] == ["errored", "NonRetryableError", "complete"]


def test_a_sleep_keeps_its_end_over_a_restart(tmp_path: Path) -> None:
    async def begin(worker: Harness) -> None:
        await start(worker, "two_steps_around_a_nap")
        await worker.advance(HOUR / 2)

    async def go_on(worker: Harness) -> Any:
        await worker.advance(HOUR / 2 - 1)
        before = await state(worker)
        await worker.advance(1)
        return [before[0], await state(worker), await log(worker)]

    _, found = in_turn(tmp_path, begin, go_on)
    assert found == ["waiting", ("complete", 3), ["outside", "one", "outside", "two"]]


def test_what_fell_due_while_nothing_ran_happens_at_the_start(tmp_path: Path) -> None:
    async def begin(worker: Harness) -> None:
        await start(worker, "two_steps_around_a_nap")
        worker.clock.advance(10 * HOUR)

    async def go_on(worker: Harness) -> Any:
        await worker.settle()
        return await state(worker)

    assert in_turn(tmp_path, begin, go_on)[1] == ("complete", 3)


def test_an_attempt_in_flight_at_a_stop_does_not_count(tmp_path: Path) -> None:
    async def begin(worker: Harness) -> None:
        await call(worker, "create", {"id": "i", "params": {"flow": "holds"}})
        await until(worker, "holds")

    async def go_on(worker: Harness) -> Any:
        await tell(worker)
        await worker.settle()
        return [await state(worker), [attempt.number for attempt in history(worker).steps[0].attempts]]

    assert in_turn(tmp_path, begin, go_on)[1] == [("complete", ["told", "after"]), [1, 1]]


@pytest.mark.parametrize(("limit", "status"), [(0, "errored"), (1, "complete")])
def test_an_attempt_in_flight_at_a_crash_counts_as_failed(tmp_path: Path, limit: int, status: str) -> None:
    async def begin(worker: Harness) -> None:
        config = {"retries": {"limit": limit, "delay": 0}}
        await call(worker, "create", {"id": "i", "params": {"flow": "holds", "config": config}})
        await until(worker, "holds")
        store = worker.engines["workflows"].operations.store
        store.give_back = lambda *_: None  # as if nobody had said goodbye

    async def go_on(worker: Harness) -> Any:
        await tell(worker)
        await worker.advance(10)
        [first, *_] = history(worker).steps
        lost = first.attempts[0].error
        return [(await state(worker))[0], lost.message if lost else None]

    found = in_turn(tmp_path, begin, go_on)[1]
    assert found == [status, "Attempt failed due to internal workflows error"]


def test_ids_are_taken_after_a_restart_too(tmp_path: Path) -> None:
    async def begin(worker: Harness) -> None:
        await start(worker, "echo")

    async def again(worker: Harness) -> Any:
        return (await worker.fetch("/", json={"method": "create", "args": [{"id": "i"}]})).json()

    assert "already exists" in in_turn(tmp_path, begin, again)[1]["error"]


def test_a_rollback_goes_on_after_a_restart(tmp_path: Path) -> None:
    async def begin(worker: Harness) -> None:
        await start(worker, "saga", undo_failures=1)

    async def go_on(worker: Harness) -> Any:
        await worker.advance(HOUR)
        return [line.split(":")[0] for line in await log(worker)]

    assert in_turn(tmp_path, begin, go_on)[1] == ["reserve", "charge", "undo charge", "undo charge", "undo reserve"]
