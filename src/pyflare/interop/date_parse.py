"""`Date.parse`: the format of ECMA-262, and what V8 reads besides it, as observed."""

from __future__ import annotations

import math
import re

from pyflare.interop.date_values import time_value

_ISO = re.compile(
    r"([+-]\d{6}|\d{4})(?:-(\d\d)(?:-(\d\d))?)?"
    r"(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"\s+|\((?:[^()]|\([^()]*\))*\)|(?P<number>\d+)|(?P<word>[A-Za-z]+)|(?P<sign>[+-])|(?P<rest>.)", re.S
)
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_ZONES = {
    "utc": 0, "gmt": 0, "ut": 0, "z": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8,
    "pdt": -7,
}  # fmt: skip


def parse(text: str) -> int | float:
    """The time value of a date in words; NaN when it is none."""
    iso = _ISO.fullmatch(text.strip())
    return _of_iso(iso) if iso else _Words(text).value()


def _of_iso(match: re.Match[str]) -> int | float:
    year, month, day, hours, minutes, seconds, fraction, zone = match.groups()
    offset = 0 if zone in (None, "Z", "z") else int(f"{zone[0]}1") * (int(zone[1:3]) * 60 + int(zone[-2:]))
    time = (int(hours or 0), int(minutes or 0), int(seconds or 0), int(f"{fraction or ''}000"[:3]))
    return _checked(int(year), int(month or 1), int(day or 1), time, offset)


def _checked(year: int, month: int, day: int, time: tuple[int, int, int, int], offset: int) -> int | float:
    """`month` from 1, `offset` of the zone in minutes; NaN for fields that no date has."""
    hours, minutes, seconds, milliseconds = time
    if not (1 <= month <= 12 and 1 <= day <= 31 and minutes < 60 and seconds < 60):
        return math.nan
    if hours > 24 or (hours == 24 and any(time[1:])):
        return math.nan
    return time_value(year, month - 1, day, hours, minutes - offset, seconds, milliseconds)


class _Words:
    """Numbers, names of months and zones in (almost) any order: "Jan 2 2024 3:04 PM PST", "1/2/2024"."""

    def __init__(self, text: str) -> None:
        self._tokens = [match for match in _TOKEN.finditer(text)]
        self._numbers: list[int] = []
        self._time: list[int] = []
        self._open = False  # whether a part of the time comes next
        self._month = self._half = 0
        self._zone: int | None = None  # minutes
        self._at = 0

    def value(self) -> int | float:
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            if token["number"]:
                good = self._number(token["number"])
            elif token["word"]:
                good = self._word(token["word"].lower())
            elif token["sign"]:
                good = self._sign(token["sign"])
            else:
                good = token["rest"] != ")" or not self._numbers
            if not good:
                return math.nan
        return self._composed()

    def _next(self, text: str) -> bool:
        """Whether `text` comes next; steps over it then."""
        found = self._at < len(self._tokens) and self._tokens[self._at][0] == text
        self._at += found
        return found

    def _number(self, digits: str) -> bool:
        number = int(digits)
        if len(self._time) < 3 and self._next(":"):
            self._time.append(number)
            self._open = True
        elif self._open and len(self._time) == 2 and self._next("."):
            self._time.append(number)
        elif self._open:
            self._time.append(int(f"{digits}00"[:3]) if len(self._time) == 3 else number)
            self._open = False
        else:
            self._numbers.append(number)
            self._next("-")
        return len(self._numbers) <= 3

    def _word(self, word: str) -> bool:
        month = _MONTHS.find(word[:3])
        if word in ("am", "pm") and self._time:
            self._half = 1 if word == "am" else 2
        elif len(word) >= 3 and month >= 0 and month % 3 == 0:
            self._month = month // 3 + 1
            self._next("-")
        elif word in _ZONES and self._numbers:
            self._zone = _ZONES[word] * 60
        else:
            return not self._numbers and not self._time  # names of days, and whatever stands before
        return True

    def _sign(self, sign: str) -> bool:
        if self._zone is None and not self._time:
            return not self._numbers
        digits = self._tokens[self._at]["number"] if self._at < len(self._tokens) else None
        if not digits:
            return False
        self._at += 1
        hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
        if self._next(":") and self._at < len(self._tokens) and self._tokens[self._at]["number"]:
            minutes = int(self._tokens[self._at]["number"])
            self._at += 1
        self._zone = int(f"{sign}1") * (hours * 60 + minutes)
        return True

    def _composed(self) -> int | float:
        if not self._numbers:
            return math.nan
        first, second, third = (*self._numbers, 1, 1)[:3]
        if self._month:
            month = self._month
            year, day = (first, second) if first > 31 or first < 1 else (second, first)
        elif first > 31 or first < 1:
            year, month, day = first, second, third
        else:
            month, day, year = first, second, third
        year += 2000 if year < 50 else 1900 if year < 100 else 0
        hours, minutes, seconds, milliseconds = (*self._time, 0, 0, 0, 0)[:4]
        if self._half:
            if hours > 12:
                return math.nan
            hours = hours % 12 + 12 * (self._half - 1)
        return _checked(year, month, day, (hours, minutes, seconds, milliseconds), self._zone or 0)
