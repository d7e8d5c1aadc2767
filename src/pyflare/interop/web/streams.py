"""All kinds of streams, by the names that JavaScript has for them."""

from __future__ import annotations

from pyflare.interop.web.codec_streams import (
    CompressionStream,
    DecompressionStream,
    TextDecoderStream,
    TextEncoderStream,
)
from pyflare.interop.web.readable import ReadableStream
from pyflare.interop.web.readers import BYOBReader as ReadableStreamBYOBReader
from pyflare.interop.web.readers import DefaultReader as ReadableStreamDefaultReader
from pyflare.interop.web.strategies import ByteLengthQueuingStrategy, CountQueuingStrategy
from pyflare.interop.web.transform import FixedLengthStream, IdentityTransformStream, TransformStream
from pyflare.interop.web.writable import WritableStream
from pyflare.interop.web.writable import Writer as WritableStreamDefaultWriter

__all__ = [
    "ByteLengthQueuingStrategy", "CompressionStream", "CountQueuingStrategy", "DecompressionStream",
    "FixedLengthStream", "IdentityTransformStream", "ReadableStream", "ReadableStreamBYOBReader",
    "ReadableStreamDefaultReader", "TextDecoderStream", "TextEncoderStream", "TransformStream", "WritableStream",
    "WritableStreamDefaultWriter",
]  # fmt: skip
