"""Structured clone: a deep copy of a JavaScript value, as `structuredClone` and storage make it.

`clone(value)` takes what can be stored. `transfer(value, other)` is the copy that crosses RPC: `other(value)` is asked
for everything that cannot be stored (functions, streams, requests) and raises for what may not cross.
Numbers are JavaScript's: a whole float comes out as int. Raises `DataCloneError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyflare.interop.buffers import ArrayBuffer, BufferView, DataView, TypedArray
from pyflare.interop.containers import MAX_SAFE_INTEGER, JsArray, JsMap, JsSet
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException, dom_exception
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsNull, JsObject, JsProxy, is_web

Other = Callable[[Any], Any]


def refuse(value: Any) -> Any:
    """A value that cannot be cloned."""
    raise dom_exception(_refusal(value), "DataCloneError")


def _refusal(value: Any) -> str:
    kind = type(value)
    if isinstance(value, JsPromise):
        return "#<Promise> could not be cloned."
    if isinstance(value, JsProxy) and is_web(kind):
        return (
            f"{kind.js_name} can only be serialized for RPC."
            if kind.js_name in ("ReadableStream", "WritableStream")
            else f'Could not serialize object of type "{kind.js_name}". This type does not support serialization.'
        )
    return f"{_describe(value)} could not be cloned."


def _describe(value: Any) -> str:
    # A proxy of a Python object has `__call__` whatever it stands for: `typeof` tells.
    is_function = getattr(value, "typeof", "function" if callable(value) else "object") == "function"
    return f"function {getattr(value, '__name__', '')}() {{ ... }}" if is_function else "[object Object]"


def clone(value: Any) -> Any:
    """A copy that shares nothing with `value`."""
    return _Clone(refuse).copy(value)


def transfer(value: Any, other: Other) -> Any:
    return _Clone(other).copy(value)


def number(value: int | float) -> int | float:
    """A number after a trip through JavaScript."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_SAFE_INTEGER:
        return int(value) if value or math.copysign(1.0, value) > 0 else 0
    return value


class _Clone:
    def __init__(self, other: Other) -> None:
        self.other = other
        self.seen: dict[int, Any] = {}

    def copy(self, value: Any) -> Any:
        kind = type(value)
        if kind is str or value is None or kind is bool or kind is int or kind is JsNull:
            return value
        if kind is float:
            return number(value)
        done = self.seen.get(id(value))
        if done is not None:
            return done
        if kind is JsObject:
            return self.object(value)
        if kind is JsArray:
            made: JsArray = JsArray.make([])
            self.seen[id(value)] = made
            copy = self.copy
            made._items.extend([copy(item) for item in value._items])
            return made
        return self.rarer(value)

    def object(self, value: JsObject) -> JsObject:
        made: JsObject = JsObject.make()
        self.seen[id(value)] = made
        properties, copy = made.__dict__, self.copy
        for name, item in value.js_properties().items():
            properties[name] = copy(item)
        return made

    def rarer(self, value: Any) -> Any:
        if isinstance(value, (JsMap, JsSet)):
            return self.collection(value)
        if isinstance(value, JsDate):
            return JsDate.make(value._ms)
        if isinstance(value, ArrayBuffer):
            return self.remember(value, ArrayBuffer.make(bytearray(value._data)))
        if isinstance(value, BufferView):
            return self.view(value)
        if isinstance(value, JsException):
            return self.error(value)
        if isinstance(value, (str, bool, int, float)):
            return value
        return self.remember(value, self.other(value))

    def collection(self, value: JsMap | JsSet) -> Any:
        if isinstance(value, JsMap):
            table: JsMap = self.remember(value, JsMap.make())
            for key, item in value.items():
                table.set(self.copy(key), self.copy(item))
            return table
        members: JsSet = self.remember(value, JsSet.make())
        for item in value:
            members.add(self.copy(item))
        return members

    def error(self, value: JsException) -> JsException:
        made: JsException = self.remember(value, JsException.make(value.message, value.name, value._constructor))
        made.stack = value.stack
        hidden = {name: value.__dict__[name] for name in ("cause", "errors") if name in value.__dict__}
        for name, item in (hidden | value.js_properties()).items():
            setattr(made, name, self.copy(item))
        return made

    def view(self, value: BufferView) -> Any:
        # As on Cloudflare: a view takes the whole of its buffer along.
        buffer = self.copy(value.buffer)
        length = value.byteLength if isinstance(value, DataView) else value.byteLength // value.size
        assert isinstance(value, (TypedArray, DataView))
        return self.remember(value, type(value).make(buffer, value.byteOffset, length))

    def remember(self, value: Any, made: Any) -> Any:
        self.seen[id(value)] = made
        return made
