"""The time of a server. This is the only module that imports `time`.

Every deadline of pyflare is a column in a database; `Clock.now()` is compared with it. Times are seconds since the
Unix epoch, as floats. `SystemClock` is the machine's; `FakeClock` stands still until a test moves it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from types import coroutine
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio


class Clock(Protocol):
    """What the rest of pyflare knows of time."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        ...

    async def wait(self, event: asyncio.Event, until: float | None) -> None:
        """Return when `event` is set or `until` (a time of this clock; None: never) has come."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        return time.time()

    async def wait(self, event: asyncio.Event, until: float | None) -> None:
        if until is None:
            await event.wait()
            return
        from asyncio import get_running_loop  # noqa: PLC0415  (the supervisor needs the time, and no loop)

        loop = get_running_loop()
        # A sleep longer than a day is cut: a laptop may be suspended, and its loop's clock with it.
        timer = loop.call_later(min(max(until - self.now(), 0.0), 86_400.0), event.set)
        try:
            await event.wait()
        finally:
            timer.cancel()


class FakeClock:
    """A clock that a test moves by hand: `advance` and `set` never sleep."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    async def wait(self, event: asyncio.Event, until: float | None) -> None:
        await event.wait()

    def set(self, now: float) -> None:
        """Move to `now`; never backwards."""
        self._now = max(self._now, now)

    def advance(self, seconds: float) -> None:
        self._now += seconds


@coroutine
def turn() -> Iterator[None]:
    """Wait for one turn of the loop: whatever is ready goes on before."""
    yield


# A clock that only goes forward, for measuring how long something took: seconds, and nanoseconds.
monotonic, monotonic_ns = time.perf_counter, time.perf_counter_ns


def use_utc() -> None:
    """From now on the process's local time is UTC, as on Cloudflare; `os.environ` does not show it."""
    os.putenv("TZ", "UTC")
    time.tzset()


@contextlib.contextmanager
def utc() -> Iterator[None]:
    """The same for a while."""
    if time.tzname == ("UTC", "UTC"):
        yield
        return
    use_utc()
    try:
        yield
    finally:
        if "TZ" in os.environ:
            os.putenv("TZ", os.environ["TZ"])
        else:
            os.unsetenv("TZ")
        time.tzset()
