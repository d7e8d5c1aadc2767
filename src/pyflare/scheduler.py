"""The only code that sleeps: asks every room when it is next due, waits, tells it the time."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from pyflare.clock import Clock, turn
from pyflare.engines.base import Engine
from pyflare.log import Log

REST_SECONDS = 0.05  # how long a room that stays due without progress is left alone, unless someone pokes
FAULT_SECONDS = 1.0  # the same for a room that raised


class Scheduler:
    """`run()` is one task of the server; `poke()` makes it ask again.

    A room that is still due at the same time after it was told (its work is in flight, or it raised) rests until the
    next poke or a moment later: one room neither starves the loop nor stops the others.
    """

    def __init__(self, clock: Clock, rooms: Collection[Engine], log: Log | None = None) -> None:
        self._clock = clock
        self._rooms = rooms
        self._log = log
        self._changed = asyncio.Event()
        self._telling = False
        self._resting: dict[int, tuple[float, float]] = {}  # id of a room -> what it was due at, when it may be told

    def poke(self) -> None:
        """A deadline changed. What a room says while it is told the time is asked anyway, and wakes no resting room."""
        if not self._telling:
            self._resting.clear()
        self._changed.set()

    def next_due(self) -> float | None:
        """When `run_due` has something to do."""
        return min((due for room in list(self._rooms) if (due := self._due(room)) is not None), default=None)

    def run_due(self) -> None:
        """Tell every room that is due; a room that raises does not stop the others."""
        now = self._clock.now()
        self._telling = True
        try:
            for room in list(self._rooms):
                due = self._due(room)
                if due is not None and due <= now:
                    self._tell(room, now)
        finally:
            self._telling = False

    async def run(self) -> None:
        while True:
            self.run_due()
            self._changed.clear()
            await turn()  # also when something is due again at once: the loop has other work
            due = self.next_due()
            if due is None or due > self._clock.now():
                await self._clock.wait(self._changed, due)

    def _due(self, room: Engine) -> float | None:
        due = room.next_due()
        rest = self._resting.get(id(room))
        if due is None or rest is None or rest[0] != due:
            return due
        return max(due, rest[1])

    def _tell(self, room: Engine, now: float) -> None:
        before, rest = room.next_due(), REST_SECONDS
        try:
            room.run_due(now)
        except Exception as raised:
            rest = FAULT_SECONDS
            if self._log is not None:
                self._log.error(f"{type(room).__name__} failed: {type(raised).__name__}: {raised}")
        after = room.next_due()
        if after is not None and after == before:
            self._resting[id(room)] = (after, now + rest)
        else:
            self._resting.pop(id(room), None)
