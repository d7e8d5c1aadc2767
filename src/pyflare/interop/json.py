"""`js.JSON`: what JavaScript makes of values as text, which is not what Python's `json` makes of them.

undefined and functions disappear from objects, NaN is null, a Date is its ISO text, a typed array is an object of its
indices, a Map and a Set are empty objects.
"""

from __future__ import annotations

import json
import math
from typing import Any

from pyflare.interop.buffers import TypedArray
from pyflare.interop.clone import MAX_SAFE_INTEGER
from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.convert import JsDoubleProxy
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException, error, type_error
from pyflare.interop.proxy import JsFunction, JsObject, JsProxy, is_nullish, jsnull, new_object

ABSENT = object()
SIMPLE_DEPTH = 20  # deeper values, and circles, take the long way


def stringify(value: Any, replacer: Any = None, indent: Any = None) -> str | None:
    """JSON text; None when `value` is undefined or a function."""
    plain = _simple(value) if replacer is None else ABSENT
    if plain is ABSENT:
        plain = _Plain(replacer).convert("", value)
    if plain is ABSENT:
        return None
    if not isinstance(indent, (int, str)) or not indent:
        return _COMPACT.encode(plain)
    return json.dumps(plain, ensure_ascii=False, indent=indent, separators=(",", ": "), allow_nan=False)


def parse(text: Any, reviver: Any = None) -> Any:
    """The value of JSON text; SyntaxError when it is none."""
    try:
        plain = _STRICT.decode(to_text(text))
    except (ValueError, RecursionError) as raised:
        raise error(_fault(str(raised), text), "SyntaxError") from None
    value = from_plain(plain)
    return _revive("", value, reviver) if callable(reviver) else value


def from_plain(value: Any) -> Any:
    """JavaScript's value of what `json.loads` gave: null, whole floats and large integers as JavaScript has them."""
    kind = type(value)
    if kind is str or kind is bool:
        return value
    if kind is dict:
        return new_object({key: from_plain(item) for key, item in value.items()})
    if kind is list:
        return JsArray.make([from_plain(item) for item in value])
    if value is None:
        return jsnull
    if kind is int:
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else _whole(float(value))
    return _whole(value)


def _whole(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER else value


def _no_constant(name: str) -> Any:
    raise ValueError(f"Unexpected token {name[0]}")


# `json.dumps` and `json.loads` make one of these at each call with options.
_COMPACT = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"), allow_nan=False)
_STRICT = json.JSONDecoder(parse_constant=_no_constant)


def _fault(message: str, text: Any) -> str:
    if not str(text):
        return "Unexpected end of JSON input"
    return f"{message} in JSON"


def _revive(key: str, value: Any, reviver: Any) -> Any:
    if isinstance(value, JsObject):
        for name, item in list(value.js_properties().items()):
            value.__dict__[name] = _revive(name, item, reviver)
    elif isinstance(value, JsArray):
        value._items[:] = [_revive(str(at), item, reviver) for at, item in enumerate(value._items)]
    return reviver(key, value)


def _simple(value: Any, depth: int = 0) -> Any:
    """What `json.dumps` takes, for the common values: objects and arrays of text, small integers, booleans and null.
    ABSENT for all others, which `_Plain` knows."""
    kind = type(value)
    if kind is str or kind is bool:
        return value
    if kind is int:
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else ABSENT
    if value is jsnull:
        return None
    if depth == SIMPLE_DEPTH:
        return ABSENT
    if kind is JsObject:
        plain = {}
        for name, item in value.js_properties().items():
            made = item if type(item) is str else _simple(item, depth + 1)
            if made is ABSENT:
                return ABSENT
            plain[name] = made
        return ABSENT if "toJSON" in plain else plain
    if kind is JsArray:
        items = [item if type(item) is str else _simple(item, depth + 1) for item in value._items]
        return ABSENT if ABSENT in items else items
    return ABSENT


class _Plain:
    """One call of `stringify`: JavaScript values to what `json.dumps` takes."""

    def __init__(self, replacer: Any) -> None:
        self.replacer = replacer if callable(replacer) else None
        self.names = set(replacer) if isinstance(replacer, JsArray) else None
        self.open: set[int] = set()

    def convert(self, key: str, value: Any) -> Any:
        if self.replacer is not None:
            value = self.replacer(key, value)
        kind = type(value)
        if kind is str or kind is bool:
            return value
        if value is None:
            return ABSENT
        if value is jsnull:
            return None
        if isinstance(value, (int, float)):
            return self.number(value)
        if isinstance(value, JsDate):
            return value.toJSON()
        if not isinstance(value, JsProxy) or isinstance(value, JsFunction) or value.typeof == "function":
            return ABSENT
        if id(value) in self.open:
            raise type_error("Converting circular structure to JSON")
        self.open.add(id(value))
        plain = self.container(value)
        self.open.discard(id(value))
        return plain

    def number(self, value: int | float) -> Any:
        if isinstance(value, int):
            if abs(value) > MAX_SAFE_INTEGER:
                raise type_error("Do not know how to serialize a BigInt")
            return value
        return _whole(value) if math.isfinite(value) else None

    def container(self, value: JsProxy) -> Any:
        to_json = getattr(value, "toJSON", None)
        if callable(to_json):
            return self.convert("", to_json())
        if isinstance(value, JsArray):
            items = [self.convert(str(at), item) for at, item in enumerate(value._items)]
            return [None if item is ABSENT else item for item in items]
        if isinstance(value, TypedArray):
            return {str(at): item for at, item in enumerate(value)}
        if isinstance(value, (JsException, JsDoubleProxy)):
            return {}
        pairs = ((name, self.convert(name, item)) for name, item in value.js_properties().items())
        return {name: item for name, item in pairs if item is not ABSENT and (self.names is None or name in self.names)}


class Json(JsProxy):
    """The object `js.JSON`."""

    js_name = "JSON"

    def stringify(self, value: Any = None, replacer: Any = None, indent: Any = None, **kwargs: Any) -> str | None:
        return stringify(value, replacer, None if is_nullish(indent) else indent)

    def parse(self, text: Any, reviver: Any = None) -> Any:
        return parse(text, reviver)
