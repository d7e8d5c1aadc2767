"""What V8 says of text that is not JSON; its own words, as the runtime gave them for these texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.interop.errors import JsException
from pyflare.interop.json import parse
from pyflare.interop.json_syntax import complaint


def placed(what: str, at: int) -> str:
    return f"{what} at position {at} (line 1 column {at + 1})"


@pytest.mark.cloudflare("workerd 1.20260426.1, through miniflare")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "Unexpected token 'h', \"hello\" is not valid JSON"),
        ("", "Unexpected end of JSON input"),
        ('{"a":', "Unexpected end of JSON input"),
        ("nul", "Unexpected end of JSON input"),
        ('"\\', "Unexpected end of JSON input"),
        ("nulx", "Unexpected token 'x', \"nulx\" is not valid JSON"),
        ("[1,]", "Unexpected token ']', \"[1,]\" is not valid JSON"),
        ("{'a':1}", placed("Expected property name or '}' in JSON", 1)),
        ('{"a":1,}', placed("Expected double-quoted property name in JSON", 7)),
        ('{"a" 1}', placed("Expected ':' after property name in JSON", 5)),
        ('{"a":1 "b":2}', placed("Expected ',' or '}' after property value in JSON", 7)),
        ("[1 2]", placed("Expected ',' or ']' after array element in JSON", 3)),
        ("[1", placed("Expected ',' or ']' after array element in JSON", 2)),
        ('"abc', placed("Unterminated string in JSON", 4)),
        ('"a\nb"', placed("Bad control character in string literal in JSON", 2)),
        ('"\\x"', placed("Bad escaped character in JSON", 2)),
        ('"\\u12g4"', placed("Bad Unicode escape in JSON", 5)),
        ("01", placed("Unexpected number in JSON", 1)),
        ('nul"', placed("Unexpected string in JSON", 3)),
        ("-a", placed("No number after minus sign in JSON", 1)),
        ("1.", placed("Unterminated fractional number in JSON", 2)),
        ("1e+", placed("Exponent part is missing a number in JSON", 3)),
        ('{"a":1}x', placed("Unexpected non-whitespace character after JSON", 7)),
        ('{\r\n"a":1\r\nx}', "Expected ',' or '}' after property value in JSON at position 10 (line 3 column 1)"),
    ],
)
def test_what_is_wrong_is_said_in_v8s_words(text: str, message: str) -> None:
    with pytest.raises(JsException) as caught:
        parse(text)
    assert str(caught.value) == f"SyntaxError: {message}"


@pytest.mark.cloudflare("workerd 1.20260426.1, through miniflare")
@pytest.mark.parametrize("text", ["NaN", "Infinity", "undefined", "[object Object]"])
def test_a_value_that_became_text_by_mistake_is_named_whole(text: str) -> None:
    assert complaint(text) == f'"{text}" is not valid JSON'


@pytest.mark.cloudflare("workerd 1.20260426.1, through miniflare")
@pytest.mark.parametrize(
    ("text", "excerpt"),
    [
        ("x" * 20, f'"{"x" * 20}"'),
        ("<!DOCTYPE html><html>", '"<!DOCTYPE "...'),
        ("[0,1,2,3,4,5,6,7,x,8,9,10,11]", '..."3,4,5,6,7,x,8,9,10,1"...'),
        ('{"aaaaaaaaaaaaaaaaaaaa":x}', '..."aaaaaaaa":x}"'),
    ],
)
def test_of_a_long_text_ten_characters_on_either_side_are_shown(text: str, excerpt: str) -> None:
    assert str(complaint(text)).partition(", ")[2] == f"{excerpt} is not valid JSON"


@pytest.mark.cloudflare("workerd 1.20260426.1, through miniflare")
def test_positions_count_code_units() -> None:
    assert complaint('{"😀":1,}') == placed("Expected double-quoted property name in JSON", 8)


def test_bytes_are_read_as_text() -> None:
    with pytest.raises(JsException, match="Unexpected token 'h', \"hello\" is not valid JSON"):
        parse(b"hello")


@given(st.recursive(st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.lists))
def test_nothing_is_wrong_with_json(value: object) -> None:
    assert complaint(json.dumps(value, indent=1)) is None


@given(st.text('{}[],:"\\u0 -.e\ntrufalsn', max_size=12))
def test_something_is_wrong_with_all_that_is_not(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        assert complaint(text) is not None
    else:
        assert complaint(text) is None


def test_an_integer_of_any_length_is_a_number() -> None:
    assert parse("1" + "0" * 5000) == float("inf")
