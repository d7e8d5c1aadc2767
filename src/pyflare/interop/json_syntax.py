"""What V8 says of a text that is not JSON: the first thing that is wrong with it, and where.

The rules and words are those of V8's `JsonParser`. Positions count UTF-16 code units from 0; lines and columns from 1.
"""

from __future__ import annotations

import re

CONTEXT = 10  # characters shown on either side of an unexpected one in a longer text
# What `String(value)` gives of values that are often parsed by mistake: the one wrong character would not help.
NO_VALUES = frozenset(("NaN", "Infinity", "undefined", "[object Object]"))

_SPACE = re.compile(r"[ \t\n\r]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_HEX = re.compile(r"[0-9a-fA-F]{0,4}")
_DIGITS = re.compile(r"[0-9]*")
_LINE = re.compile(r"\r\n|\r|\n")
_CLOSES = {"[": "]", "{": "}"}
_LITERALS = {"t": "true", "f": "false", "n": "null"}


class _Fault(Exception):
    """`what` None: the character at `at` is not expected there."""

    def __init__(self, at: int, what: str | None = None) -> None:
        self.at, self.what = at, what


def complaint(text: str) -> str | None:
    """V8's message; None when the text is JSON."""
    units = _code_units(text)
    try:
        _check(units)
    except _Fault as fault:
        message = _unexpected(units, fault.at) if fault.what is None else _placed(fault.what, units, fault.at)
        return message.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return None


def _code_units(text: str) -> str:
    """One character for each UTF-16 code unit."""
    if text.isascii() or max(text) < "\U00010000":
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(map(chr, memoryview(data).cast("H")))


# --- messages -----------------------------------------------------------------------------------------------------


def _placed(what: str, text: str, at: int) -> str:
    breaks = [found.end() for found in _LINE.finditer(text, 0, at)]
    column = at - (breaks[-1] if breaks else 0) + 1
    return f"{what} at position {at} (line {len(breaks) + 1} column {column})"


def _unexpected(text: str, at: int) -> str:
    character = text[at : at + 1]
    if not character:
        return "Unexpected end of JSON input"
    if character in "-0123456789":
        return _placed("Unexpected number in JSON", text, at)
    if character == '"':
        return _placed("Unexpected string in JSON", text, at)
    if text in NO_VALUES:
        return f'"{text}" is not valid JSON'
    excerpt = f'"{text}"'
    if len(text) > 2 * CONTEXT:
        before = "..." if at >= CONTEXT else ""
        after = "..." if at < CONTEXT or at < len(text) - CONTEXT else ""
        part = text[at - CONTEXT if before else 0 : at + CONTEXT if after else len(text)]
        excerpt = f'{before}"{part}"{after}'
    return f"Unexpected token '{character}', {excerpt} is not valid JSON"


# --- the grammar --------------------------------------------------------------------------------------------------


def _check(text: str) -> None:
    """Raises _Fault for what is wrong first."""
    opened: list[str] = []
    at = _value(text, _space(text, 0), opened)
    while opened:
        at = _space(text, at)
        at = _inside_array(text, at, opened) if opened[-1] == "[" else _inside_object(text, at, opened)
    at = _space(text, at)
    if at < len(text):
        raise _Fault(at, "Unexpected non-whitespace character after JSON")


def _value(text: str, at: int, opened: list[str]) -> int:
    """Behind the value that begins here; of an array or an object that holds something, behind its first value."""
    while (first := text[at : at + 1]) in _CLOSES:
        at = _space(text, at + 1)
        if text[at : at + 1] == _CLOSES[first]:
            return at + 1
        opened.append(first)
        if first == "{":
            at = _name(text, at, "Expected property name or '}' in JSON")
    if first == '"':
        return _string(text, at)
    if first and first in "-0123456789":
        return _number(text, at)
    literal = _LITERALS.get(first)
    if literal is None:
        raise _Fault(at)
    for position, character in enumerate(literal, at):
        if text[position : position + 1] != character:
            raise _Fault(position)
    return at + len(literal)


def _inside_array(text: str, at: int, opened: list[str]) -> int:
    following = text[at : at + 1]
    if following == ",":
        return _value(text, _space(text, at + 1), opened)
    if following != "]":
        raise _Fault(at, "Expected ',' or ']' after array element in JSON")
    opened.pop()
    return at + 1


def _inside_object(text: str, at: int, opened: list[str]) -> int:
    following = text[at : at + 1]
    if following == ",":
        at = _name(text, _space(text, at + 1), "Expected double-quoted property name in JSON")
        return _value(text, at, opened)
    if following != "}":
        raise _Fault(at, "Expected ',' or '}' after property value in JSON")
    opened.pop()
    return at + 1


def _name(text: str, at: int, expected: str) -> int:
    """Where the value behind a property's name begins."""
    if text[at : at + 1] != '"':
        raise _Fault(at, expected)
    at = _space(text, _string(text, at))
    if text[at : at + 1] != ":":
        raise _Fault(at, "Expected ':' after property name in JSON")
    return _space(text, at + 1)


def _space(text: str, at: int) -> int:
    return _end(_SPACE, text, at)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _string(text: str, at: int) -> int:
    at = _end(_PLAIN, text, at + 1)
    while text[at : at + 1] != '"':
        if at == len(text):
            raise _Fault(at, "Unterminated string in JSON")
        if text[at] != "\\":
            raise _Fault(at, "Bad control character in string literal in JSON")
        end = _end(_ESCAPE, text, at)
        if end == at:
            raise _bad_escape(text, at + 1)
        at = _end(_PLAIN, text, end)
    return at + 1


def _bad_escape(text: str, at: int) -> _Fault:
    """`at`: behind the backslash."""
    if at == len(text) or text[at] > "\xff":
        return _Fault(at)
    if text[at] != "u":
        return _Fault(at, "Bad escaped character in JSON")
    return _Fault(_end(_HEX, text, at + 1), "Bad Unicode escape in JSON")


def _number(text: str, at: int) -> int:
    if text[at] == "-":
        at += 1
        if _end(_DIGITS, text, at) == at:
            raise _Fault(at, "No number after minus sign in JSON")
    end = _end(_DIGITS, text, at)
    if text[at] == "0" and end > at + 1:
        raise _Fault(at + 1)
    if text[end : end + 1] == ".":
        end = _digits(text, end + 1, "Unterminated fractional number in JSON")
    if text[end : end + 1] in ("e", "E"):
        signed = end + 2 if text[end + 1 : end + 2] in ("+", "-") else end + 1
        end = _digits(text, signed, "Exponent part is missing a number in JSON")
    return end


def _digits(text: str, at: int, missing: str) -> int:
    end = _end(_DIGITS, text, at)
    if end == at:
        raise _Fault(at, missing)
    return end
