"""What this layer has no class for: read through the `v8serialize` package, which is imported when it is first needed.

A regular expression comes back as a plain object with `source` and `flags`, a boxed primitive as its primitive.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from pyflare.interop.buffers import ArrayBuffer
from pyflare.interop.containers import JsArray, JsMap, JsSet, whole
from pyflare.interop.dates import EPOCH, JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsObject, jsnull
from pyflare.interop.v8.format import MAX_HOLES, VIEW_CLASSES, unreadable


def loads(data: bytes) -> Any:
    """The JavaScript value of `data`; `DataCloneError` when it cannot be read."""
    import v8serialize  # noqa: PLC0415  (hardly ever needed)
    from v8serialize.jstypes import JSErrorData  # noqa: PLC0415

    if data[0] != 0xFF:
        data = b"\xff\x0d" + data
    try:
        read = v8serialize.loads(data, nodejs=False, js_error_builder=JSErrorData.builder, default_timezone=dt.UTC)
        return _Translation().value(read)
    except Exception as fault:  # for broken data the package raises whatever it stumbled over
        raise unreadable() from fault


class _Translation:
    """From the classes of `v8serialize` to ours; keeps identity and cycles."""

    def __init__(self) -> None:
        from v8serialize import jstypes  # noqa: PLC0415

        self.types = jstypes
        self.seen: dict[int, Any] = {}

    def value(self, value: Any) -> Any:
        types = self.types
        if value is None:
            return jsnull
        if value is types.JSUndefined or value is types.JSHole:
            return None
        if isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return whole(value)
        if id(value) not in self.seen:
            self.object(value)
        return self.seen[id(value)]

    def remember(self, value: Any, made: Any) -> Any:
        self.seen[id(value)] = made
        return made

    def object(self, value: Any) -> None:
        types = self.types
        if isinstance(value, types.JSArray):
            if len(value.array) > MAX_HOLES:
                raise unreadable()
            made = self.remember(value, JsArray.make([]))
            made._items.extend(self.value(item) for item in value.array)
        elif isinstance(value, types.JSObject):
            made = self.remember(value, JsObject.make())
            made.__dict__.update((str(name), self.value(item)) for name, item in value.items())
        elif isinstance(value, types.JSMap):
            made = self.remember(value, JsMap.make())
            for key, item in value.items():
                made.set(self.value(key), self.value(item))
        elif isinstance(value, types.JSSet):
            made = self.remember(value, JsSet.make())
            for item in value:
                made.add(self.value(item))
        else:
            self.leaf(value)

    def leaf(self, value: Any) -> None:
        types = self.types
        if isinstance(value, dt.datetime):
            self.remember(value, JsDate.make((value - EPOCH) / dt.timedelta(milliseconds=1)))
        elif isinstance(value, types.JSErrorData):
            made = self.remember(value, JsException.make(value.message or "", str(value.name)))
            made.stack = value.stack or made.stack
            if value.cause is not None:
                made.cause = self.value(value.cause)
        elif isinstance(value, types.JSRegExp):
            flags = "".join(flag.name[0].lower() for flag in value.flags if flag.name)
            self.remember(value, JsObject.make({"source": value.source, "flags": flags}))
        elif isinstance(value, types.JSArrayBuffer):
            self.remember(value, ArrayBuffer.make(bytearray(value.data)))
        elif isinstance(value, (types.JSTypedArray, types.JSDataView)):
            self.view(value)
        else:
            raise unreadable()

    def view(self, value: Any) -> None:
        kind = VIEW_CLASSES[int(value.view_tag)]
        buffer = self.value(value.backing_buffer)
        length = value.byte_length // getattr(kind, "size", 1)
        self.remember(value, kind.make(buffer, value.byte_offset, length))
