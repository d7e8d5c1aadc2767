"""From JavaScript values to bytes, in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyflare.interop.buffers import ArrayBuffer, BufferView
from pyflare.interop.clone import refuse
from pyflare.interop.containers import JsArray, JsMap, JsSet
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsNull, JsObject
from pyflare.interop.v8.format import (
    DOUBLE,
    ERROR_NAMES,
    HEADER,
    MAX_SAFE,
    NATIVE_ERROR,
    SMALL_MAX,
    SMALL_MIN,
    VIEW_TAGS,
)


class Writer:
    """One call of `dumps`. Objects are numbered in the order in which they begin; a second meeting of one is written as
    a reference to its number."""

    __slots__ = ("kept", "out", "seen")

    def __init__(self) -> None:
        self.out = bytearray(HEADER)
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []  # objects made on the way: their `id` must stay theirs

    def write(self, value: Any) -> None:
        write = _WRITERS.get(type(value))
        if write is None:
            write = next((write for kind, write in _BY_BASE if isinstance(value, kind)), None)
            if write is None:
                refuse(value)
                return
        write(self, value)

    def varint(self, number: int) -> None:
        out = self.out
        while number > 0x7F:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        out.append(number)

    def met(self, value: Any) -> bool:
        """Whether `value` was begun before: then it is a reference now, else it has got its number."""
        seen = self.seen
        number = seen.get(id(value))
        if number is None:
            seen[id(value)] = len(seen)
            return False
        self.out += b"^"
        self.varint(number)
        return True

    # --- primitives -----------------------------------------------------------------------------------------------

    def undefined(self, _value: None) -> None:
        self.out += b"_"

    def null(self, _value: JsNull) -> None:
        self.out += b"0"

    def boolean(self, value: bool) -> None:
        self.out += b"T" if value else b"F"

    def integer(self, value: int) -> None:
        if SMALL_MIN <= value <= SMALL_MAX:
            self.out += b"I"
            self.varint((value << 1) ^ (value >> 63))
        elif -MAX_SAFE < value < MAX_SAFE:
            self.out += b"N"
            self.out += DOUBLE.pack(value)
        else:
            # Python integers from there on are BigInt for JavaScript, as Pyodide converts them.
            size = (value.bit_length() + 63) // 64 * 8
            self.out += b"Z"
            self.varint(size << 1 | (value < 0))
            self.out += abs(value).to_bytes(size, "little")

    def float(self, value: float) -> None:
        if value.is_integer() and SMALL_MIN <= value <= SMALL_MAX and (value or math.copysign(1.0, value) > 0):
            self.integer(int(value))
            return
        self.out += b"N"
        self.out += DOUBLE.pack(value)

    def string(self, value: str) -> None:
        out = self.out
        if value.isascii():
            data = value.encode("ascii")
        else:
            try:
                data = value.encode("latin-1")
            except UnicodeEncodeError:
                self.wide(value)
                return
        out.append(0x22)
        if len(data) < 0x80:
            out.append(len(data))
        else:
            self.varint(len(data))
        out += data

    def wide(self, value: str) -> None:
        data = value.encode("utf-16-le", "surrogatepass")
        length = _varint(len(data))
        if (len(self.out) + 1 + len(length)) % 2:
            self.out.append(0)  # V8 wants the text at an even offset
        self.out += b"c" + length + data

    # --- objects --------------------------------------------------------------------------------------------------

    def object(self, value: JsObject) -> None:
        if not self.met(value):
            self.out += b"o"
            count = self.properties(value.js_properties())
            self.out += b"{"
            self.varint(count)

    def properties(self, properties: dict[str, Any]) -> int:
        for name, item in properties.items():
            if name and name[0] in "0123456789" and _is_index(name):
                self.integer(int(name))
            else:
                self.string(name)
            self.write(item)
        return len(properties)

    def array(self, value: JsArray) -> None:
        if not self.met(value):
            length = len(value._items)
            self.out += b"A"
            self.varint(length)
            for item in value._items:
                self.write(item)
            self.out += b"$\0"
            self.varint(length)

    def map(self, value: JsMap) -> None:
        if not self.met(value):
            self.out += b";"
            for key, item in value.items():
                self.write(key)
                self.write(item)
            self.out += b":"
            self.varint(2 * len(value))

    def set(self, value: JsSet) -> None:
        if not self.met(value):
            self.out += b"'"
            for item in value:
                self.write(item)
            self.out += b","
            self.varint(len(value))

    def date(self, value: JsDate) -> None:
        if not self.met(value):
            self.out += b"D"
            self.out += DOUBLE.pack(value._ms)

    def buffer(self, value: ArrayBuffer) -> None:
        if not self.met(value):
            data = value.to_bytes()
            self.out += b"B"
            self.varint(len(data))
            self.out += data

    def view(self, value: BufferView) -> None:
        if id(value) not in self.seen:
            self.buffer(value.buffer)  # the buffer, or a reference to it, stands before its view
        if not self.met(value):
            self.out += bytes((0x56, VIEW_TAGS[type(value)]))
            self.varint(value.byteOffset)
            self.varint(value.byteLength)
            self.varint(0)  # flags: of fixed length, in a buffer of fixed length

    def error(self, value: JsException) -> None:
        if self.met(value):
            return
        self.out += b"\\"
        self.varint(NATIVE_ERROR)
        known = ERROR_NAMES.index(value.name) if value.name in ERROR_NAMES else 0
        self.varint(known)
        if not known:
            self.write(value.name)
        self.write(value.message)
        rest: JsObject = JsObject.make({"stack": value.stack, **value.js_properties()})
        self.kept.append(rest)
        self.write(rest)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _is_index(name: str) -> bool:
    """Whether a property's name is an array index, which V8 keeps as a number."""
    return name.isascii() and name.isdigit() and len(name) <= 9 and (len(name) == 1 or name[0] != "0")


_WRITERS: dict[type, Callable[[Writer, Any], None]] = {
    str: Writer.string,
    int: Writer.integer,
    float: Writer.float,
    bool: Writer.boolean,
    type(None): Writer.undefined,
    JsNull: Writer.null,
    JsObject: Writer.object,
    JsArray: Writer.array,
    JsMap: Writer.map,
    JsSet: Writer.set,
    JsDate: Writer.date,
    ArrayBuffer: Writer.buffer,
    JsException: Writer.error,
    **dict.fromkeys(VIEW_TAGS, Writer.view),
}
# Subclasses: IntEnum and the like, classes that the layer derives from Object.
_BY_BASE: tuple[tuple[type, Callable[[Writer, Any], None]], ...] = (
    (str, Writer.string),
    (int, Writer.integer),
    (float, Writer.float),
    (JsException, Writer.error),
    (JsObject, Writer.object),
    (JsArray, Writer.array),
    (JsMap, Writer.map),
    (JsSet, Writer.set),
    (JsDate, Writer.date),
)
