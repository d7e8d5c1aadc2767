import math
from typing import Any

import pytest

from pyflare.interop.dates import JsDate
from pyflare.interop.json import stringify
from pyflare.interop.proxy import jsnull
from tests.support.web import js, thrown

NEW_YEAR = 1704067200000  # 2024-01-01


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024", NEW_YEAR),
        ("2024-01", NEW_YEAR),
        ("2024-01-01T00:00:00.9999Z", NEW_YEAR + 999),
        ("2023-12-31T24:00Z", NEW_YEAR),
        ("2024-01-01t02:00:00+02:00", NEW_YEAR),
        ("2024-02-30", 1709251200000),
        ("+012024-01-02T00:00:00Z", 317273673600000),
        ("-000001-01-01T00:00:00Z", -62198755200000),
    ],
)
def test_the_format_of_the_standard_is_read(text: str, expected: int) -> None:
    assert JsDate.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1/1/24", NEW_YEAR),
        ("2024/01/01", NEW_YEAR),
        ("Jan 1 2024", NEW_YEAR),
        ("Monday, 1 January 2024", NEW_YEAR),
        ("January 1, 2024 3:04 PM PST", NEW_YEAR + 83040000),
        ("Mon Jan 01 2024 00:00:00 GMT+0000 (Coordinated Universal Time)", NEW_YEAR),
        ("5", 988675200000),
    ],
)
def test_dates_in_words_are_read_as_v8_reads_them(text: str, expected: int) -> None:
    assert JsDate.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "x", "12:00", "20240102", "2024-W01-1", "2024-13-01", "2024-01-02T25:00Z", "2024-01-02T03", "2024-01-02 Z x"],
)
def test_what_is_no_date_is_not_a_number(text: str) -> None:
    assert math.isnan(JsDate.parse(text))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((2024, 12), "2025-01-01T00:00:00.000Z"),
        ((2024, -1), "2023-12-01T00:00:00.000Z"),
        ((2024, 0, 400), "2025-02-03T00:00:00.000Z"),
        ((99, 0), "1999-01-01T00:00:00.000Z"),
        (("2024", 0.9), "2024-01-01T00:00:00.000Z"),
        ((12024, 0), "+012024-01-01T00:00:00.000Z"),
        ((js([2020]),), "2020-01-01T00:00:00.000Z"),
        ((jsnull,), "1970-01-01T00:00:00.000Z"),
    ],
)
def test_a_date_is_made_of_fields_which_may_overflow(arguments: tuple[Any, ...], expected: str) -> None:
    assert JsDate.new(*arguments).toISOString() == expected


def test_setters_give_the_new_time() -> None:
    date: Any = JsDate.new(NEW_YEAR)
    assert date.setMonth(1, 30) == 1709251200000
    assert date.setHours(25, 1, 2, 3) == date.getTime() == 1709341262003
    assert (date.getFullYear(), date.getMonth(), date.getDate(), date.getDay()) == (2024, 2, 2, 6)


def test_an_invalid_date_says_so() -> None:
    date: Any = JsDate.new("never")
    assert (str(date), date.toUTCString(), stringify(date)) == ("Invalid Date", "Invalid Date", "null")
    assert math.isnan(date.getFullYear())
    assert thrown(date.toISOString) == "RangeError: Invalid time value"
    assert date.setFullYear(2024) == NEW_YEAR


def test_dates_outside_of_pythons_calendar_have_their_text() -> None:
    assert str(JsDate.new(8.64e15)) == "Sat Sep 13 275760 00:00:00 GMT+0000 (Coordinated Universal Time)"
    assert JsDate.new(-62198755200000).toUTCString() == "Fri, 01 Jan -0001 00:00:00 GMT"
