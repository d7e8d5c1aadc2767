"""`js.JSON`: what JavaScript makes of values as text, which is not what Python's `json` makes of them.

undefined and functions disappear from objects, NaN is null, a Date is its ISO text, a typed array is an object of its
indices, a Map and a Set are empty objects. The common values are written and read by `orjson`, which gives the same
text and the same values for them; all others go the long way.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from pyflare.interop.buffers import TypedArray
from pyflare.interop.containers import MAX_SAFE_INTEGER, JsArray, index_rank, to_text, whole
from pyflare.interop.convert import JsDoubleProxy
from pyflare.interop.errors import JsException, error, type_error
from pyflare.interop.json_syntax import complaint
from pyflare.interop.proxy import JsFunction, JsNull, JsObject, JsProxy, is_nullish, jsnull, new_object

MAX_INDENT = 10  # characters; ECMA-262


def stringify(value: Any, replacer: Any = None, indent: Any = None) -> str | None:
    """JSON text; None when `value` is undefined or a function."""
    if replacer is None and not indent and (quick := _quick(value)) is not None:
        return quick.decode()
    gap = " " * min(int(indent), MAX_INDENT) if isinstance(indent, (int, float)) else to_text(indent or "")[:MAX_INDENT]
    return _Writer(replacer, gap).text("", value, "\n")


def dump(value: Any) -> bytes | None:
    """What `stringify` gives, in UTF-8."""
    if (quick := _quick(value)) is not None:
        return quick
    text = stringify(value)
    return None if text is None else text.encode()


def parse(text: Any, reviver: Any = None) -> Any:
    """The value of JSON text (a string, or its UTF-8); SyntaxError when it is none."""
    given = text if isinstance(text, (str, bytes)) else to_text(text)
    try:
        plain = orjson.loads(given)
    except ValueError:
        plain = _strictly(given if isinstance(given, str) else given.decode(errors="replace"))
    if _INDEX.search(given) if isinstance(given, str) else _INDEX_BYTES.search(given):
        plain = _ordered(plain)
    value = from_plain(plain)
    return _revive("", value, reviver) if callable(reviver) else value


# A key that is an index comes first in an object of JavaScript, whenever it was written.
_INDEX = re.compile(r'"(?:0|[1-9][0-9]{0,9})"\s*:')
_INDEX_BYTES = re.compile(_INDEX.pattern.encode())


def _ordered(plain: Any) -> Any:
    """What a parser gave, with the keys of its objects in the order in which JavaScript lists them."""
    if isinstance(plain, list):
        return [_ordered(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    return {key: _ordered(plain[key]) for key in sorted(plain, key=index_rank)}


def from_plain(value: Any) -> Any:
    """JavaScript's value of what `json.loads` gave: null, whole floats and large integers as JavaScript has them."""
    kind = type(value)
    if kind is str or kind is bool:
        return value
    if kind is int:
        return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else whole(float(value))
    if kind is dict:
        return new_object({key: item if type(item) is str else from_plain(item) for key, item in value.items()})
    if kind is list:
        return JsArray.make([item if type(item) is str else from_plain(item) for item in value])
    return jsnull if value is None else whole(value)


def _strictly(text: str) -> Any:
    """What `orjson` refuses and JavaScript may not: lone surrogates, numbers beyond a float, depth."""
    message = complaint(text)
    if message is not None:
        raise error(message, "SyntaxError") from None
    try:
        return _TOLERANT.decode(text)
    except RecursionError as raised:
        raise error(f"{raised} in JSON", "SyntaxError") from None


_TOLERANT = json.JSONDecoder(parse_int=float)


def _revive(key: str, value: Any, reviver: Any) -> Any:
    if isinstance(value, JsObject):
        for name, item in list(value.js_properties().items()):
            if (revived := _revive(name, item, reviver)) is None:
                del value.__dict__[name]
            else:
                value.__dict__[name] = revived
    elif isinstance(value, JsArray):
        value._items[:] = [_revive(str(at), item, reviver) for at, item in enumerate(value._items)]
    return reviver(key, value)


# --- the common values --------------------------------------------------------------------------------------------

_COMMON = frozenset((str, int, bool, JsNull, JsObject, JsArray))


def _quick(value: Any) -> bytes | None:
    """JSON of objects and arrays of text, small integers, booleans and null; None for all others, and for circles."""
    if type(value) not in _COMMON:
        return None
    try:
        return orjson.dumps(value, _inside, orjson.OPT_STRICT_INTEGER)
    except TypeError:
        return None


def _inside(value: Any) -> Any:
    """What `orjson` is to write for a value of ours; TypeError when JavaScript would write something else."""
    if value is jsnull:
        return None
    if type(value) is JsArray:
        inside = items = value._items
    else:
        inside = value.js_properties()
        items = inside.values()
    if not _COMMON.issuperset(map(type, items)):
        raise TypeError
    return inside


# --- all values ---------------------------------------------------------------------------------------------------

_SURROGATE = re.compile("[\ud800-\udfff]")


class _Writer:
    """One call of `stringify`: SerializeJSONProperty of ECMA-262. None stands for what is left out."""

    def __init__(self, replacer: Any, gap: str) -> None:
        self.replacer = replacer if callable(replacer) else None
        self.names = {to_text(name) for name in replacer} if isinstance(replacer, JsArray) else None
        self.gap = gap
        self.open: set[int] = set()

    def text(self, key: str, value: Any, margin: str) -> str | None:
        if isinstance(value, JsProxy) and value.typeof != "function":
            to_json = getattr(value, "toJSON", None)
            value = to_json(key) if callable(to_json) else value
        if self.replacer is not None:
            value = self.replacer(key, value)
        if isinstance(value, str):
            return _quoted(value)
        if isinstance(value, (bool, float)) or value is jsnull:
            return "null" if isinstance(value, float) and not math.isfinite(value) else to_text(value)
        if isinstance(value, int):
            return _integer(value)
        if not isinstance(value, JsProxy) or isinstance(value, JsFunction) or value.typeof == "function":
            return None
        if id(value) in self.open:
            raise type_error("Converting circular structure to JSON")
        self.open.add(id(value))
        text = self.array(value, margin) if isinstance(value, JsArray) else self.object(_properties(value), margin)
        self.open.discard(id(value))
        return text

    def array(self, value: JsArray, margin: str) -> str:
        inner = margin + self.gap
        items = [self.text(str(at), item, inner) or "null" for at, item in enumerate(value._items)]
        return self.enclosed("[", items, "]", margin)

    def object(self, properties: Mapping[str, Any], margin: str) -> str:
        inner, colon = margin + self.gap, ": " if self.gap else ":"
        pairs = [
            (name, self.text(name, item, inner))
            for name, item in properties.items()
            if self.names is None or name in self.names
        ]
        return self.enclosed("{", [f"{_quoted(name)}{colon}{text}" for name, text in pairs if text], "}", margin)

    def enclosed(self, start: str, parts: Iterable[str], end: str, margin: str) -> str:
        inner = margin + self.gap if self.gap else ""
        body = f",{inner}".join(parts)
        return f"{start}{inner}{body}{margin if self.gap else ''}{end}" if body else start + end


def _properties(value: JsProxy) -> Mapping[str, Any]:
    if isinstance(value, TypedArray):
        return {str(at): item for at, item in enumerate(value)}
    return {} if isinstance(value, (JsException, JsDoubleProxy)) else value.js_properties()


def _integer(value: int) -> str:
    if abs(value) > MAX_SAFE_INTEGER:
        raise type_error("Do not know how to serialize a BigInt")
    return str(value)


def _quoted(text: str) -> str:
    """A string; a lone surrogate is its escape."""
    try:
        return orjson.dumps(text).decode()
    except TypeError:
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(paired, ensure_ascii=False))


class Json(JsProxy):
    """The object `js.JSON`."""

    js_name = "JSON"

    def stringify(self, value: Any = None, replacer: Any = None, indent: Any = None, **kwargs: Any) -> str | None:
        return stringify(value, replacer, None if is_nullish(indent) else indent)

    def parse(self, text: Any, reviver: Any = None) -> Any:
        return parse(text, reviver)
