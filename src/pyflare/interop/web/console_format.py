"""How values look on the console: as Node's `util.inspect` prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pyflare.interop.buffers import ArrayBuffer, TypedArray
from pyflare.interop.containers import JsArray, JsMap, JsSet, number_text, to_text
from pyflare.interop.convert import JsDoubleProxy
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.json import stringify
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsObject, JsProxy, is_nullish

MAX_DEPTH = 2
MAX_ITEMS = 100
LINE_WIDTH = 72
_NAME = re.compile(r"[A-Za-z_$][\w$]*")


def format_values(values: tuple[Any, ...]) -> str:
    """One line of the console: text as it is, other values inspected; `%s` and the like in a first text are filled."""
    rest = list(values)
    parts: list[str] = []
    if rest and isinstance(rest[0], str) and len(rest) > 1 and "%" in rest[0]:
        template = rest.pop(0)
        parts.append(re.sub("%[sdifjoOc%]", lambda match: _fill(match[0], rest), template))
    parts += [value if isinstance(value, str) else inspect_value(value) for value in rest]
    return " ".join(parts)


def _fill(directive: str, rest: list[Any]) -> str:
    if directive == "%%":
        return "%"
    if not rest:
        return directive
    value = rest.pop(0)
    if directive == "%s":
        return value if isinstance(value, str) else inspect_value(value, depth=0)
    if directive == "%j":
        return str(stringify(value))
    if directive == "%c":
        return ""
    if directive in "%d%i%f":
        return _number(directive, value)
    return inspect_value(value)


def _number(directive: str, value: Any) -> str:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return "NaN"
    return str(int(number)) if directive == "%i" else number_text(number)


def inspect_value(value: Any, depth: int = MAX_DEPTH, open_: tuple[int, ...] = ()) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or is_nullish(value) or isinstance(value, (bool, int, float)):
        return to_text(value)
    if id(value) in open_:
        return "[Circular *1]"
    inner = (*open_, id(value))
    if isinstance(value, (JsArray, list, tuple)):
        return "[Array]" if depth < 0 else _braces("[]", (inspect_value(i, depth - 1, inner) for i in value))
    if isinstance(value, JsDoubleProxy):
        return inspect_value(value.unwrap(), depth, inner)
    if isinstance(value, (JsObject, dict)):
        properties = value if isinstance(value, dict) else value.js_properties()
        return "[Object]" if depth < 0 else _braces("{}", _pairs(properties, depth, inner))
    if isinstance(value, JsException):
        return str(value.stack or value)
    if isinstance(value, JsProxy):
        return _rarer(value, depth, inner)
    return repr(value)


def _rarer(value: Any, depth: int, inner: tuple[int, ...]) -> str:
    name = type(value).js_name
    if isinstance(value, JsDate):
        return value.toISOString()
    if isinstance(value, JsMap):
        pairs = [
            f"{inspect_value(k, depth - 1, inner)} => {inspect_value(v, depth - 1, inner)}" for k, v in value.items()
        ]
        return f"Map({len(value)}) " + _braces("{}", pairs)
    if isinstance(value, JsSet):
        return f"Set({len(value)}) " + _braces("{}", [inspect_value(item, depth - 1, inner) for item in value])
    if isinstance(value, TypedArray):
        return f"{name}({len(value)}) " + _braces("[]", [to_text(item) for item in value])
    if isinstance(value, ArrayBuffer):
        data = value.to_bytes()
        content = " ".join(f"{byte:02x}" for byte in data[:50])
        return f"ArrayBuffer {{ [Uint8Contents]: <{content}>, byteLength: {len(data)} }}"
    if isinstance(value, JsPromise):
        return f"Promise {{ {inspect_value(value._value, depth - 1, inner) if value.settled else '<pending>'} }}"
    if callable(value):
        return f"[Function: {getattr(value, 'name', '') or '(anonymous)'}]"
    if isinstance(value, Iterable) and hasattr(value, "entries"):
        pairs = [f"{_quoted(to_text(k))} => {inspect_value(v, depth - 1, inner)}" for k, v in value]
        return f"{name}({len(pairs)}) " + _braces("{}", pairs)
    return f"{name} " + _braces("{}", _pairs(value.js_properties(), depth, inner))


def _pairs(properties: dict[Any, Any], depth: int, inner: tuple[int, ...]) -> list[str]:
    return [f"{_key(to_text(name))}: {inspect_value(item, depth - 1, inner)}" for name, item in properties.items()]


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    quote = next((mark for mark in "'\"`" if mark not in text), "'")
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return quote + (escaped.replace("'", "\\'") if quote == "'" else escaped) + quote


def _braces(marks: str, items: Iterable[str]) -> str:
    shown = list(items)
    if len(shown) > MAX_ITEMS:
        shown = [*shown[:MAX_ITEMS], f"... {len(shown) - MAX_ITEMS} more items"]
    if not shown:
        return marks
    left, right = marks[0], marks[1]
    if sum(len(item) + 2 for item in shown) <= LINE_WIDTH and not any("\n" in item for item in shown):
        return f"{left} {', '.join(shown)} {right}"
    lines = ",\n".join(shown).replace("\n", "\n  ")
    return f"{left}\n  {lines}\n{right}"
