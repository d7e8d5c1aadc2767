"""Small conversions between Python's bytes and text and JavaScript's."""

from __future__ import annotations

from typing import Any

from pyflare.interop.buffers import ArrayBuffer, Uint8Array
from pyflare.interop.containers import to_text


def byte_array(data: bytes | bytearray) -> Uint8Array:
    """A Uint8Array of `data`, which is not copied before somebody writes into it."""
    return Uint8Array.make(ArrayBuffer.make(data))


def utf8(text: str) -> bytes:
    """UTF-8 of a JavaScript string: lone surrogates become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def decode_utf8(data: bytes) -> str:
    """Text of UTF-8 as `text()` reads it: a byte order mark is dropped, what is wrong becomes U+FFFD."""
    text = data.decode("utf-8", "replace")
    return text[1:] if text.startswith("\ufeff") else text


def string_bytes(value: Any) -> bytes:
    """UTF-8 of what JavaScript makes of `value` as a string."""
    return utf8(value if type(value) is str else to_text(value))
