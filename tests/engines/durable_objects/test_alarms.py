"""Alarms: one per object, at least once, in two places that never disagree harmfully."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import apsw
import pytest

from pyflare.interop.proxy import jsnull
from tests.engines.durable_objects.world import DurableObject, World, failure, play, turns

GAPS = [2, 4, 8, 16, 32, 64]


class Timer(DurableObject):
    """Notes when its alarm runs; `script` says what each run does."""

    runs: list[Any]
    script: list[str]
    world: World
    signal: asyncio.Event

    async def arm(self, seconds: float) -> Any:
        await self.ctx.storage.setAlarm((self.world.clock.now() + seconds) * 1000)
        return await self.ctx.storage.getAlarm()

    async def get(self) -> Any:
        return await self.ctx.storage.getAlarm()

    async def cancel(self) -> None:
        await self.ctx.storage.deleteAlarm()

    async def arm_then_put(self, seconds: float) -> None:
        await self.arm(seconds)
        await self.ctx.storage.put("armed", True)

    async def arm_and_fail(self) -> None:
        async def body(txn: Any) -> None:
            await txn.setAlarm((self.world.clock.now() + 5) * 1000)
            raise ValueError("undo")

        await self.ctx.storage.transaction(body)

    async def arm_in_a_transaction(self) -> None:
        async def body(txn: Any) -> None:
            await txn.setAlarm((self.world.clock.now() + 5) * 1000)

        await self.ctx.storage.transaction(body)

    async def arm_then_abort(self) -> None:
        await self.arm(5)
        self.ctx.abort("enough")

    async def clear(self) -> None:
        await self.ctx.storage.deleteAll()

    async def refused(self, ms: float) -> None:
        await self.ctx.storage.setAlarm(ms)

    async def alarm(self, info: Any) -> None:
        self.runs.append((self.world.seconds, info.isRetry, info.retryCount, info.scheduledTime))
        step = self.script.pop(0) if self.script else "done"
        if step == "raise":
            raise ValueError("not yet")
        if step == "look":
            self.runs.append(await self.ctx.storage.getAlarm())
        if step == "delete":
            await self.ctx.storage.deleteAlarm()
        if step == "delete and raise":
            await self.ctx.storage.deleteAlarm()
            raise ValueError("no")
        if step.startswith("again"):
            await self.arm(float(step.partition(" ")[2]))
        if step == "again and raise":
            raise ValueError("no")
        if step == "wait":
            await self.signal.wait()
        if step == "abort":
            self.ctx.abort("enough")
        if step == "abort for good":
            self.ctx.abort("enough", retryAlarm=False)


class Again(Timer):
    async def alarm(self, info: Any) -> None:
        self.runs.append((self.world.seconds, info.isRetry, info.retryCount, info.scheduledTime))
        if len(self.runs) == 1:
            await self.arm(60)
            raise ValueError("no")


class Mute(DurableObject):
    async def arm(self) -> None:
        await self.ctx.storage.setAlarm(1_800_000_000_000)


class Born(DurableObject):
    """Sets an alarm in its constructor, without a handler."""

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        ctx.storage.setAlarm(1_700_000_001_000)

    async def hello(self) -> str:
        return "hello"


class Bare(DurableObject):
    """Its handler takes no argument."""

    ran = 0

    async def arm(self) -> None:
        await self.ctx.storage.setAlarm(1_700_000_001_000)

    async def alarm(self) -> None:
        Bare.ran += 1


class NoJitter:
    def random(self) -> float:
        return 0.0


def within(tmp_path: Path, scene: Any, *script: str) -> Any:
    async def prepared(w: World) -> Any:
        Timer.runs, Timer.script, Timer.world, Timer.signal = [], list(script), w, asyncio.Event()
        w.engine.random = NoJitter()  # type: ignore[assignment]
        return await scene(w)

    return play(tmp_path, [Timer, Again, Mute, Born, Bare], prepared)


def indexed(w: World, class_name: str = "Timer") -> list[Any]:
    """The times in the namespace's index."""
    file = w.folder / "v3" / "do" / f"w-{class_name}" / "metadata.sqlite"
    if not file.exists():
        return []
    database = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    times = [time for (time,) in database.execute("SELECT scheduled_time FROM _cf_ALARM")]
    database.close()
    return times


# --- setting ------------------------------------------------------------------------------------------------------


def test_an_alarm_is_given_in_milliseconds(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        assert await stub.get() is jsnull
        assert await stub.arm(5) == w.ms + 5_000
        assert await stub.get() == w.ms + 5_000

    within(tmp_path, scene)


def test_a_time_that_is_past_becomes_now(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        assert await w.stub("Timer").arm(-60) == w.ms
        await w.settle()
        assert len(Timer.runs) == 1

    within(tmp_path, scene)


@pytest.mark.parametrize("ms", [0, -1, float("nan")])
def test_what_is_no_time_is_refused(tmp_path: Path, ms: float) -> None:
    async def scene(w: World) -> None:
        error = await failure(w.stub("Timer").refused(ms))
        assert error.message.endswith("TypeError: setAlarm() cannot be called with an alarm time <= 0")

    within(tmp_path, scene)


@pytest.mark.cloudflare("workers-runtime-sdk, tests/bindings-test: a class without alarm() sets, gets and deletes one")
def test_a_class_without_a_handler_may_set_one_and_is_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene(w: World) -> None:
        for _ in range(2):
            await w.stub("Mute").arm()
        assert indexed(w, "Mute") != []
        assert capsys.readouterr().out.count("class Mute has no alarm() method") == 1

    within(tmp_path, scene)


# --- running ------------------------------------------------------------------------------------------------------


def test_an_alarm_runs_at_its_time_and_is_gone(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        due = await stub.arm(5)
        await w.advance(4.9)
        assert Timer.runs == []
        await w.advance(0.2)
        assert Timer.runs == [(5.0, False, 0, due)]
        assert await stub.get() is jsnull
        await w.advance(1000)
        assert len(Timer.runs) == 1

    within(tmp_path, scene)


def test_inside_its_handler_an_alarm_is_gone_already(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(1)
        await w.advance(2)
        assert Timer.runs[1] is jsnull

    within(tmp_path, scene, "look")


def test_deleting_the_alarm_in_its_handler_is_harmless(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(1)
        await w.advance(100)
        assert len(Timer.runs) == 1 and indexed(w) == []

    within(tmp_path, scene, "delete")


def test_a_handler_may_arm_itself_again(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(1)
        await w.advance(10)
        assert [run[:3] for run in Timer.runs] == [(1.0, False, 0), (4.0, False, 0), (7.0, False, 0)]

    within(tmp_path, scene, "again 3", "again 3")


def test_a_deleted_alarm_does_not_run(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        await stub.arm(5)
        await stub.cancel()
        await w.advance(10)
        assert Timer.runs == [] and indexed(w) == []

    within(tmp_path, scene)


def test_delete_all_takes_the_alarm_along(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        await stub.arm(5)
        await stub.clear()
        await w.advance(10)
        assert Timer.runs == [] and indexed(w) == []

    within(tmp_path, scene)


def test_a_later_time_replaces_an_earlier_one_and_the_reverse(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        await stub.arm(5)
        await stub.arm(20)
        await w.advance(10)
        assert Timer.runs == []
        await stub.arm(1)
        await w.advance(2)
        assert [run[0] for run in Timer.runs] == [11.0]

    within(tmp_path, scene)


def test_an_alarm_does_not_run_twice_at_once(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        await stub.arm(1)
        await w.advance(1.5)
        await stub.arm(0)
        await w.advance(5)
        assert len(Timer.runs) == 1
        Timer.signal.set()
        await w.settle()
        assert len(Timer.runs) == 2

    within(tmp_path, scene, "wait")


def test_a_handler_may_leave_out_its_argument(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        Bare.ran = 0
        await w.stub("Bare").arm()
        await w.advance(2)
        assert Bare.ran == 1

    within(tmp_path, scene)


def test_an_alarm_without_a_handler_is_told_and_dropped(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        assert await w.stub("Born").hello() == "hello"
        await w.advance(2)
        assert "Attempted to run a scheduled alarm without a handler" in w.said
        assert indexed(w, "Born") == []

    within(tmp_path, scene)


def test_the_name_is_known_in_an_alarm_after_a_restart(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer", "lobby").arm(5)
        w.restart()
        await w.advance(6)
        assert w.actor("Timer", "lobby").name == "lobby"

    within(tmp_path, scene)


# --- failing ------------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("workerd server/alarm-scheduler.h: 2 s doubling, 6 retries")
def test_a_failing_handler_is_retried_six_times_and_given_up(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        due = await stub.arm(1)
        await w.advance(1)
        assert await stub.get() == due  # the first time, while it waits
        await w.advance(1_000)
        assert [run[1:3] for run in Timer.runs] == [(n > 0, n) for n in range(7)]
        assert {run[3] for run in Timer.runs} == {due}
        assert [round(later[0] - earlier[0]) for earlier, later in pairwise(Timer.runs)] == GAPS
        assert await stub.get() is jsnull and indexed(w) == []
        assert "is given up" in w.said

    within(tmp_path, scene, *["raise"] * 10)


def test_retries_have_jitter_of_a_quarter_at_most(tmp_path: Path) -> None:
    class Most:
        def random(self) -> float:
            return 1.0

    async def scene(w: World) -> None:
        w.engine.random = Most()  # type: ignore[assignment]
        await w.stub("Timer").arm(1)
        await w.advance(20)
        assert [run[0] for run in Timer.runs] == pytest.approx([1.0, 3.5, 8.5, 18.5])

    within(tmp_path, scene, *["raise"] * 10)


def test_an_alarm_set_by_a_failing_run_replaces_the_retry(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Again").arm(1)
        await w.advance(100)
        assert [run[:3] for run in Timer.runs] == [(1.0, False, 0), (61.0, False, 0)]

    within(tmp_path, scene)


def test_an_alarm_deleted_by_a_failing_run_is_not_retried(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(1)
        await w.advance(100)
        assert len(Timer.runs) == 1

    within(tmp_path, scene, "delete and raise")


def test_a_new_alarm_replaces_a_retry_and_counts_from_zero(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        await stub.arm(1)
        await w.advance(1)
        await stub.arm(30)
        await w.advance(100)
        assert [run[:3] for run in Timer.runs] == [(1.0, False, 0), (31.0, False, 0)]

    within(tmp_path, scene, "raise")


def test_retries_survive_a_restart_with_their_count(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(1)
        await w.advance(4)
        w.restart()
        w.engine.random = NoJitter()  # type: ignore[assignment]
        await w.advance(100)
        assert [run[:3] for run in Timer.runs] == [(1.0, False, 0), (3.0, True, 1), (7.0, True, 2)]

    within(tmp_path, scene, "raise", "raise")


def test_a_handler_that_aborts_is_retried_by_a_new_object(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(1)
        await w.advance(10)
        assert [run[:3] for run in Timer.runs] == [(1.0, False, 0), (3.0, True, 1)]
        assert indexed(w) == []

    within(tmp_path, scene, "abort")


def test_a_handler_may_abort_for_good(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(1)
        await w.advance(10)
        assert len(Timer.runs) == 1 and indexed(w) == []

    within(tmp_path, scene, "abort for good")


@pytest.mark.cloudflare("workerd: handlers have 15 minutes")
def test_a_handler_has_fifteen_minutes(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(1)
        await w.advance(1 + 900)
        assert "Alarm exceeded its allowed execution time" in w.said
        await w.advance(3)
        assert len(Timer.runs) == 2

    within(tmp_path, scene, "wait")


# --- the two places -----------------------------------------------------------------------------------------------


def test_both_places_know_the_time(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer", "lobby").arm(5)
        ns = (w.ms + 5_000) * 1_000_000
        assert indexed(w) == [ns]
        instance = w.actor("Timer", "lobby").instance
        assert instance is not None and instance.store.get_alarm() == ns

    within(tmp_path, scene)


def test_an_overdue_alarm_runs_at_the_start(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(5)
        w.clock.advance(60)
        w.restart()
        await w.settle()
        assert [run[:3] for run in Timer.runs] == [(60.0, False, 0)]

    within(tmp_path, scene)


def test_an_index_that_is_early_is_put_right_by_the_object(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(50)
        row = indexed(w)[0]
        w.engine.namespace("w", "Timer").alarms.put(w.actor("Timer").id, row - 45 * 10**9, "a")
        await w.advance(10)
        assert Timer.runs == [] and indexed(w) == [row]
        await w.advance(45)
        assert [run[0] for run in Timer.runs] == [50.0]

    within(tmp_path, scene)


def test_an_index_row_without_an_alarm_in_the_object_is_dropped(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").get()
        w.engine.namespace("w", "Timer").alarms.put(w.actor("Timer").id, (w.ms + 1) * 10**6, "a")
        await w.advance(10)
        assert Timer.runs == [] and indexed(w) == []

    within(tmp_path, scene)


@pytest.mark.cloudflare("workerd before summer 2026: `table _cf_ALARM has 3 columns but 2 values were supplied`")
def test_an_index_has_two_columns_so_that_every_workerd_starts_on_it(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer", "lobby").arm(5)
        w.restart()
        await w.advance(6)
        assert len(Timer.runs) == 1 and w.actor("Timer", "lobby").name == "lobby"
        index = apsw.Connection(str(tmp_path / "v3" / "do" / "w-Timer" / "metadata.sqlite"))
        index.execute("INSERT OR REPLACE INTO _cf_ALARM VALUES ('id', 1)")
        index.close()

    within(tmp_path, scene)


def test_an_index_of_a_newer_workerd_gets_the_name_too(tmp_path: Path) -> None:
    folder = tmp_path / "v3" / "do" / "w-Timer"
    folder.mkdir(parents=True)
    index = apsw.Connection(str(folder / "metadata.sqlite"))
    index.execute(
        "CREATE TABLE _cf_ALARM (actor_id TEXT PRIMARY KEY, scheduled_time INTEGER, actor_name TEXT) WITHOUT ROWID"
    )

    async def scene(w: World) -> None:
        await w.stub("Timer", "lobby").arm(5)
        assert index.execute("SELECT actor_name FROM _cf_ALARM").fetchall() == [("lobby",)]
        index.close()

    within(tmp_path, scene)


@pytest.mark.parametrize(("first", "second", "kept"), [(50, 5, 5), (5, 50, 5)])
def test_a_kill_between_the_two_writes_leaves_the_index_early(
    tmp_path: Path, first: float, second: float, kept: float
) -> None:
    """An earlier time goes into the index before the commit, a later one after it."""

    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        await stub.arm(first)
        start = w.clock.now()
        instance = w.actor("Timer").instance
        assert instance is not None

        def killed() -> None:
            raise OSError("killed")

        instance.store.commit = killed  # type: ignore[method-assign]
        await failure(stub.arm(second))
        assert indexed(w)[0] == round((start + kept) * 1000) * 10**6

    within(tmp_path, scene)


def test_an_alarm_of_a_failed_transaction_is_none(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        await failure(stub.arm_and_fail())
        assert await stub.get() is jsnull
        await w.advance(10)
        assert Timer.runs == [] and indexed(w) == []

    within(tmp_path, scene)


def test_an_alarm_of_a_transaction_runs(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm_in_a_transaction()
        await w.advance(10)
        assert [run[0] for run in Timer.runs] == [5.0]

    within(tmp_path, scene)


def test_an_alarm_that_was_not_committed_does_not_run(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await failure(w.stub("Timer").arm_then_abort())
        await w.advance(10)
        assert Timer.runs == [] and indexed(w) == []

    within(tmp_path, scene)


def test_a_pause_gives_a_running_alarm_back_uncounted(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Timer").arm(1)
        await w.advance(1)
        await w.engine.pause()
        assert w.engine.next_due() is None or w.engine.firing.next_due() is None
        w.restart()
        await w.settle()
        assert [run[1:3] for run in Timer.runs] == [(False, 0), (False, 0)]

    within(tmp_path, scene, "wait")


def test_an_alarm_can_be_run_by_hand(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Timer")
        assert w.engine.fire("Timer", "a") is False
        await stub.arm(500)
        assert w.engine.fire("Timer", "a") is True
        await turns(30)
        assert [run[0] for run in Timer.runs] == [0.0]
        await w.advance(1_000)
        assert len(Timer.runs) == 1

    within(tmp_path, scene)


def test_setting_an_alarm_makes_the_scheduler_ask_again(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        assert w.engine.next_due() is None
        await w.stub("Timer").arm(5)
        assert w.pokes > 0
        assert w.engine.next_due() == w.clock.now() + 5

    within(tmp_path, scene)
