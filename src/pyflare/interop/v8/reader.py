"""From bytes to JavaScript values, in one pass; raises `Rare` for what `rare` must read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyflare.interop.buffers import ArrayBuffer, DataView
from pyflare.interop.containers import JsArray, JsMap, JsSet, number_text
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsNull, JsObject, jsnull
from pyflare.interop.v8.format import (
    DOUBLE,
    ERROR_NAMES,
    HEADERLESS_VERSION,
    MAX_HOLES,
    MAX_SAFE,
    NATIVE_ERROR,
    VIEW_CLASSES,
    Rare,
)


class Reader:
    """One call of `loads`."""

    __slots__ = ("at", "data", "objects", "version")

    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.version = data, 0, HEADERLESS_VERSION
        self.objects: list[Any] = []
        if data[0] == 0xFF:
            self.at = 1
            self.version = self.varint()

    def value(self) -> Any:
        tag = self.tag()
        read = _READERS.get(tag)
        if read is None:
            raise Rare
        return read(self)

    def tag(self) -> int:
        data, at = self.data, self.at
        while data[at] == 0:  # padding
            at += 1
        self.at = at + 1
        return data[at]

    def ended_by(self, tag: int) -> bool:
        """Whether the next tag is `tag`, which is then consumed."""
        at = self.at
        if self.tag() == tag:
            return True
        self.at = at
        return False

    def varint(self) -> int:
        data, at = self.data, self.at
        byte = data[at]
        at += 1
        number, shift = byte & 0x7F, 7
        while byte & 0x80:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
        self.at = at
        return number

    def bytes(self, size: int) -> bytes:
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise IndexError("the data ends too early")
        return self.data[start : self.at]

    def number(self) -> int | float:
        (value,) = DOUBLE.unpack_from(self.data, self.at)
        self.at += 8
        return int(value) if value.is_integer() and -MAX_SAFE <= value <= MAX_SAFE else value

    # --- primitives -----------------------------------------------------------------------------------------------

    def undefined(self) -> None:
        return None

    def null(self) -> JsNull:
        return jsnull

    def true(self) -> bool:
        return True

    def false(self) -> bool:
        return False

    def zigzag(self) -> int:
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def bigint(self) -> int:
        head = self.varint()
        number = int.from_bytes(self.bytes(head >> 1), "little")
        return -number if head & 1 else number

    def latin(self) -> str:
        return self.bytes(self.varint()).decode("latin-1")

    def wide(self) -> str:
        return self.bytes(self.varint()).decode("utf-16-le", "surrogatepass")

    def utf8(self) -> str:
        return self.bytes(self.varint()).decode()

    # --- objects --------------------------------------------------------------------------------------------------

    def begun(self, made: Any) -> Any:
        self.objects.append(made)
        return made

    def object(self) -> JsObject:
        made: JsObject = self.begun(JsObject.make())
        self.properties(made.__dict__, 0x7B)
        self.varint()
        return made

    def properties(self, into: dict[str, Any], end: int) -> None:
        value = self.value
        while not self.ended_by(end):
            name = value()
            into[name if type(name) is str else number_text(float(name))] = value()

    def array(self) -> JsArray:
        length = self.varint()
        made: JsArray = self.begun(JsArray.make([]))
        append, value = made._items.append, self.value
        for _ in range(length):
            append(value())
        self.properties({}, 0x24)  # what hangs on an array beside its items has no place here
        self.varint()
        self.varint()
        return made

    def sparse(self) -> JsArray:
        length = self.varint()
        if length > MAX_HOLES:
            raise ValueError("a sparse array is too long")
        made: JsArray = self.begun(JsArray.make([None] * length))
        while not self.ended_by(0x40):
            key, item = self.value(), self.value()
            if type(key) is int and key < length:
                made._items[key] = item
        self.varint()
        self.varint()
        return made

    def map(self) -> JsMap:
        made: JsMap = self.begun(JsMap.make())
        while not self.ended_by(0x3A):
            key = self.value()
            made.set(key, self.value())
        self.varint()
        return made

    def set(self) -> JsSet:
        made: JsSet = self.begun(JsSet.make())
        while not self.ended_by(0x2C):
            made.add(self.value())
        self.varint()
        return made

    def date(self) -> JsDate:
        (milliseconds,) = DOUBLE.unpack_from(self.data, self.at)
        self.at += 8
        made: JsDate = self.begun(JsDate.make(milliseconds))
        return made

    def buffer(self) -> Any:
        made: ArrayBuffer = self.begun(ArrayBuffer.make(self.bytes(self.varint())))
        return self.viewed(made)

    def reference(self) -> Any:
        found = self.objects[self.varint()]
        return self.viewed(found) if isinstance(found, ArrayBuffer) else found

    def viewed(self, buffer: ArrayBuffer) -> Any:
        """The view of `buffer` that may follow it."""
        if self.at >= len(self.data) or not self.ended_by(0x56):
            return buffer
        kind = VIEW_CLASSES[self.data[self.at]]
        self.at += 1
        offset, size = self.varint(), self.varint()
        if self.version >= 14 and self.varint():
            raise Rare  # follows the length of a resizable buffer
        return self.begun(kind.make(buffer, offset, size if kind is DataView else size // kind.size))

    def host(self) -> JsException:
        if self.varint() != NATIVE_ERROR:
            raise Rare
        number = len(self.objects)
        self.objects.append(None)
        known = self.varint()
        name = ERROR_NAMES[known] if known else self.value()
        made: JsException = JsException.make(self.value(), name)
        self.objects[number] = made
        for key, item in self.value().js_properties().items():
            setattr(made, key, item)
        return made


_READERS: dict[int, Callable[[Reader], Any]] = {
    ord(tag): read
    for tag, read in {
        "_": Reader.undefined, "-": Reader.undefined, "0": Reader.null, "T": Reader.true, "F": Reader.false,
        "I": Reader.zigzag, "U": Reader.varint, "N": Reader.number, "Z": Reader.bigint,
        '"': Reader.latin, "c": Reader.wide, "S": Reader.utf8,
        "o": Reader.object, "A": Reader.array, "a": Reader.sparse, ";": Reader.map, "'": Reader.set,
        "D": Reader.date, "B": Reader.buffer, "^": Reader.reference, "\\": Reader.host,
    }.items()
}  # fmt: skip
