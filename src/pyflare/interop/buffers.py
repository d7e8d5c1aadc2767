"""ArrayBuffer, the typed arrays and DataView."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from pyflare.interop.errors import range_error, type_error
from pyflare.interop.proxy import JsProxy, is_nullish

Bytes = bytes | bytearray


class ArrayBuffer(JsProxy):
    """Bytes in memory. Made of `bytes` it is copied when it is first written to."""

    js_name: ClassVar[str] = "ArrayBuffer"

    def __init__(self, data: Bytes = b"") -> None:
        self._data = data

    @classmethod
    def construct(cls, length: int = 0, _options: Any = None) -> ArrayBuffer:
        return cls.make(bytearray(int(length)))

    @staticmethod
    def isView(value: Any) -> bool:
        return isinstance(value, BufferView)

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def byteLength(self) -> int:
        return len(self._data)

    def writable(self) -> bytearray:
        if isinstance(self._data, bytes):
            self._data = bytearray(self._data)
        return self._data

    def slice(self, start: int = 0, end: int | None = None) -> ArrayBuffer:
        return ArrayBuffer.make(bytes(self._data[start:end]))

    def to_bytes(self) -> bytes:
        return bytes(self._data)

    def to_memoryview(self) -> memoryview:
        return memoryview(bytearray(self._data))

    def to_string(self, encoding: str = "utf-8") -> str:
        return self._data.decode(encoding)

    def assign(self, source: Any) -> None:
        data = as_bytes(source)
        self.writable()[: len(data)] = data

    def assign_to(self, target: Any) -> None:
        memoryview(target).cast("B")[:] = self._data

    def to_file(self, file: Any) -> None:
        file.write(self._data)


class BufferView(JsProxy):
    """What a typed array and a DataView share: a part of an ArrayBuffer."""

    _buffer: ArrayBuffer
    _offset: int
    _bytes: int

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def buffer(self) -> ArrayBuffer:
        return self._buffer

    def detach(self) -> None:
        """For Python: somebody else has the memory now."""
        self._buffer._data, self._offset, self._bytes = b"", 0, 0

    @property
    def byteOffset(self) -> int:
        return self._offset

    @property
    def byteLength(self) -> int:
        return self._bytes

    def to_bytes(self) -> bytes:
        data = self._buffer._data
        if self._bytes == len(data):
            return bytes(data)
        return bytes(data[self._offset : self._offset + self._bytes])

    def to_memoryview(self) -> memoryview:
        return memoryview(bytearray(self.to_bytes()))

    def to_string(self, encoding: str = "utf-8") -> str:
        return self.to_bytes().decode(encoding)

    def to_file(self, file: Any) -> None:
        file.write(self.to_bytes())

    def assign(self, source: Any) -> None:
        data = as_bytes(source)
        if len(data) != self._bytes:
            raise ValueError("cannot assign from buffer of another size")
        self._buffer.writable()[self._offset : self._offset + self._bytes] = data

    def assign_to(self, target: Any) -> None:
        memoryview(target).cast("B")[:] = self.to_bytes()


class TypedArray(BufferView):
    """The root of the typed arrays; `code` is the letter of Python's `memoryview.cast`."""

    js_name: ClassVar[str] = "TypedArray"
    code: ClassVar[str] = "B"
    size: ClassVar[int] = 1

    def __init__(self, buffer: ArrayBuffer, offset: int = 0, length: int | None = None) -> None:
        self._buffer, self._offset = buffer, offset
        self._bytes = buffer.byteLength - offset if length is None else length * self.size

    @classmethod
    def construct(cls, source: Any = None, offset: Any = None, length: Any = None) -> TypedArray:
        if is_nullish(source):
            return cls.make(ArrayBuffer.make(bytearray()))
        if isinstance(source, ArrayBuffer):
            return cls._view(
                source, 0 if is_nullish(offset) else int(offset), None if is_nullish(length) else int(length)
            )
        if isinstance(source, (int, float)) and not isinstance(source, bool):
            if source < 0:
                raise range_error(f"Invalid typed array length: {int(source)}")
            return cls.make(ArrayBuffer.make(bytearray(int(source) * cls.size)))
        if isinstance(source, (bytes, bytearray, memoryview)) and cls.size == 1:
            return cls.make(ArrayBuffer.make(bytearray(source)))
        return cls.from_(source)

    @classmethod
    def _view(cls, buffer: ArrayBuffer, offset: int, length: int | None) -> TypedArray:
        if offset % cls.size:
            raise range_error(f"start offset of {cls.js_name} should be a multiple of {cls.size}")
        if length is None and (buffer.byteLength - offset) % cls.size:
            raise range_error(f"byte length of {cls.js_name} should be a multiple of {cls.size}")
        if length is not None and offset + length * cls.size > buffer.byteLength:
            raise range_error(f"Invalid typed array length: {length}")
        return cls.make(buffer, offset, length)

    @classmethod
    def from_(cls, source: Iterable[Any]) -> TypedArray:
        if cls.code == "B" and isinstance(source, TypedArray) and source.code == "B":
            return cls.make(ArrayBuffer.make(bytearray(source.to_bytes())))
        items = list(source)
        array: TypedArray = cls.make(ArrayBuffer.make(bytearray(len(items) * cls.size)))
        view = array.elements()
        for at, item in enumerate(items):
            view[at] = cls.element(item)
        return array

    @classmethod
    def of(cls, *items: Any) -> TypedArray:
        return cls.from_(items)

    @classmethod
    def element(cls, value: Any) -> Any:
        """`value` as an element: numbers wrap around as in JavaScript."""
        if cls.code in "fd":
            return math.nan if is_nullish(value) else float(value)
        if is_nullish(value) or (isinstance(value, float) and not math.isfinite(value)):
            return 0
        bits = cls.size * 8
        number = int(value) % (1 << bits)
        signed = cls.code.islower() and number >= 1 << (bits - 1)
        return number - (1 << bits) if signed else number

    def elements(self) -> memoryview:
        """The live elements."""
        data = memoryview(self._buffer.writable())
        return data[self._offset : self._offset + self._bytes].cast(self.code)  # type: ignore[call-overload,no-any-return]

    def to_memoryview(self) -> memoryview:
        return memoryview(bytearray(self.to_bytes())).cast(self.code)  # type: ignore[call-overload,no-any-return]

    @property
    def length(self) -> int:
        return self._bytes // self.size

    @property
    def BYTES_PER_ELEMENT(self) -> int:
        return self.size

    def __len__(self) -> int:
        return self._bytes // self.size

    def __bool__(self) -> bool:
        return self._bytes > 0

    def __iter__(self) -> Iterator[Any]:
        return iter(self.elements().tolist())

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return self.from_(self.elements()[at].tolist())
        return self.elements()[at]

    def __setitem__(self, at: int, value: Any) -> None:
        self.elements()[at] = self.element(value)

    def __contains__(self, value: object) -> bool:
        return value in self.elements().tolist()

    def at(self, at: int) -> Any:
        return self.elements()[at] if -len(self) <= at < len(self) else None

    def set(self, source: Iterable[Any], offset: int = 0) -> None:
        view = self.elements()
        items = list(source)
        if offset + len(items) > len(view):
            raise range_error("offset is out of bounds")
        for at, item in enumerate(items, start=offset):
            view[at] = self.element(item)

    def subarray(self, start: int = 0, end: int | None = None) -> TypedArray:
        first, last, _ = slice(start, end).indices(len(self))
        return type(self).make(self._buffer, self._offset + first * self.size, max(last - first, 0))

    def slice(self, start: int = 0, end: int | None = None) -> TypedArray:
        first, last, _ = slice(start, end).indices(len(self))
        data = self.to_bytes()[first * self.size : max(last, first) * self.size]
        return type(self).make(ArrayBuffer.make(bytearray(data)))

    def fill(self, value: Any) -> TypedArray:
        self.set([value] * len(self))
        return self

    def toString(self) -> str:
        return ",".join(str(item) for item in self)


class Int8Array(TypedArray):
    code, size = "b", 1


class Uint8Array(TypedArray):
    code, size = "B", 1


class Uint8ClampedArray(TypedArray):
    code, size = "B", 1

    @classmethod
    def element(cls, value: Any) -> Any:
        return 0 if is_nullish(value) or value != value else min(max(round(value), 0), 255)


class Int16Array(TypedArray):
    code, size = "h", 2


class Uint16Array(TypedArray):
    code, size = "H", 2


class Int32Array(TypedArray):
    code, size = "i", 4


class Uint32Array(TypedArray):
    code, size = "I", 4


class Float32Array(TypedArray):
    code, size = "f", 4


class Float64Array(TypedArray):
    code, size = "d", 8


class BigInt64Array(TypedArray):
    code, size = "q", 8


class BigUint64Array(TypedArray):
    code, size = "Q", 8


TYPED_ARRAYS = (
    Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
    Float32Array, Float64Array, BigInt64Array, BigUint64Array,
)  # fmt: skip

# memoryview letter -> the array that `to_js` makes of it
BY_CODE = {array.code: array for array in TYPED_ARRAYS if array is not Uint8ClampedArray}


class DataView(BufferView):
    js_name: ClassVar[str] = "DataView"

    def __init__(self, buffer: ArrayBuffer, offset: int = 0, length: int | None = None) -> None:
        self._buffer, self._offset = buffer, offset
        self._bytes = buffer.byteLength - offset if length is None else length

    def getUint8(self, at: int) -> int:
        return self.to_bytes()[at]

    def setUint8(self, at: int, value: int) -> None:
        self._buffer.writable()[self._offset + at] = int(value) % 256


def is_buffer(value: Any) -> bool:
    """Whether `value` is what the web platform calls a BufferSource."""
    return isinstance(value, (BufferView, ArrayBuffer))


def as_bytes(value: Any) -> bytes:
    """The bytes of a BufferSource or of a bytes-like Python object; TypeError otherwise."""
    if isinstance(value, (BufferView, ArrayBuffer)):
        return value.to_bytes()
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise type_error("the provided value is not of type '(ArrayBuffer or ArrayBufferView)'")
