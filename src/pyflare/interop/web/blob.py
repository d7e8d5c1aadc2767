"""Blob and File: bytes with a type, and with a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pyflare.interop.arguments import to_int32, to_number
from pyflare.interop.buffers import ArrayBuffer, as_bytes, is_buffer
from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import error, type_error
from pyflare.interop.promise import JsPromise, inside
from pyflare.interop.proxy import JsProxy
from pyflare.interop.web.bytes import byte_array, string_bytes
from pyflare.interop.web.init import reader
from pyflare.interop.web.readable import ReadableStream


class Blob(JsProxy):
    js_name: ClassVar[str] = "Blob"

    def __init__(self, data: bytes = b"", type: str = "") -> None:
        self._data, self._type = data, type

    @classmethod
    def construct(cls, parts: Any = None, settings: Any = None) -> Blob:
        read = _options(settings, cls.js_name, 2)
        return cls.make(join_parts(parts, cls.js_name), clean_type(read("type")))

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def data(self) -> bytes:
        """For Python."""
        return self._data

    @property
    def size(self) -> int:
        return len(self._data)

    @property
    def type(self) -> str:
        return self._type

    def text(self) -> JsPromise:
        return inside(self._data.decode, "utf-8", "replace")  # here a byte order mark stays

    def arrayBuffer(self) -> JsPromise:
        return inside(ArrayBuffer.make, self._data)

    def bytes(self) -> JsPromise:
        return inside(byte_array, self._data)

    def slice(self, start: Any = None, end: Any = None, type: Any = None) -> Blob:
        bounds = slice(*(None if bound is None else to_int32(bound) for bound in (start, end)))
        first, last, _ = bounds.indices(len(self._data))
        return Blob.make(self._data[first : max(first, last)], clean_type(type))

    def stream(self) -> ReadableStream:
        return ReadableStream.of_bytes(self._data)


class File(Blob):
    js_name: ClassVar[str] = "File"

    def __init__(self, data: bytes, name: str, type: str = "", last_modified: float | None = None) -> None:
        self._data, self._type, self._name = data, type, name
        self._last_modified = JsDate.now() if last_modified is None else last_modified

    @classmethod
    def construct(cls, parts: Any = None, name: Any = None, settings: Any = None) -> File:  # type: ignore[override]
        if name is None:
            raise type_error("Failed to construct 'File': constructor parameter 2 is not of type 'string'.")
        read = _options(settings, cls.js_name, 3)
        when = read("lastModified")
        modified = None if when is None else to_number(when)
        data = join_parts(parts, cls.js_name)
        return cls.make(data, to_text(name), clean_type(read("type")), 0 if modified != modified else modified)

    @property
    def name(self) -> str:
        return self._name

    @property
    def lastModified(self) -> float:
        return self._last_modified


def _options(settings: Any, kind: str, number: int) -> Callable[[str], Any]:
    read = reader(settings)
    if read is None:
        raise type_error(f"Failed to construct '{kind}': constructor parameter {number} is not of type 'Options'.")
    if read("endings") is not None:
        raise error("The 'endings' field on 'Options' is not implemented.")
    return read


def clean_type(value: Any) -> str:
    """A media type in lower case; "" for what cannot be one."""
    if value is None:
        return ""
    text = to_text(value)
    return text.lower() if all(" " <= character <= "\x7f" for character in text) else ""


def join_parts(parts: Any, kind: str) -> bytes:
    """The bytes of an array of strings, buffers and blobs; other values count as their text."""
    if parts is None:
        return b""
    if not isinstance(parts, JsArray):
        raise type_error(f"Failed to construct '{kind}': constructor parameter 1 is not of type 'Array'.")
    return b"".join(_part(unwrap(part)) for part in parts)


def _part(part: Any) -> bytes:
    if isinstance(part, Blob):
        return part.data
    return as_bytes(part) if is_buffer(part) else string_bytes(part)


__all__ = ["Blob", "File", "clean_type", "join_parts"]
