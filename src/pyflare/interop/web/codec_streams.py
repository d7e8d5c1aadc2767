"""CompressionStream, DecompressionStream, TextEncoderStream and TextDecoderStream."""

from __future__ import annotations

import zlib
from typing import Any, ClassVar

from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.containers import to_text
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import is_nullish
from pyflare.interop.web.bytes import byte_array, string_bytes
from pyflare.interop.web.text import TextDecoder
from pyflare.interop.web.transform import Bytes, Identity, TransformStream, written

NOT_A_SOURCE = "This TransformStream is being used as a byte stream, but received a value that is not a BufferSource."
WINDOW_BITS = {"gzip": 31, "deflate": 15, "deflate-raw": -15}  # zlib's way to say the format


def _window(form: Any) -> int:
    name = to_text(form)
    if name not in WINDOW_BITS:
        raise type_error("The compression format must be either 'deflate', 'deflate-raw' or 'gzip'.")
    return WINDOW_BITS[name]


class Compressor(Bytes):
    def __init__(self, form: Any) -> None:
        self._zlib = zlib.compressobj(wbits=_window(form))

    def transform(self, chunk: Any, controller: Any) -> None:
        packed = self._zlib.compress(written(chunk))
        if packed:
            controller.enqueue(byte_array(packed))

    def flush(self, controller: Any) -> None:
        controller.enqueue(byte_array(self._zlib.flush()))


class Decompressor(Bytes):
    def __init__(self, form: Any) -> None:
        self._zlib = zlib.decompressobj(wbits=_window(form))

    def transform(self, chunk: Any, controller: Any) -> None:
        try:
            plain = self._zlib.decompress(written(chunk))
        except zlib.error:
            raise type_error("Decompression failed.") from None
        if self._zlib.unused_data:
            raise type_error("Trailing bytes after end of compressed data")
        if plain:
            controller.enqueue(byte_array(plain))

    def flush(self, controller: Any) -> None:
        if not self._zlib.eof:
            raise type_error("Called close() on a decompression stream with incomplete data")


class CompressionStream(TransformStream):
    js_name: ClassVar[str] = "CompressionStream"

    @classmethod
    def construct(cls, form: Any = None, *_: Any) -> CompressionStream:
        return cls.make(Compressor(form))


class DecompressionStream(TransformStream):
    js_name: ClassVar[str] = "DecompressionStream"

    @classmethod
    def construct(cls, form: Any = None, *_: Any) -> DecompressionStream:
        return cls.make(Decompressor(form))


class Encoder(Identity):
    def transform(self, chunk: Any, controller: Any) -> None:
        controller.enqueue(byte_array(string_bytes(chunk)))


class TextEncoderStream(TransformStream):
    js_name: ClassVar[str] = "TextEncoderStream"
    encoding = "utf-8"

    @classmethod
    def construct(cls, *_: Any) -> TextEncoderStream:
        return cls.make(Encoder())


class Decoder(Identity):
    def __init__(self, decoder: TextDecoder) -> None:
        self._decoder = decoder

    def transform(self, chunk: Any, controller: Any) -> None:
        if not is_buffer(chunk):
            raise type_error(NOT_A_SOURCE)
        text = self._decoder.decode_bytes(as_bytes(chunk), final=False)
        if text:
            controller.enqueue(text)

    def flush(self, controller: Any) -> None:
        text = self._decoder.decode_bytes(b"", final=True)
        if text:
            controller.enqueue(text)


class TextDecoderStream(TransformStream):
    js_name: ClassVar[str] = "TextDecoderStream"
    encoding: str
    fatal: bool
    ignoreBOM: bool

    @classmethod
    def construct(cls, label: Any = None, settings: Any = None, *_: Any) -> TextDecoderStream:
        decoder = TextDecoder.construct() if is_nullish(label) else TextDecoder.construct(label, settings)
        stream = cls.make(Decoder(decoder))
        stream.encoding, stream.fatal, stream.ignoreBOM = decoder.encoding, decoder.fatal, decoder.ignoreBOM
        return stream
