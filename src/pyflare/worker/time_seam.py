"""`time.time` and `datetime.now` that ask a clock of ours while worker code runs."""

from __future__ import annotations

import datetime
import time
from datetime import date as real_date
from datetime import datetime as real_datetime
from typing import Any

from pyflare.clock import Clock


class TimeSeam:
    """`swap_in()` and `swap_out()`; what was imported in between keeps asking the clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._real = (time.time, time.time_ns, real_datetime, real_date)
        self._fake = (clock.now, lambda: int(clock.now() * 1e9), *_clocked_classes(clock))

    def swap_in(self) -> None:
        time.time, time.time_ns, datetime.datetime, datetime.date = self._fake  # type: ignore[misc,assignment]

    def swap_out(self) -> None:
        time.time, time.time_ns, datetime.datetime, datetime.date = self._real  # type: ignore[misc]


def _clocked_classes(clock: Clock) -> tuple[type, type]:
    class AnyDatetime(type(real_datetime)):  # type: ignore[misc]
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real_datetime)

    class AnyDate(type(real_date)):  # type: ignore[misc]
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real_date)

    class clocked_datetime(real_datetime, metaclass=AnyDatetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return real_datetime.fromtimestamp(clock.now(), tz or None)

        @classmethod
        def utcnow(cls) -> Any:
            return real_datetime.fromtimestamp(clock.now(), datetime.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            return cls.now()

    class clocked_date(real_date, metaclass=AnyDate):
        @classmethod
        def today(cls) -> Any:
            return real_date.fromtimestamp(clock.now())

    for fake, real in ((clocked_datetime, real_datetime), (clocked_date, real_date)):
        fake.__name__, fake.__qualname__, fake.__module__ = real.__name__, real.__qualname__, real.__module__
    return clocked_datetime, clocked_date
