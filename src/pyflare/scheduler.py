"""The only code that sleeps: asks every room when it is next due, waits, tells it the time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pyflare.clock import Clock
from pyflare.engines.base import Engine


class Scheduler:
    """`run()` is one task of the server; `poke()` makes it ask again."""

    def __init__(self, clock: Clock, rooms: Sequence[Engine]) -> None:
        self._clock = clock
        self._rooms = rooms
        self._changed = asyncio.Event()

    def poke(self) -> None:
        self._changed.set()

    def next_due(self) -> float | None:
        return min((due for room in self._rooms if (due := room.next_due()) is not None), default=None)

    def run_due(self) -> None:
        """Tell every room that is due; a room that raises does not stop the others."""
        now = self._clock.now()
        for room in self._rooms:
            due = room.next_due()
            if due is not None and due <= now:
                room.run_due(now)

    async def run(self) -> None:
        while True:
            self._changed.clear()
            due = self.next_due()
            if due is None or due > self._clock.now():
                await self._clock.wait(self._changed, due)
            self.run_due()
            # One turn of the loop: a room that stays due (its work is in flight) must not starve the loop.
            await _turn()


async def _turn() -> None:
    loop = asyncio.get_running_loop()
    turn = loop.create_future()
    loop.call_soon(turn.set_result, None)
    await turn
