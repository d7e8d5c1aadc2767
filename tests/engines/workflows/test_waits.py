"""Sleeps, events, and instances that only wait."""

import pytest

from pyflare.testing import Harness
from tests.engines.workflows.lab import (
    CONFIG,
    DAY,
    HOUR,
    Refused,
    call,
    in_memory,
    log,
    start,
    state,
    status,
    tell,
    until,
)

pytestmark = pytest.mark.pyflare(CONFIG)


@pytest.mark.parametrize(
    ("duration", "seconds"), [("14 days", 14 * DAY), ("1 hour, 30 minutes", 5400), (1500, 1.5), ("1 week", 7 * DAY)]
)
async def test_a_sleep_lasts_as_long_as_it_says(worker: Harness, duration: object, seconds: float) -> None:
    await start(worker, "sleeps", duration=duration)
    await worker.advance(seconds - 0.5)
    assert (await state(worker))[0] == "waiting"
    await worker.advance(0.5)
    assert await state(worker) == ("complete", "awake")


@pytest.mark.parametrize("duration", ["soon", "", "-1 hour", None, "1 fortnight"])
async def test_what_is_no_duration_is_refused(worker: Harness, duration: object) -> None:
    await start(worker, "sleeps", duration=duration)
    assert (await state(worker))[0] == "errored"


async def test_a_sleep_of_more_than_a_year_is_refused(worker: Harness) -> None:
    await start(worker, "sleeps", duration="366 days")
    assert "365 days" in (await status(worker))["error"]["message"]


async def test_sleeping_until_a_moment_of_the_past_is_refused(worker: Harness) -> None:
    await start(worker, "sleeps_until", seconds=-1)
    assert "time-traveler" in (await status(worker))["error"]["message"]


async def test_the_end_of_a_sleep_does_not_move_with_a_replay(worker: Harness) -> None:
    await start(worker, "sleeps_until", seconds=100)
    await worker.advance(99)
    assert (await state(worker))[0] == "waiting"
    await worker.advance(1)
    assert (await state(worker))[0] == "complete"


async def test_code_outside_of_steps_runs_again_and_steps_do_not(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap")
    await worker.advance(HOUR)
    assert await state(worker) == ("complete", 3)
    assert await log(worker) == ["outside", "one", "outside", "two"]


async def test_a_short_nap_is_not_replayed(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap", nap="1 second")
    await worker.advance(1)
    assert await log(worker) == ["outside", "one", "two"]


# --- events ---------------------------------------------------------------------------------------------------------


async def send(worker: Harness, payload: object, type: str = "go") -> None:
    await call(worker, "send_event", {"type": type, "payload": payload}, id="i")
    await worker.settle()


async def test_an_event_ends_a_wait(worker: Harness) -> None:
    await start(worker, "waits")
    await send(worker, {"n": 1})
    assert await state(worker) == ("complete", {"n": 1})


async def test_an_event_of_another_type_does_not(worker: Harness) -> None:
    await start(worker, "waits")
    await send(worker, 1, "other")
    assert (await state(worker))[0] == "waiting"


async def test_an_event_wakes_a_parked_instance(worker: Harness) -> None:
    await start(worker, "waits", timeout="30 days")
    await worker.advance(10 * DAY)
    assert in_memory(worker) == 0
    await send(worker, "late but there")
    assert await state(worker) == ("complete", "late but there")


async def test_a_wait_that_times_out_can_be_caught_and_the_next_one_gets_its_event(worker: Harness) -> None:
    await start(worker, "waits_twice")
    await worker.advance(60)
    assert await log(worker) == ["Error: Execution timed out after 60000ms"]
    await send(worker, "got it")
    assert await state(worker) == ("complete", "got it")


async def test_a_wait_that_times_out_while_parked_raises_too(worker: Harness) -> None:
    await start(worker, "waits", timeout="1 day")
    await worker.advance(DAY)
    found = await status(worker)
    assert (found["status"], "Execution timed out after 86400000ms" in found["error"]["message"]) == ("errored", True)


async def test_events_that_came_early_are_taken_in_order(worker: Harness) -> None:
    await call(worker, "create", {"id": "i", "params": {"flow": "works_then_waits_twice"}})
    await until(worker, "holds")
    for payload in (1, 2):
        await call(worker, "send_event", {"type": "go", "payload": payload}, id="i")
    await tell(worker)
    await worker.settle()
    assert await state(worker) == ("complete", [1, 2])


async def test_a_finished_instance_takes_no_events(worker: Harness) -> None:
    await start(worker, "echo")
    with pytest.raises(Refused, match="complete"):
        await send(worker, 1)


# --- memory ---------------------------------------------------------------------------------------------------------


async def test_an_instance_that_waits_leaves_the_memory_after_ten_seconds(worker: Harness) -> None:
    await start(worker, "sleeps", duration="1 day")
    await worker.advance(9)
    assert in_memory(worker) == 1
    await worker.advance(1)
    assert in_memory(worker) == 0
    await worker.advance(DAY)
    assert await state(worker) == ("complete", "awake")


@pytest.mark.parametrize("flow", ["waits_in_a_group", "waits_in_a_gather"])
async def test_several_waits_at_once_leave_it_too(worker: Harness, flow: str) -> None:
    await start(worker, flow)
    await worker.advance(10)
    assert in_memory(worker) == 0
    await worker.advance(DAY)
    assert await state(worker) == ("complete", [0, 1, 2])


async def test_code_beside_a_wait_is_not_torn_apart(worker: Harness) -> None:
    await start(worker, "works_beside_a_wait")
    assert await log(worker) == ["beside"]


async def test_of_many_only_the_latest_stay_in_memory(worker: Harness) -> None:
    for batch in range(4):
        drafts = [{"id": f"i-{batch}-{n}", "params": {"flow": "sleeps", "duration": "1 day"}} for n in range(100)]
        await call(worker, "create_batch", drafts)
    await worker.settle()
    assert in_memory(worker) <= 256
    await worker.advance(DAY)
    assert worker.engines["workflows"].operations.store.catalogue.counts("flow") == {"complete": 400}
