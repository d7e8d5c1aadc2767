"""Code that takes another way on a replay is found out."""

import pytest

from pyflare.testing import Harness
from tests.engines.workflows.lab import CONFIG, HOUR, start, status, tell

pytestmark = pytest.mark.pyflare(CONFIG)


@pytest.mark.parametrize(
    ("flow", "before", "now"),
    [
        ("fickle", "do 'first', sleep 'nap'", "do 'first', do 'other way'"),
        ("fickle_branch", "do 'old', sleep 'nap'", "do 'new'"),
    ],
)
async def test_in_tests_it_is_an_error_with_both_sequences(worker: Harness, flow: str, before: str, now: str) -> None:
    await start(worker, flow)
    await worker.advance(20)
    await tell(worker)
    await worker.advance(HOUR)
    error = (await status(worker))["error"]
    assert error["name"] == "NonDeterministicError"
    assert f"before: {before}" in error["message"]
    assert f"now:    {now}" in error["message"]


async def test_the_report_names_the_line(worker: Harness) -> None:
    await start(worker, "fickle")
    await worker.advance(20)
    await tell(worker)
    await worker.advance(HOUR)
    assert "src/entry.py:" in (await status(worker))["error"]["message"]


async def test_in_dev_it_is_a_warning(worker: Harness) -> None:
    worker.engines["workflows"].strict = False
    await start(worker, "fickle")
    await worker.advance(20)
    await tell(worker)
    await worker.advance(HOUR)
    assert (await status(worker))["status"] == "complete"
    assert "The replay calls other steps than before" in worker.terminal


@pytest.mark.parametrize("flow", ["two_steps_around_a_nap", "waits_in_a_gather", "waits_in_a_group", "streams"])
async def test_code_that_keeps_to_its_way_is_not_blamed(worker: Harness, flow: str) -> None:
    await start(worker, flow, size=10)
    await worker.advance(48 * HOUR)
    assert (await status(worker))["status"] == "complete"
    assert "other steps" not in worker.terminal
