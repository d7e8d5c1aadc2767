"""Compatibility dates and flags: is a behaviour on for a worker?

A flag that the worker names wins, then the name that disables it, then what implies it, then the date.
Source: https://developers.cloudflare.com/workers/configuration/compatibility-flags/
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pyflare.config.compat_table import TABLE

KNOWN_UNTIL = "2026-11-17"  # the day of the table


@dataclass(frozen=True)
class Flag:
    """One row of the table; an empty string stands for nothing."""

    name: str
    disable: str = ""
    date: str = ""
    implied_by: Sequence[str] = ()
    implied_from: str = ""


@cache
def flags() -> Mapping[str, Flag]:
    """Every flag by the name that enables it."""
    return {flag.name: flag for flag in map(_flag, TABLE.split("\n")[1:-1])}


@cache
def names() -> frozenset[str]:
    """Every name that `compatibility_flags` may hold: those that enable and those that disable."""
    return frozenset(name for flag in flags().values() for name in (flag.name, flag.disable) if name)


def enabled(date: str, given: Collection[str], name: str) -> bool:
    """Whether the flag `name` is on at `date` (YYYY-MM-DD) when the worker names the flags `given`.

    A name that is in no table is on only when it is given.
    """
    if name in given:
        return True
    flag = flags().get(name)
    if flag is None or flag.disable in given:
        return False
    if flag.date and date >= flag.date:
        return True
    return bool(flag.implied_by) and date >= flag.implied_from and _implied(date, given, flag)


def is_date(text: str) -> bool:
    """Whether `text` is a day, written as YYYY-MM-DD."""
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _implied(date: str, given: Collection[str], flag: Flag) -> bool:
    return any(enabled(date, given, name) for name in flag.implied_by)


def _flag(row: str) -> Flag:
    name, disable, date, implied = ("" if cell == "-" else cell for cell in row.split(" "))
    by, _, since = implied.partition("@")
    return Flag(name, disable, date, tuple(by.split(",")) if by else (), since)
