"""What the runtime makes of the arguments of a binding's methods."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pyflare.interop.arguments import parse_int, to_int32, to_number
from pyflare.interop.dates import JsDate
from pyflare.interop.proxy import jsnull


@pytest.mark.cloudflare("ECMA-262, ToNumber")
@pytest.mark.parametrize(
    ("given", "number"),
    [
        ("0x3c", 60),
        (" 6e1 ", 60),
        ("", 0),
        (".5", 0.5),
        ("-Infinity", -math.inf),
        (jsnull, 0),
        (True, 1),
        (JsDate.new(60_000), 60_000),
    ],
)
def test_numbers_are_those_of_javascript(given: Any, number: float) -> None:
    assert to_number(given) == number


@pytest.mark.parametrize("given", ["1_000", "inf", "infinity", "nan", "\u0663", "-0x1", "0x", "1,5", None])
def test_what_only_python_calls_a_number_is_none(given: Any) -> None:
    assert math.isnan(to_number(given))
    assert to_int32(given) == 0


@pytest.mark.cloudflare("ECMA-262, parseInt")
@pytest.mark.parametrize(
    ("given", "radix", "number"),
    [
        (" 12px", None, 12),
        ("0x1Fg", None, 31),
        ("-0x10", 16, -16),
        ("0x10", 10, 0),
        ("x1", 36, 1189),
        ("0b11", 2, 0),
        ("z9", 36, 1269),
        (15.9, None, 15),
        ("9007199254740993", None, 2.0**53),
        ("9" * 5_000, None, math.inf),
    ],
)
def test_a_text_is_an_integer_as_far_as_its_digits_go(given: Any, radix: Any, number: float) -> None:
    assert parse_int(given, radix) == number


@pytest.mark.parametrize(("given", "radix"), [("", None), ("0x", None), ("2", 2), ("1", 1), ("1", 37), ("soon", None)])
def test_a_text_without_digits_is_no_integer(given: Any, radix: Any) -> None:
    assert math.isnan(parse_int(given, radix))
