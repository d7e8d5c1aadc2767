"""JavaScript values as bytes: the serialization format of V8, which Durable Object storage and queues keep.

What this layer has a class for is written and read here, in one pass; what it has none for (regular expressions, boxed
primitives, errors as older runtimes wrote them, resizable buffers) is read through the `v8serialize` package. Version
15 is written, 13 and later are read, and so is data without a header, as the first Durable Objects left it. Errors are
host objects with workerd's tag for native errors (workerd `jsg/ser.c++`).
"""

from __future__ import annotations

import struct
from typing import Any

from pyflare.interop.v8 import rare
from pyflare.interop.v8.format import Rare, unreadable
from pyflare.interop.v8.reader import Reader
from pyflare.interop.v8.writer import Writer


def dumps(value: Any) -> bytes:
    """The bytes of a JavaScript value. Raises `DataCloneError` for what cannot be stored."""
    writer = Writer()
    writer.write(value)
    return bytes(writer.out)


def loads(data: bytes) -> Any:
    """The JavaScript value of bytes that V8 or `dumps` wrote; `DataCloneError` for bytes that are neither."""
    try:
        return Reader(data).value()
    except Rare:
        return rare.loads(data)
    except (IndexError, KeyError, ValueError, TypeError, OverflowError, struct.error) as fault:
        raise unreadable() from fault
