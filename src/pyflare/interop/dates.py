"""Date, whose zone is UTC as on Cloudflare."""

from __future__ import annotations

import datetime as dt
import email.utils
import math
from typing import Any, ClassVar

from pyflare.interop import scope
from pyflare.interop.errors import range_error
from pyflare.interop.proxy import JsProxy, jsnull

UTC = dt.timezone.utc  # noqa: UP017  (named so in this module)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
MAX_DATE_MS = 8.64e15  # ECMAScript, "Time Values and Time Range"


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
        return cls.make(cls.parse(value) if isinstance(value, str) else float(math.trunc(float(value))))

    @classmethod
    def call(cls, *args: Any) -> str:
        return str(cls.construct())

    @staticmethod
    def now() -> int:
        running = scope.current.get()
        clock_now = running.clock.now() if running is not None else dt.datetime.now(UTC).timestamp()  # noqa: TID251
        return int(clock_now * 1000)

    @staticmethod
    def parse(text: str) -> float:
        try:
            moment = dt.datetime.fromisoformat(text)
        except ValueError:
            try:
                moment = email.utils.parsedate_to_datetime(text)
            except (ValueError, TypeError):
                return math.nan
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return _whole((moment - EPOCH) / dt.timedelta(milliseconds=1))

    @staticmethod
    def UTC(year: int, month: int = 0, day: int = 1, *rest: int) -> float:
        hours, minutes, seconds, milliseconds = (*rest, 0, 0, 0, 0)[:4]
        start = dt.datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
        span = dt.timedelta(days=day - 1, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        return _whole((start + span - EPOCH) / dt.timedelta(milliseconds=1))

    @property
    def moment(self) -> dt.datetime:
        """An aware datetime; RangeError for an invalid date."""
        if math.isnan(self._ms):
            raise range_error("Invalid time value")
        return EPOCH + dt.timedelta(milliseconds=self._ms)

    def js_properties(self) -> dict[str, Any]:
        return {}

    def getTime(self) -> int | float:
        return _whole(self._ms)

    valueOf = getTime

    def getTimezoneOffset(self) -> int:
        return 0

    def getFullYear(self) -> int:
        return self.moment.year

    def getMonth(self) -> int:
        return self.moment.month - 1

    def getDate(self) -> int:
        return self.moment.day

    def getDay(self) -> int:
        return self.moment.isoweekday() % 7

    def getHours(self) -> int:
        return self.moment.hour

    def getMinutes(self) -> int:
        return self.moment.minute

    def getSeconds(self) -> int:
        return self.moment.second

    def getMilliseconds(self) -> int:
        return self.moment.microsecond // 1000

    getUTCFullYear, getUTCMonth, getUTCDate, getUTCDay = getFullYear, getMonth, getDate, getDay
    getUTCHours, getUTCMinutes, getUTCSeconds = getHours, getMinutes, getSeconds
    getUTCMilliseconds = getMilliseconds

    def setTime(self, milliseconds: float) -> int | float:
        self._ms = float(milliseconds)
        return self.getTime()

    def toISOString(self) -> str:
        return self.moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def toJSON(self, *_: Any) -> Any:
        return jsnull if math.isnan(self._ms) else self.toISOString()

    def toUTCString(self) -> str:
        return self.moment.strftime("%a, %d %b %Y %H:%M:%S GMT")

    def toString(self) -> str:
        if math.isnan(self._ms):
            return "Invalid Date"
        return self.moment.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)")


def _whole(value: float) -> int | float:
    return int(value) if math.isfinite(value) and float(value).is_integer() else value
