"""The body of a message: what each content type takes, how many bytes it is, what the consumer gets back.

Texts of errors as in workerd `api/queue.c++`.
"""

from __future__ import annotations

from typing import Any

from pyflare.interop import json, v8
from pyflare.interop.buffers import ArrayBuffer, BufferView, Uint8Array
from pyflare.interop.containers import to_text
from pyflare.interop.errors import JsException, type_error
from pyflare.interop.proxy import JsProxy
from pyflare.interop.web.bytes import utf8

CONTENT_TYPES = ("text", "bytes", "json", "v8")
NO_BODY = "Message body cannot be undefined"


def content_type(given: Any, default: str) -> str:
    """The content type that an option names, in any case; TypeError for others."""
    if given is None:
        return default
    name = to_text(given)
    if name.lower() not in CONTENT_TYPES:
        raise type_error(f"Unsupported queue message content type: {name}")
    return name.lower()


def encode(value: Any, kind: str) -> bytes:
    """The bytes of a JavaScript value under a content type."""
    if kind == "json":
        return _json(value)
    if kind == "text":
        if not isinstance(value, str):
            raise _wrong(kind, "string", value)
        return utf8(value)
    if kind == "bytes":
        if not isinstance(value, BufferView):
            raise _wrong(kind, "ArrayBufferView", value)
        return value.to_bytes()
    return v8.dumps(value)


def decode(data: bytes, kind: str) -> Any:
    """The JavaScript value that `encode` was given; bytes come as a Uint8Array."""
    if kind == "json":
        return json.parse(data)
    if kind == "text":
        return data.decode()
    if kind == "bytes":
        return Uint8Array.make(ArrayBuffer.make(data))
    return v8.loads(data)


def preview(data: bytes, kind: str, length: int = 200) -> str:
    """A line for people."""
    if kind in ("json", "text"):
        text = data.decode(errors="replace")
    elif kind == "bytes":
        text = data[:length].hex(" ")
    else:
        text = f"<{len(data)} bytes of V8 serialization>"
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _json(value: Any) -> bytes:
    data = json.dump(value)
    if data is None:
        raise type_error(
            f"A message body of type {type(value).__name__} is nothing in JSON: convert it first, "
            "with to_js(value, dict_converter=Object.fromEntries)"
        )
    return data


def _wrong(kind: str, wanted: str, value: Any) -> JsException:
    return type_error(f'Content Type "{kind}" requires a value of type {wanted}, but received: {typeof(value)}')


def typeof(value: Any) -> str:
    """JavaScript's `typeof`."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, JsProxy):
        return value.typeof
    return "undefined" if value is None else "object"
