"""`step.do`: attempts, delays, results."""

from typing import Any

import pytest

from pyflare.testing import Harness
from tests.engines.workflows.lab import CONFIG, HOUR, call, history, log, moments, start, state, status, until

pytestmark = pytest.mark.pyflare(CONFIG)


@pytest.mark.parametrize(
    ("retries", "begins"),
    [
        ({"limit": 3, "delay": "1 minute", "backoff": "constant"}, [0, 60, 120, 180]),
        ({"limit": 3, "delay": 60_000, "backoff": "linear"}, [0, 60, 180, 360]),
        ({"limit": 3, "delay": "1 minute", "backoff": "exponential"}, [0, 60, 180, 420]),
        ({"limit": 3, "delay": "1 minute"}, [0, 60, 180, 420]),
    ],
)
async def test_the_pauses_between_attempts(worker: Harness, retries: dict[str, Any], begins: list[int]) -> None:
    await start(worker, "fails", times=9, config={"retries": retries})
    await worker.advance(HOUR)
    assert [round(moment) for moment in moments(history(worker))] == begins
    assert (await status(worker))["status"] == "errored"


async def test_by_default_there_are_six_attempts_from_one_second_doubling(worker: Harness) -> None:
    await start(worker, "fails", times=9)
    await worker.advance(HOUR)
    assert [round(moment) for moment in moments(history(worker))] == [0, 1, 3, 7, 15, 31]


async def test_a_step_that_works_at_last_gives_its_result(worker: Harness) -> None:
    await start(worker, "fails", times=2)
    await worker.advance(HOUR)
    assert await state(worker) == ("complete", 3)


async def test_the_history_has_every_attempt_with_its_error(worker: Harness) -> None:
    await start(worker, "fails", times=2)
    await worker.advance(HOUR)
    [step] = history(worker).steps
    errors = [attempt.error.message.splitlines()[-1] if attempt.error else None for attempt in step.attempts]
    assert errors == ["RuntimeError: attempt 1", "RuntimeError: attempt 2", None]
    assert (step.state, step.output) == ("done", "3")


@pytest.mark.parametrize("kind", ["plain", "subclass"])
@pytest.mark.parametrize("message", ["stop", ""])
async def test_an_error_that_is_not_to_be_retried_ends_the_instance(worker: Harness, kind: str, message: str) -> None:
    await start(worker, "gives_up", kind=kind, message=message)
    found = await status(worker)
    assert (found["status"], found["error"]) == ("errored", {"name": "NonRetryableError", "message": message})
    assert await log(worker) == ["fatal"]


async def test_it_comes_back_to_run_as_what_it_is(worker: Harness) -> None:
    await start(worker, "gives_up_and_catches")
    assert await state(worker) == ("complete", ["NonRetryableError", "stop"])


async def test_a_delay_may_be_a_function_of_the_attempt(worker: Harness) -> None:
    await start(worker, "delay_function", kind="linear")
    await worker.advance(HOUR)
    # 1 s and 2 s as given, doubled by the backoff
    assert [round(moment) for moment in moments(history(worker))] == [0, 1, 5]


async def test_it_may_give_a_text(worker: Harness) -> None:
    await start(worker, "delay_function", kind="text")
    await worker.advance(HOUR)
    assert [round(moment) for moment in moments(history(worker))] == [0, 60, 180]


@pytest.mark.parametrize(("kind", "text"), [("bad", "returned an invalid delay value"), ("raises", "threw an error")])
async def test_a_delay_function_without_a_delay_fails_the_step(worker: Harness, kind: str, text: str) -> None:
    await start(worker, "delay_function", kind=kind)
    message = (await status(worker))["error"]["message"]
    assert 'The delay function for step "delayed-1"' in message
    assert text in message


async def test_an_attempt_that_takes_too_long_fails(worker: Harness) -> None:
    await call(worker, "create", {"id": "i", "params": {"flow": "slow"}})
    await until(worker, "slow")
    worker.clock.advance(60)
    worker.server.poke()
    await worker.settle()
    found = await status(worker)
    assert (found["status"], found["error"]["message"]) == ("errored", "Execution timed out after 60000ms")


async def test_two_hundred_kilobytes_are_fine(worker: Harness) -> None:
    await start(worker, "big", size=200_000)
    assert await state(worker) == ("complete", 200_000)


@pytest.mark.cloudflare("developers.cloudflare.com/workflows/reference/limits")
async def test_a_result_of_more_than_a_mebibyte_fails(worker: Harness) -> None:
    await start(worker, "big", size=1024 * 1024 + 1)
    message = (await status(worker))["error"]["message"]
    assert message == "Step big-1 output is too large. Maximum allowed size is 1MiB."


async def test_a_stream_may_be_larger_and_survives_a_replay(worker: Harness) -> None:
    await start(worker, "streams", size=3_000_000)
    await worker.advance(2 * HOUR)
    assert await state(worker) == ("complete", 3_000_000)
    assert await log(worker) == ["stream"]


async def test_what_cannot_be_cloned_ends_the_instance(worker: Harness) -> None:
    await start(worker, "unserialisable")
    found = await status(worker)
    assert found["status"] == "errored"
    assert 'the step "object" returned a value which is not serialisable' in found["error"]["message"]


async def test_a_sensitive_output_is_not_shown(worker: Harness) -> None:
    await start(worker, "secret")
    assert (await state(worker))[1] == 7
    assert history(worker).steps[0].output == "[REDACTED]"


async def test_more_steps_than_configured_end_the_instance(worker: Harness) -> None:
    await call(worker, "create", {"id": "i", "params": {"steps": 4}}, binding="SHORT")
    await worker.settle()
    found = await call(worker, "status", id="i", binding="SHORT")
    assert (found["status"], "The limit of 3 steps has been reached" in found["error"]["message"]) == ("errored", True)


async def test_steps_run_together_when_the_code_says_so(worker: Harness) -> None:
    await start(worker, "together")
    assert await state(worker) == ("complete", ["left", "right"])


async def test_a_failed_step_is_told_on_the_terminal(worker: Harness) -> None:
    await start(worker, "fails", times=1)
    assert "Workflow step 'flaky', attempt 1 of 6: RuntimeError: attempt 1" in worker.terminal
