"""Date, whose zone is UTC as on Cloudflare."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any, ClassVar

from pyflare.interop import scope
from pyflare.interop.arguments import to_number
from pyflare.interop.containers import whole
from pyflare.interop.date_parse import parse
from pyflare.interop.date_values import DAY_MS, MAX_DATE_MS, UTC, civil, time_value
from pyflare.interop.errors import range_error
from pyflare.interop.proxy import JsProxy, jsnull

EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS = ("FullYear", "Month", "Date", "Hours", "Minutes", "Seconds", "Milliseconds")


class JsDate(JsProxy):
    """A Date; its zone is UTC, as on Cloudflare."""

    js_name: ClassVar[str] = "Date"

    def __init__(self, milliseconds: float) -> None:
        self._ms = milliseconds if abs(milliseconds) <= MAX_DATE_MS else math.nan

    @classmethod
    def construct(cls, *args: Any) -> JsDate:
        if not args:
            return cls.make(float(cls.now()))
        if len(args) > 1:
            return cls.make(cls.UTC(*args))
        value = args[0]
        if isinstance(value, JsDate):
            return cls.make(value._ms)
        if isinstance(value, JsProxy):
            value = str(value)
        number = parse(value) if isinstance(value, str) else to_number(value)
        return cls.make(float(math.trunc(number)) if math.isfinite(number) else math.nan)

    @classmethod
    def call(cls, *args: Any) -> str:
        return str(cls.construct())

    @staticmethod
    def now() -> int:
        running = scope.current.get()
        clock_now = running.clock.now() if running is not None else dt.datetime.now(UTC).timestamp()  # noqa: TID251
        return int(clock_now * 1000)

    @staticmethod
    def parse(text: Any = None) -> float:
        return parse(text if isinstance(text, str) else str(text))

    @staticmethod
    def UTC(year: Any = None, month: Any = 0, *rest: Any) -> float:
        numbers = [to_number(value) for value in (year, month, *rest[:5])]
        if 0 <= numbers[0] <= 99:
            numbers[0] = 1900 + math.trunc(numbers[0])
        return time_value(*numbers)

    @property
    def moment(self) -> dt.datetime:
        """An aware datetime; RangeError for an invalid date, and for one that Python cannot hold."""
        if math.isnan(self._ms):
            raise range_error("Invalid time value")
        return EPOCH + dt.timedelta(milliseconds=self._ms)

    def js_properties(self) -> dict[str, Any]:
        return {}

    def getTime(self) -> int | float:
        return whole(float(self._ms))

    valueOf = getTime

    def getTimezoneOffset(self) -> int | float:
        return math.nan if math.isnan(self._ms) else 0

    def getDay(self) -> int | float:
        return math.nan if math.isnan(self._ms) else int(self._ms // DAY_MS + 4) % 7  # 1970 began on a Thursday

    getUTCDay = getDay

    def getYear(self) -> int | float:
        return self._field(0) - 1900

    def _field(self, at: int) -> int | float:
        return math.nan if math.isnan(self._ms) else civil(self._ms)[at]

    def _set(self, at: int, most: int, values: tuple[Any, ...]) -> int | float:
        """Replace up to `most` fields from `at` on; the new time."""
        numbers = [to_number(value) for value in values[:most]] or [math.nan]
        if math.isnan(self._ms) and at:
            return math.nan
        fields: list[float] = list(civil(0 if math.isnan(self._ms) else self._ms))
        fields[at : at + len(numbers)] = numbers
        self._ms = float(time_value(*fields))
        return self.getTime()

    def setTime(self, milliseconds: Any = None) -> int | float:
        number = to_number(milliseconds)
        self._ms = float(math.trunc(number)) if abs(number) <= MAX_DATE_MS else math.nan
        return self.getTime()

    def toISOString(self) -> str:
        if math.isnan(self._ms):
            raise range_error("Invalid time value")
        year, month, day, hours, minutes, seconds, milliseconds = civil(self._ms)
        years = f"{year:04}" if 0 <= year <= 9999 else f"{year:+07}"
        return f"{years}-{month + 1:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}Z"

    def toJSON(self, *_: Any) -> Any:
        return jsnull if math.isnan(self._ms) else self.toISOString()

    def _text(self, pattern: str) -> str:
        """`pattern` with the parts of this date, all of them text."""
        if math.isnan(self._ms):
            return "Invalid Date"
        year, month, day, hours, minutes, seconds, _ = civil(self._ms)
        years = f"{year:04}" if year >= 0 else f"{year:05}"
        week_day, name = "SunMonTueWedThuFriSat", "JanFebMarAprMayJunJulAugSepOctNovDec"
        at = int(self.getDay()) * 3
        time = f"{hours:02}:{minutes:02}:{seconds:02} GMT"
        return pattern.format(
            weekday=week_day[at : at + 3], month=name[month * 3 : month * 3 + 3], day=f"{day:02}", year=years, time=time
        )

    def toUTCString(self) -> str:
        return self._text("{weekday}, {day} {month} {year} {time}")

    toGMTString = toUTCString

    def toDateString(self) -> str:
        return self._text("{weekday} {month} {day} {year}")

    def toTimeString(self) -> str:
        return self._text("{time}+0000 (Coordinated Universal Time)")

    def toString(self) -> str:
        return self._text("{weekday} {month} {day} {year} {time}+0000 (Coordinated Universal Time)")


def _accessors(at: int, most: int) -> tuple[Any, Any]:
    def get(self: JsDate) -> int | float:
        return self._field(at)

    def set_(self: JsDate, *values: Any) -> int | float:
        return self._set(at, most, values)

    return get, set_


# How many fields a setter takes: of a day those up to the day, of a time those up to the milliseconds.
for _at, _name in enumerate(_FIELDS):
    _get, _set = _accessors(_at, (3 if _at < 3 else 7) - _at)
    for _zone in ("", "UTC"):
        setattr(JsDate, f"get{_zone}{_name}", _get)
        setattr(JsDate, f"set{_zone}{_name}", _set)


__all__ = ["EPOCH", "MAX_DATE_MS", "UTC", "JsDate"]
