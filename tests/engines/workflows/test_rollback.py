"""Compensation at the raw step: `rollback` and `rollbackConfig`."""

import pytest

from pyflare.testing import Harness
from tests.engines.workflows.lab import CONFIG, DAY, HOUR, call, history, log, start, status

pytestmark = pytest.mark.pyflare(CONFIG)
REASON = "RuntimeError: nobody delivers there"
UNDONE = [f"undo charge: result of charge, {REASON}", f"undo reserve: result of reserve, {REASON}"]


async def test_what_was_done_is_undone_backwards(worker: Harness) -> None:
    await start(worker, "saga")
    assert await log(worker) == ["reserve", "charge", *UNDONE]


async def test_the_instance_is_errored_with_what_stopped_it(worker: Harness) -> None:
    await start(worker, "saga")
    found = await status(worker)
    assert found["status"] == "errored"
    assert found["error"]["message"].endswith(REASON)
    assert found["rollback"] == {"outcome": "complete", "error": None}


async def test_the_history_has_the_rollback(worker: Harness) -> None:
    await start(worker, "saga")
    shown = [(step.type, step.name, step.state) for step in history(worker).steps]
    assert shown[2:] == [("rollback", "charge", "done"), ("rollback", "reserve", "done")]


async def test_an_undo_is_retried_by_its_own_config(worker: Harness) -> None:
    await start(worker, "saga", undo_failures=2)
    assert (await log(worker))[2:] == UNDONE[:1]
    await worker.advance(59)
    assert (await log(worker))[2:] == UNDONE[:1]
    await worker.advance(61)
    assert (await log(worker))[2:] == [UNDONE[0]] * 3 + UNDONE[1:]
    assert (await status(worker))["rollback"]["outcome"] == "complete"


async def test_an_undo_that_fails_for_good_ends_the_rollback(worker: Harness) -> None:
    await start(worker, "saga", undo_failures=9)
    await worker.advance(HOUR)
    found = await status(worker)
    assert found["rollback"]["outcome"] == "failed"
    assert "the bank does not answer" in found["rollback"]["error"]["message"]
    assert UNDONE[1] not in await log(worker)


async def test_an_undo_that_waits_for_its_next_attempt_survives_parking(worker: Harness) -> None:
    await start(worker, "saga", undo_failures=1)
    await worker.advance(30)
    assert worker.engines["workflows"]._awake.runs == {}
    await worker.advance(30)
    assert (await log(worker))[2:] == [UNDONE[0]] * 2 + UNDONE[1:]


@pytest.mark.parametrize("parked", [False, True])
async def test_terminating_with_rollback_undoes_what_was_done(worker: Harness, parked: bool) -> None:
    await start(worker, "saga", wait=True)
    if parked:
        await worker.advance(HOUR)
    await call(worker, "terminate", {"rollback": True}, id="i")
    await worker.settle()
    found = await status(worker)
    assert (found["status"], found["error"]) == ("terminated", None)
    lines = [line.split(",")[0] for line in await log(worker)]
    assert lines == ["reserve", "charge", "undo charge: result of charge", "undo reserve: result of reserve"]


async def test_terminating_without_rollback_does_not(worker: Harness) -> None:
    await start(worker, "saga", wait=True)
    await call(worker, "terminate", id="i")
    await worker.advance(DAY)
    assert await log(worker) == ["reserve", "charge"]
