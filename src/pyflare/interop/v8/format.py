"""Constants of the format, and what cannot be read."""

from __future__ import annotations

import struct
from typing import Any

from pyflare.interop import buffers
from pyflare.interop.buffers import DataView
from pyflare.interop.errors import JsException, dom_exception

VERSION = 15
HEADER = bytes((0xFF, VERSION))
HEADERLESS_VERSION = 13

MAX_SAFE = 2**53 - 1
SMALL_MIN, SMALL_MAX = -(2**30), 2**30 - 1  # what V8 keeps as a small integer, and writes as one

MAX_HOLES = 1_000_000  # a sparse array that claims to be longer is refused
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

DOUBLE = struct.Struct("<d")


class Rare(Exception):
    """The fast reader met something that it leaves to `rare`."""


def unreadable() -> JsException:
    return dom_exception("Unable to deserialize cloned data.", "DataCloneError")
