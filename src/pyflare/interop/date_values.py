"""Time values: milliseconds since 1970, and their fields (ECMA-262, "Time Values and Time Range")."""

from __future__ import annotations

import datetime as dt
import math

UTC = dt.timezone.utc  # noqa: UP017  (named so in this module)
DAY_MS = 86_400_000
MAX_DATE_MS = 8.64e15

# The calendar repeats after 400 years, so Python's, which ends in 9999, serves for all of them.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_FIRST = dt.date(1970, 1, 1)
_MOST_YEARS = 400_000  # far beyond the range, so that arithmetic stays small

Fields = tuple[int, int, int, int, int, int, int]


def civil(milliseconds: float) -> Fields:
    """(year, month from 0, day, hours, minutes, seconds, milliseconds) of a finite time value."""
    days, rest = divmod(int(milliseconds), DAY_MS)
    cycle, in_cycle = divmod(days, _CYCLE_DAYS)
    date = _FIRST + dt.timedelta(days=in_cycle)
    seconds, millisecond = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    return date.year + cycle * _CYCLE_YEARS, date.month - 1, date.day, *divmod(minutes, 60), second, millisecond


def time_value(
    year: float,
    month: float = 0,
    day: float = 1,
    hours: float = 0,
    minutes: float = 0,
    seconds: float = 0,
    milliseconds: float = 0,
) -> int | float:
    """The time value of fields, which may overflow; NaN beyond the range or when one is none."""
    numbers = (year, month, day, hours, minutes, seconds, milliseconds)
    if not all(map(math.isfinite, numbers)):
        return math.nan
    whole_year, whole_month, *rest = map(math.trunc, numbers)
    years, month_of_year = divmod(whole_year * 12 + whole_month, 12)
    if abs(years) > _MOST_YEARS:
        return math.nan
    cycle, in_cycle = divmod(years - _FIRST.year, _CYCLE_YEARS)
    days = (dt.date(_FIRST.year + in_cycle, month_of_year + 1, 1) - _FIRST).days + cycle * _CYCLE_DAYS + rest[0] - 1
    value = days * DAY_MS + rest[1] * 3_600_000 + rest[2] * 60_000 + rest[3] * 1000 + rest[4]
    return value if abs(value) <= MAX_DATE_MS else math.nan
