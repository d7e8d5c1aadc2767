"""Cron expressions in Cloudflare's dialect.

Five fields: minute, hour, day of month, month, day of week; times are UTC. Weekdays go from 1 (Sunday) to 7 (Saturday).
Names are case-insensitive. `L`, `W` and `#` stand alone in their field: `L`, `L-3`, `LW`, `L-3W`, `15W` as day of
month; `6L`, `friL` (the last one of the month), `2#1` (the first one), `L` (Saturday) as day of week. Ranges may wrap
around (`22-4`, `FRI-SUN`). When both days are given, either one will do.

Sources: developers.cloudflare.com/workers/configuration/cron-triggers and the parser that Cloudflare published
(github.com/cloudflare/saffron). Slips of the latter are not repeated here: it begins a range that wraps around one
value too early, miscounts steps in one, and takes `5,*` for `0,5`.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

HORIZON_YEARS = 40  # the rarest day, a 29th of February on one weekday, comes within 40 years
MACROS = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 1",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip

Days = Callable[[int, int], set[int]]  # year, month -> days of that month


class CronFault(ValueError):
    """An expression that Cloudflare refuses; `str()` is one line, `shown` points under the expression."""

    def __init__(self, text: str, position: int, message: str) -> None:
        self.text, self.position, self.message = text, position, message
        super().__init__(message)

    @property
    def shown(self) -> str:
        return f"{self.message}\n    {self.text}\n    {' ' * self.position}^"


@dataclass(frozen=True)
class Field:
    """One of the five places; `names` count from `least`."""

    title: str
    least: int
    greatest: int
    names: Mapping[str, int] = field(default_factory=dict)

    @property
    def largest_step(self) -> int:
        return self.greatest - self.least


def _numbered(names: str) -> Mapping[str, int]:
    return {name: number for number, name in enumerate(names.split(), start=1)}


MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY = Field("day of month", 1, 31)
MONTH = Field("month", 1, 12, _numbered("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"))
WEEKDAY = Field("day of week", 1, 7, _numbered("SUN MON TUE WED THU FRI SAT"))
FIELDS = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)

VALUE = r"(?:[0-9]+|[A-Za-z]{3})"
ITEM = re.compile(rf"(?:(?P<star>\*)|(?P<first>{VALUE})(?:-(?P<last>{VALUE}))?)(?:/(?P<step>[0-9]+))?")
LAST_DAY = re.compile(r"L(?:-(?P<offset>[0-9]+))?(?P<weekday>W)?")
NEAREST = re.compile(r"(?P<day>[0-9]+)W")
LAST_WEEKDAY = re.compile(rf"(?P<day>{VALUE})L")
NTH_WEEKDAY = re.compile(rf"(?P<day>{VALUE})#(?P<nth>[0-9]+)")


@dataclass(frozen=True)
class Expression:
    """A parsed expression."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    days: Days

    def next_after(self, now: float) -> float | None:
        """The first time after `now`, in seconds since the epoch; None: there is none."""
        start = dt.datetime.fromtimestamp(now // 60 * 60 + 60, dt.UTC)
        for day in self._dates(start.date()):
            after = (start.hour, start.minute) if day == start.date() else (0, 0)
            moment = min(((h, m) for h in self.hours for m in self.minutes if (h, m) >= after), default=None)
            if moment is not None:
                return dt.datetime(day.year, day.month, day.day, *moment, tzinfo=dt.UTC).timestamp()
        return None

    def times(self, now: float, count: int) -> list[float]:
        """The next `count` times."""
        found: list[float] = []
        while len(found) < count and (moment := self.next_after(found[-1] if found else now)) is not None:
            found.append(moment)
        return found

    def _dates(self, start: dt.date) -> Iterator[dt.date]:
        for offset in range(HORIZON_YEARS * 12):
            year, month = start.year + (start.month - 1 + offset) // 12, (start.month - 1 + offset) % 12 + 1
            if month in self.months:
                days = (dt.date(year, month, day) for day in sorted(self.days(year, month)))
                yield from (day for day in days if day >= start)


def parse(text: str) -> Expression:
    """The expression; CronFault when Cloudflare would refuse it."""
    parts = [(match.group(), match.start()) for match in re.finditer(r"\S+", text)]
    if len(parts) == 1 and parts[0][0].lower() in MACROS:
        macro = parts[0][0].lower()
        raise CronFault(text, parts[0][1], f'Cloudflare does not know {macro}: write "{MACROS[macro]}"')
    if len(parts) != len(FIELDS):
        raise CronFault(text, parts[5][1] if len(parts) > 5 else len(text), _count_of(len(parts)))
    if text != text.strip():
        raise CronFault(text, 0 if parts[0][1] else len(text.rstrip()), "no space stands before or after the fields")
    minute, hour, day, month, weekday = (_Part(text, *part, place) for part, place in zip(parts, FIELDS, strict=True))
    days = _either(_days_of_month(day), _days_of_week(weekday))
    return Expression(text, minute.values(), hour.values(), month.values(), days)


def fault(text: str) -> str | None:
    """Why Cloudflare would refuse the expression; None: it would not."""
    try:
        parse(text)
    except CronFault as found:
        return str(found)
    return None


def _count_of(count: int) -> str:
    names = ", ".join(place.title for place in FIELDS)
    hint = "; Cloudflare has neither seconds nor years" if count > len(FIELDS) else ""
    return f"a cron expression has five fields ({names}), not {count}{hint}"


class _Part:
    """The text of one field, with its place in the expression."""

    def __init__(self, expression: str, text: str, offset: int, place: Field) -> None:
        self.expression, self.text, self.offset, self.place = expression, text, offset, place

    def fault(self, at: int, message: str) -> CronFault:
        return CronFault(self.expression, self.offset + at, f"{self.place.title}: {message}")

    def values(self) -> frozenset[int]:
        """What a list of values, ranges and steps means; every value for `*`."""
        if self.text == "*":
            return frozenset(range(self.place.least, self.place.greatest + 1))
        found: set[int] = set()
        at = 0
        for item in self.text.split(","):
            found.update(self._item(item, at))
            at += len(item) + 1
        return frozenset(found)

    def _item(self, item: str, at: int) -> list[int]:
        match = ITEM.fullmatch(item)
        if match is None or (match["star"] and not match["step"]):
            raise self.fault(at, self._unreadable(item))
        first = self.place.least if match["star"] else self.value(match["first"], at)
        step = match["step"]
        last = first if step is None else self.place.greatest
        if match["last"]:
            last = self.value(match["last"], at + match.start("last"))
        span = list(range(first, last + 1))
        if last < first:
            span = [*range(first, self.place.greatest + 1), *range(self.place.least, last + 1)]
        return span[:: self._step(step, at + match.start("step"))] if step else span

    def _step(self, text: str, at: int) -> int:
        if not 1 <= int(text) <= self.place.largest_step:
            raise self.fault(at, f"a step goes from 1 to {self.place.largest_step}")
        return int(text)

    def value(self, text: str, at: int) -> int:
        """A number or a name."""
        place = self.place
        if not text.isdigit():
            number = place.names.get(text.upper())
            if number is None:
                names = f"; its names are {', '.join(place.names)}" if place.names else ""
                raise self.fault(at, f"{text!r} is no {place.title}{names}")
            return number
        if place is WEEKDAY and int(text) == 0:
            raise self.fault(at, "weekdays go from 1 (Sunday) to 7 (Saturday): for Sunday write 1 or SUN, not 0")
        if not place.least <= int(text) <= place.greatest:
            raise self.fault(at, f"{text} is not between {place.least} and {place.greatest}")
        return int(text)

    def _unreadable(self, item: str) -> str:
        if item == "*":
            return "* stands alone or before a step, as in */5"
        if self.place in (DAY, WEEKDAY) and any(letter in item for letter in "LW#"):
            return f"{item!r} cannot be read here: L, W and # stand alone in their field"
        return f"{item!r} cannot be read" if item else "something is missing here"


def _days_of_month(part: _Part) -> Days | None:
    """None for `*`."""
    if part.text == "*":
        return None
    if (match := LAST_DAY.fullmatch(part.text)) is not None:
        offset = int(match["offset"] or 0)
        if match["offset"] and not 1 <= offset <= 30:
            raise part.fault(match.start("offset"), "the days before the last go from 1 to 30")
        working = match["weekday"] is not None
        return lambda year, month: _from_end(year, month, offset, working)
    if (match := NEAREST.fullmatch(part.text)) is not None:
        day = part.value(match["day"], 0)
        return lambda year, month: _nearest_weekday(year, month, day)
    values = part.values()
    return lambda year, month: {day for day in values if day <= _length(year, month)}


def _days_of_week(part: _Part) -> Days | None:
    """None for `*`."""
    if part.text == "*":
        return None
    if part.text == "L":
        return lambda year, month: set(_dates_of(year, month, 7))
    if (match := LAST_WEEKDAY.fullmatch(part.text)) is not None:
        last = part.value(match["day"], 0)
        return lambda year, month: {_dates_of(year, month, last)[-1]}
    if (match := NTH_WEEKDAY.fullmatch(part.text)) is not None:
        weekday, nth = part.value(match["day"], 0), int(match["nth"])
        if not 1 <= nth <= 5:
            raise part.fault(match.start("nth"), "a month has its weekdays from #1 to #5")
        return lambda year, month: set(_dates_of(year, month, weekday)[nth - 1 : nth])
    values = part.values()
    return lambda year, month: {day for value in values for day in _dates_of(year, month, value)}


def _either(first: Days | None, second: Days | None) -> Days:
    if first is not None and second is not None:
        return lambda year, month: first(year, month) | second(year, month)
    return first or second or (lambda year, month: set(range(1, _length(year, month) + 1)))


def _length(year: int, month: int) -> int:
    return calendar.monthrange(year, month)[1]


def _dates_of(year: int, month: int, weekday: int) -> list[int]:
    """The days of a month that fall on a weekday (1 is Sunday)."""
    first = calendar.weekday(year, month, 1)  # 0 is Monday
    return list(range(1 + (weekday - 2 - first) % 7, _length(year, month) + 1, 7))


def _from_end(year: int, month: int, offset: int, weekday: bool) -> set[int]:
    day = _length(year, month) - offset
    if day < 1:
        return set()
    return _nearest_weekday(year, month, day) if weekday else {day}


def _nearest_weekday(year: int, month: int, day: int) -> set[int]:
    """The working day nearest to a day, within the month."""
    length = _length(year, month)
    if day > length:
        return set()
    weekday = calendar.weekday(year, month, day)
    if weekday == calendar.SATURDAY:
        return {day - 1 if day > 1 else day + 2}
    if weekday == calendar.SUNDAY:
        return {day + 1 if day < length else day - 2}
    return {day}
