"""JavaScript values as bytes: the serialization format of V8, which Durable Object storage and queues keep.

What this layer has a class for is written and read here, in one pass; what it has none for (regular expressions, boxed
primitives, errors as older runtimes wrote them, resizable buffers) is read through the `v8serialize` package. Version
15 is written, 13 and later are read, and so is data without a header, as the first Durable Objects left it. Errors are
host objects with workerd's tag for native errors (workerd `jsg/ser.c++`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from pyflare.interop import buffers, v8_rare
from pyflare.interop.buffers import ArrayBuffer, BufferView, DataView
from pyflare.interop.clone import refuse
from pyflare.interop.containers import JsArray, JsMap, JsSet, number_text
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsNull, JsObject, jsnull

VERSION = 15
HEADER = bytes((0xFF, VERSION))
HEADERLESS_VERSION = 13

MAX_SAFE = 2**53 - 1
SMALL_MIN, SMALL_MAX = -(2**30), 2**30 - 1  # what V8 keeps as a small integer, and writes as one

NATIVE_ERROR = 10  # workerd's tag of an Error among host objects
ERROR_NAMES = (
    "", "Error", "TypeError", "RangeError", "ReferenceError", "SyntaxError", "CompileError", "LinkError",
    "RuntimeError", "SuspendError", "EvalError", "URIError", "AggregateError", "SuppressedError",
)  # fmt: skip

VIEW_TAGS: dict[type, int] = {
    buffers.Int8Array: ord("b"),
    buffers.Uint8Array: ord("B"),
    buffers.Uint8ClampedArray: ord("C"),
    buffers.Int16Array: ord("w"),
    buffers.Uint16Array: ord("W"),
    buffers.Int32Array: ord("d"),
    buffers.Uint32Array: ord("D"),
    buffers.Float32Array: ord("f"),
    buffers.Float64Array: ord("F"),
    buffers.BigInt64Array: ord("q"),
    buffers.BigUint64Array: ord("Q"),
    DataView: ord("?"),
}
VIEW_CLASSES: dict[int, Any] = {tag: kind for kind, tag in VIEW_TAGS.items()}

_double = struct.Struct("<d")


def dumps(value: Any) -> bytes:
    """The bytes of a JavaScript value. Raises `DataCloneError` for what cannot be stored."""
    writer = _Writer()
    writer.write(value)
    return bytes(writer.out)


def loads(data: bytes) -> Any:
    """The JavaScript value of bytes that V8 or `dumps` wrote; `DataCloneError` for bytes that are neither."""
    try:
        return _Reader(data).value()
    except v8_rare.Rare:
        return v8_rare.loads(data)
    except (IndexError, KeyError, ValueError, TypeError, OverflowError, struct.error) as fault:
        raise v8_rare.unreadable() from fault


class _Writer:
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
            self.out += _double.pack(value)
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
        self.out += _double.pack(value)

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
            self.out += _double.pack(value._ms)

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


_WRITERS: dict[type, Callable[[_Writer, Any], None]] = {
    str: _Writer.string,
    int: _Writer.integer,
    float: _Writer.float,
    bool: _Writer.boolean,
    type(None): _Writer.undefined,
    JsNull: _Writer.null,
    JsObject: _Writer.object,
    JsArray: _Writer.array,
    JsMap: _Writer.map,
    JsSet: _Writer.set,
    JsDate: _Writer.date,
    ArrayBuffer: _Writer.buffer,
    JsException: _Writer.error,
    **dict.fromkeys(VIEW_TAGS, _Writer.view),
}
# Subclasses: IntEnum and the like, classes that the layer derives from Object.
_BY_BASE: tuple[tuple[type, Callable[[_Writer, Any], None]], ...] = (
    (str, _Writer.string),
    (int, _Writer.integer),
    (float, _Writer.float),
    (JsException, _Writer.error),
    (JsObject, _Writer.object),
    (JsArray, _Writer.array),
    (JsMap, _Writer.map),
    (JsSet, _Writer.set),
    (JsDate, _Writer.date),
)


class _Reader:
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
            raise v8_rare.Rare
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
        (value,) = _double.unpack_from(self.data, self.at)
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
        if length > v8_rare.MAX_HOLES:
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
        (milliseconds,) = _double.unpack_from(self.data, self.at)
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
            raise v8_rare.Rare  # follows the length of a resizable buffer
        return self.begun(kind.make(buffer, offset, size if kind is DataView else size // kind.size))

    def host(self) -> JsException:
        if self.varint() != NATIVE_ERROR:
            raise v8_rare.Rare
        number = len(self.objects)
        self.objects.append(None)
        known = self.varint()
        name = ERROR_NAMES[known] if known else self.value()
        made: JsException = JsException.make(self.value(), name)
        self.objects[number] = made
        for key, item in self.value().js_properties().items():
            setattr(made, key, item)
        return made


_READERS: dict[int, Callable[[_Reader], Any]] = {
    ord(tag): read
    for tag, read in {
        "_": _Reader.undefined, "-": _Reader.undefined, "0": _Reader.null, "T": _Reader.true, "F": _Reader.false,
        "I": _Reader.zigzag, "U": _Reader.varint, "N": _Reader.number, "Z": _Reader.bigint,
        '"': _Reader.latin, "c": _Reader.wide, "S": _Reader.utf8,
        "o": _Reader.object, "A": _Reader.array, "a": _Reader.sparse, ";": _Reader.map, "'": _Reader.set,
        "D": _Reader.date, "B": _Reader.buffer, "^": _Reader.reference, "\\": _Reader.host,
    }.items()
}  # fmt: skip
