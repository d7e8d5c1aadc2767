"""Pause, resume, terminate, restart."""

import pytest

from pyflare.testing import Harness
from tests.engines.workflows.lab import CONFIG, DAY, HOUR, Refused, call, log, start, state, status, tell, until

pytestmark = pytest.mark.pyflare(CONFIG)


async def steer(worker: Harness, method: str, *args: object) -> None:
    assert await call(worker, method, *args, id="i") is None
    await worker.settle()


async def test_a_paused_instance_does_not_go_on(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap")
    await steer(worker, "pause")
    await worker.advance(DAY)
    assert (await state(worker))[0] == "paused"
    assert await log(worker) == ["outside", "one"]


async def test_a_resumed_one_sleeps_for_what_was_left(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap")
    await worker.advance(HOUR / 2)
    await steer(worker, "pause")
    await worker.advance(DAY)
    await steer(worker, "resume")
    await worker.advance(HOUR / 2 - 1)
    assert (await state(worker))[0] == "waiting"
    await worker.advance(1)
    assert await state(worker) == ("complete", 3)


async def test_a_pause_lets_the_step_in_flight_end(worker: Harness) -> None:
    await call(worker, "create", {"id": "i", "params": {"flow": "holds"}})
    await until(worker, "holds")
    await call(worker, "pause", id="i")
    assert (await state(worker))[0] == "waitingForPause"
    await tell(worker)
    await worker.settle()
    assert (await state(worker))[0] == "paused"
    assert await log(worker) == ["holds"]
    await steer(worker, "resume")
    assert await state(worker) == ("complete", ["told", "after"])


async def test_a_pause_can_be_called_off(worker: Harness) -> None:
    await call(worker, "create", {"id": "i", "params": {"flow": "holds"}})
    await until(worker, "holds")
    await call(worker, "pause", id="i")
    await call(worker, "resume", id="i")
    assert (await state(worker))[0] == "running"
    await tell(worker)
    await worker.settle()
    assert await state(worker) == ("complete", ["told", "after"])


async def test_an_event_for_a_paused_instance_is_there_when_it_goes_on(worker: Harness) -> None:
    await start(worker, "waits")
    await steer(worker, "pause")
    await steer(worker, "send_event", {"type": "go", "payload": 7})
    assert (await state(worker))[0] == "paused"
    await steer(worker, "resume")
    assert await state(worker) == ("complete", 7)


async def test_a_paused_instance_can_be_terminated(worker: Harness) -> None:
    await start(worker, "waits")
    await steer(worker, "pause")
    await steer(worker, "terminate")
    assert await state(worker) == ("terminated", None)


async def test_a_terminated_instance_stays_so(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap")
    await steer(worker, "terminate")
    await worker.advance(DAY)
    found = await status(worker)
    assert (found["status"], found["error"]) == ("terminated", None)
    assert await log(worker) == ["outside", "one"]


@pytest.mark.parametrize("flow", ["echo", "nowhere"])
async def test_what_has_ended_cannot_be_terminated(worker: Harness, flow: str) -> None:
    await start(worker, flow)
    with pytest.raises(Refused, match=r"\(instance\.cannot_terminate\)"):
        await steer(worker, "terminate")


async def test_pausing_what_has_ended_does_nothing(worker: Harness) -> None:
    await start(worker, "echo")
    await steer(worker, "pause")
    assert (await state(worker))[0] == "complete"


async def test_a_restart_runs_everything_again(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap", nap=1)
    await worker.advance(1)
    await steer(worker, "restart")
    await worker.advance(1)
    assert await state(worker) == ("complete", 3)
    assert await log(worker) == ["outside", "one", "two"] * 2


async def test_a_restart_from_a_step_keeps_what_came_before(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap", nap=1)
    await worker.advance(1)
    await steer(worker, "restart", {"from": {"name": "two"}})
    assert await state(worker) == ("complete", 3)
    assert await log(worker) == ["outside", "one", "two", "outside", "two"]


async def test_a_restart_from_a_sleep_sleeps_again(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap")
    await worker.advance(HOUR)
    await steer(worker, "restart", {"from": {"name": "nap", "type": "sleep"}})
    assert (await state(worker))[0] == "waiting"
    await worker.advance(HOUR)
    assert await state(worker) == ("complete", 3)


async def test_a_restart_from_a_step_that_never_was_is_refused(worker: Harness) -> None:
    await start(worker, "echo")
    with pytest.raises(Refused, match=r'\(instance\.cannot_restart\) Step "nothing" not found'):
        await steer(worker, "restart", {"from": {"name": "nothing"}})


async def test_a_terminated_instance_can_be_restarted(worker: Harness) -> None:
    await start(worker, "waits")
    await steer(worker, "terminate")
    await steer(worker, "restart")
    await steer(worker, "send_event", {"type": "go", "payload": "again"})
    assert await state(worker) == ("complete", "again")
