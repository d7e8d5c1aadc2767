"""The one place that sleeps."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Callable, Coroutine
from typing import Any, cast

from pyflare.clock import FakeClock, SystemClock, turn
from pyflare.engines.base import Engine
from pyflare.log import Log
from pyflare.scheduler import Scheduler


class Room:
    """Due at each of its times in turn; `stuck` rooms stay due."""

    def __init__(self, *times: float, stuck: bool = False, fault: Exception | None = None) -> None:
        self.times = list(times)
        self.stuck = stuck
        self.fault = fault
        self.told: list[float] = []
        self.on_told: Callable[[], None] = lambda: None

    def next_due(self) -> float | None:
        return self.times[0] if self.times else None

    def run_due(self, now: float) -> None:
        self.told.append(now)
        self.on_told()
        if self.fault is not None:
            raise self.fault
        if not self.stuck:
            self.times = [time for time in self.times if time > now]


def scheduler(clock: FakeClock | SystemClock, *rooms: Room, log: Log | None = None) -> Scheduler:
    return Scheduler(clock, cast(list[Engine], list(rooms)), log)


def played(made: Scheduler, scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a scene beside the scheduler."""

    async def whole() -> None:
        task = asyncio.get_running_loop().create_task(made.run())
        await scene()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(whole())


async def turns(count: int) -> None:
    for _ in range(count):
        await turn()


def test_the_earliest_room_decides() -> None:
    assert scheduler(FakeClock(0.0), Room(7.0), Room(), Room(3.0)).next_due() == 3.0


def test_only_rooms_that_are_due_are_told_the_time() -> None:
    early, late = Room(3.0), Room(7.0)
    scheduler(FakeClock(5.0), early, late).run_due()
    assert (early.told, late.told) == ([5.0], [])


def test_a_room_is_told_when_its_time_has_come_and_someone_pokes() -> None:
    clock, room = FakeClock(0.0), Room(3.0)
    made = scheduler(clock, room)

    async def scene() -> None:
        await turns(5)
        assert room.told == []
        clock.set(3.0)
        made.poke()
        await turns(5)
        assert room.told == [3.0]

    played(made, scene)


def test_on_the_system_s_clock_it_wakes_by_itself() -> None:
    clock = SystemClock()
    room = Room(clock.now() + 0.02)
    done = asyncio.Event()
    room.on_told = done.set
    played(scheduler(clock, room), lambda: asyncio.wait_for(done.wait(), 5))  # type: ignore[arg-type]
    assert len(room.told) == 1


def test_a_room_that_raises_does_not_stop_the_others() -> None:
    terminal = io.StringIO()
    broken, sound = Room(1.0, fault=ValueError("no")), Room(1.0)
    scheduler(FakeClock(1.0), broken, sound, log=Log(out=terminal)).run_due()
    assert sound.told == [1.0]
    assert terminal.getvalue() == "[wrangler:error] Room failed: ValueError: no\n"


def test_a_room_that_stays_due_rests_until_someone_pokes() -> None:
    clock, room = FakeClock(1.0), Room(1.0, stuck=True)
    made = scheduler(clock, room)

    async def scene() -> None:
        await turns(50)
        assert len(room.told) == 1
        made.poke()
        await turns(50)
        assert len(room.told) == 2

    played(made, scene)


def test_a_room_that_stays_due_and_pokes_by_itself_does_not_spin() -> None:
    room = Room(1.0, stuck=True)
    made = scheduler(FakeClock(1.0), room)
    room.on_told = made.poke

    async def scene() -> None:
        await turns(50)
        assert len(room.told) == 1

    played(made, scene)


def test_a_resting_room_is_told_again_a_moment_later() -> None:
    clock, room = FakeClock(1.0), Room(1.0, stuck=True)
    made = scheduler(clock, room)
    made.run_due()
    assert made.next_due() == 1.05
    clock.set(1.05)
    made.run_due()
    assert len(room.told) == 2


def test_a_resting_room_with_another_time_is_told_at_it() -> None:
    room = Room(1.0, stuck=True)
    made = scheduler(FakeClock(1.0), room)
    made.run_due()
    room.times = [0.5]
    assert made.next_due() == 0.5


def test_a_room_with_progress_goes_on_and_leaves_the_loop_its_turns() -> None:
    clock, room = FakeClock(1000.0), Room(*range(100))
    room.on_told = lambda: None
    made = scheduler(clock, room)
    others = 0

    def one(now: float) -> None:
        room.told.append(now)
        room.times.pop(0)

    room.run_due = one  # type: ignore[method-assign]

    async def scene() -> None:
        nonlocal others
        while room.times:
            await turns(1)
            others += 1

    played(made, scene)
    assert len(room.told) == 100
    assert others >= 100
