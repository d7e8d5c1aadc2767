"""Cron triggers by hand and by the clock."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.options import DevOptions
from pyflare.engines.cron.engine import Cron
from pyflare.errors import EngineError
from pyflare.worker.event import Event
from tests.support.rooms import NOW, Bench, faults  # NOW is a Tuesday, 22:13:20 UTC

MINUTE = NOW + 40


class Stage:
    """A worker whose `scheduled` handler the test writes."""

    def __init__(self, folder: Path, *crons: str) -> None:
        self.bench = Bench(folder)
        self.seen: list[tuple[str, float]] = []
        self.handler: Callable[[Any], Coroutine[Any, Any, None]] = self.note
        self.bench.answers["w"] = self.answer
        self.room = self.bench.open(Cron, {"triggers": {"crons": list(crons)}})

    async def answer(self, event: Event) -> None:
        controller = event.controller  # type: ignore[attr-defined]
        self.seen.append((controller.cron, controller.scheduledTime))
        await self.handler(controller)

    async def note(self, controller: Any) -> None:
        pass

    async def pass_time(self, to: float) -> None:
        """Move the clock to `to` at once and run what is due."""
        self.bench.clock.set(to)
        self.room.run_due(to)
        for _ in range(5):
            await turn()

    @property
    def said(self) -> str:
        return self.bench.terminal.getvalue()


async def turn() -> None:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, None)
    await future


def test_a_run_by_hand_gives_the_handler_cron_and_time(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    outcome = asyncio.run(stage.room.scheduled("w", "0 9 * * MON", 1_700_000_000_000))
    assert tuple(outcome) == ("ok", False, None)
    assert stage.seen == [("0 9 * * MON", 1_700_000_000_000)]


def test_the_controller_is_what_javascript_knows(tmp_path: Path) -> None:
    stage, kinds = Stage(tmp_path), []

    async def handler(controller: Any) -> None:
        kinds.extend([controller.constructor.name, controller.type, type(controller.scheduledTime)])
        assert controller.noRetry() is None

    stage.handler = handler
    outcome = asyncio.run(stage.room.scheduled("w", "", 86_400_000.7))
    assert kinds == ["ScheduledController", "scheduled", int]
    assert outcome.no_retry


def test_a_handler_that_raises_is_an_exception_with_its_traceback_on_the_terminal(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    async def handler(controller: Any) -> None:
        controller.noRetry()
        raise ValueError("cron failed")

    stage.handler = handler
    outcome = asyncio.run(stage.room.scheduled("w", "1 1 * * *", 0))
    assert (outcome.outcome, outcome.no_retry, str(outcome.error)) == ("exception", True, "cron failed")
    assert "ValueError: cron failed" in stage.said and "CRON 1 1 * * * exception (" in stage.said


def test_nothing_runs_by_the_clock_unless_asked(tmp_path: Path) -> None:
    assert Stage(tmp_path, "* * * * *").room.next_due() is None


def test_the_terminal_says_once_whether_crons_run_by_the_clock(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "0 1 * * *", "*/15 * * * *")
    stage.room.configure(DevOptions())
    assert stage.said.count("\n") == 1
    assert 'do not run by the clock: start with --cron, or use pyflare trigger cron "0 1 * * *"' in stage.said
    stage.room.configure(DevOptions(cron=True))
    assert 'Cron "0 1 * * *" of w runs next at Wed 2023-11-15 01:00 UTC' in stage.said
    assert 'Cron "*/15 * * * *" of w runs next at Tue 2023-11-14 22:15 UTC' in stage.said


def test_with_cron_an_expression_runs_at_the_start_of_its_minute(tmp_path: Path) -> None:
    async def scene() -> None:
        stage = Stage(tmp_path, "* * * * *")
        stage.room.by_clock = True
        assert stage.room.next_due() == MINUTE
        await stage.pass_time(MINUTE)
        assert stage.seen == [("* * * * *", MINUTE * 1000)]
        assert stage.room.next_due() == MINUTE + 60

    asyncio.run(scene())


def test_each_expression_runs_at_its_own_time(tmp_path: Path) -> None:
    async def scene() -> None:
        stage = Stage(tmp_path, "0 1 * * *", "*/15 * * * *")
        stage.room.by_clock = True
        while stage.bench.clock.now() < NOW + 4 * 3600:
            await stage.pass_time(stage.room.next_due() or 0)
        hours = [(cron, dt.datetime.fromtimestamp(ms / 1000, dt.UTC).strftime("%H:%M")) for cron, ms in stage.seen]
        assert [hour for cron, hour in hours if cron == "0 1 * * *"] == ["01:00"]
        assert [hour for cron, hour in hours if cron != "0 1 * * *"][:3] == ["22:15", "22:30", "22:45"]

    asyncio.run(scene())


def test_after_a_sleep_of_the_machine_the_last_missed_time_runs_once(tmp_path: Path) -> None:
    async def scene() -> None:
        stage = Stage(tmp_path, "* * * * *")
        stage.room.by_clock = True
        await stage.pass_time(MINUTE + 600.5)
        assert stage.seen == [("* * * * *", (MINUTE + 600) * 1000)]
        assert stage.room.next_due() == MINUTE + 660

    asyncio.run(scene())


def test_times_that_passed_before_the_start_are_not_caught_up(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "0 22 * * *")
    stage.room.by_clock = True
    assert stage.room.next_due() == NOW - 800 + 86_400  # tomorrow, though 22:00 was 13 minutes ago


def test_an_overlapping_run_starts_beside_the_first_and_is_logged(tmp_path: Path) -> None:
    async def scene() -> None:
        stage = Stage(tmp_path, "* * * * *")
        gate = asyncio.Event()

        async def handler(controller: Any) -> None:
            await gate.wait()

        stage.handler = handler
        stage.room.by_clock = True
        await stage.pass_time(MINUTE)
        assert stage.room.busy() == ['cron "* * * * *"']
        await stage.pass_time(MINUTE + 60)
        assert len(stage.seen) == 2
        assert 'Cron "* * * * *": the run before is still going; another starts beside it' in stage.said
        gate.set()
        await stage.pass_time(MINUTE + 61)
        assert stage.room.busy() == []

    asyncio.run(scene())


def test_a_run_ends_after_a_quarter_of_an_hour(tmp_path: Path) -> None:
    async def scene() -> None:
        stage = Stage(tmp_path)

        async def handler(controller: Any) -> None:
            await asyncio.get_running_loop().create_future()

        stage.handler = handler
        run = asyncio.get_running_loop().create_task(stage.room.scheduled("w", "", 0))
        await turn()
        assert stage.room.next_due() == NOW + 900
        await stage.pass_time(NOW + 900)
        outcome = await run
        assert (outcome.outcome, str(outcome.error)) == ("exception", "the handler did not return within 15 minutes")

    asyncio.run(scene())


def test_after_pause_nothing_fires(tmp_path: Path) -> None:
    async def scene() -> None:
        stage = Stage(tmp_path, "* * * * *")
        stage.room.by_clock = True
        await stage.room.pause()
        assert stage.room.next_due() is None
        await stage.pass_time(MINUTE)
        assert stage.seen == []

    asyncio.run(scene())


def test_an_expression_that_is_not_configured_still_runs_by_hand(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "0 1 * * *")
    asyncio.run(stage.room.trigger("5 5 * * *"))
    assert stage.seen == [("5 5 * * *", NOW * 1000)]
    assert "'5 5 * * *' is not among the configured crons ('0 1 * * *'); it runs all the same" in stage.said


def test_what_is_no_expression_runs_by_hand_and_the_terminal_says_what_is_wrong(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "0 1 * * *")
    asyncio.run(stage.room.trigger("every day"))
    assert stage.seen == [("every day", NOW * 1000)]
    assert "'every day' is no cron expression: a cron expression has five fields" in stage.said


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"cron": 5}, '"cron"'), ({"cron": "", "time_ms": "abc"}, '"time_ms"'), ({"cron": "", "worker": "x"}, '"x"')],
)
def test_a_trigger_says_what_is_wrong_with_its_fields(tmp_path: Path, fields: dict[str, Any], named: str) -> None:
    stage = Stage(tmp_path, "0 1 * * *")
    with pytest.raises(EngineError, match=named):
        asyncio.run(stage.room.panel().actions["trigger"].run(**fields))
    assert stage.seen == []


def test_a_trigger_names_the_worker_and_what_is_wrong_with_the_expression(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "0 1 * * *")
    run = stage.room.panel().actions["trigger"].run
    assert asyncio.run(run("0 1 * * *"))["fault"] is None
    outcome = asyncio.run(run("bad"))
    assert (outcome["worker"], outcome["outcome"]) == ("w", "ok")
    assert "five fields" in outcome["fault"]


def test_the_panel_shows_the_next_five_times_and_the_last_run(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "0 0 * * 1")
    asyncio.run(stage.room.scheduled("w", "0 0 * * 1", NOW * 1000))
    (row,) = stage.room.panel().tables[0].rows
    assert row[:4] == ("w", "0 0 * * 1", "by hand", "Tue 2023-11-14 22:13 UTC ok")
    times = row[4].splitlines()
    assert times[:2] == ["Sun 2023-11-19 00:00 UTC", "Sun 2023-11-26 00:00 UTC"]
    assert len(times) == 5


def test_a_wrong_expression_stops_the_start_and_is_pointed_at(tmp_path: Path) -> None:
    config = Bench(tmp_path).config({"triggers": {"crons": ["0 0 * * *", "0 0 * * 0", 5]}})
    assert faults(Cron, config).faults == [
        "triggers.crons[1]: day of week: weekdays go from 1 (Sunday) to 7 (Saturday): "
        "for Sunday write 1 or SUN, not 0\n"
        "    0 0 * * 0\n"
        "            ^",
        "triggers.crons[2]: must be a cron expression, not 5",
    ]


def test_a_section_of_the_wrong_shape_is_a_fault(tmp_path: Path) -> None:
    for section in (["0 0 * * *"], {"crons": "0 0 * * *"}):
        diagnostics = Diagnostics()
        Cron.parse(Bench(tmp_path).config({"triggers": section}), diagnostics)
        assert len(diagnostics.faults) == 1


def test_an_expression_that_never_comes_warns(tmp_path: Path) -> None:
    config = Bench(tmp_path).config({"triggers": {"crons": ["0 0 31 2 *"]}})
    assert faults(Cron, config).warnings == ['triggers.crons[0]: "0 0 31 2 *" never comes']
