"""What the runtime makes of the arguments of a binding's methods."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pyflare.interop.arguments import to_int32, to_number
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
