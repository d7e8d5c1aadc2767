"""Bodies of S3 requests: checked against their hash, and unwrapped where they come in signed chunks.

docs.aws.amazon.com, "sigv4-streaming": each chunk is `<hex length>[;chunk-signature=…]\\r\\n<data>\\r\\n`, the last one
is empty and may be followed by headers. Signatures of chunks are not checked: the one of the request was.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator

from pyflare.engines.r2.faults import R2Fault
from pyflare.engines.r2.http import Call

MAX_HEAD_BYTES = 4096


def is_chunked(call: Call) -> bool:
    return (call.header("x-amz-content-sha256") or "").startswith("STREAMING-") or "aws-chunked" in (
        call.header("content-encoding") or ""
    )


def length_of(call: Call) -> int | None:
    """How many bytes of content the request announces."""
    text = call.header("x-amz-decoded-content-length") if is_chunked(call) else call.header("content-length")
    return int(text) if text is not None and text.isdecimal() else None


def content(call: Call) -> AsyncIterator[bytes]:
    """The content of the request, piece by piece; raises at its end when it is not what was announced."""
    pieces = _unwrapped(call.body) if is_chunked(call) else call.body
    announced = call.header("x-amz-content-sha256") or ""
    if len(announced) == 64:
        pieces = _checked(pieces, "sha256", announced.lower(), "XAmzContentSHA256Mismatch")
    md5 = call.header("content-md5")
    if md5 is not None:
        pieces = _checked(pieces, "md5", _hex(md5), "BadDigest")
    return pieces


def _hex(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).hex()
    except ValueError:
        raise R2Fault(400, 10029, "InvalidDigest", "The Content-MD5 you specified is not valid.") from None


async def _checked(pieces: AsyncIterator[bytes], algorithm: str, expected: str, name: str) -> AsyncIterator[bytes]:
    digest = hashlib.new(algorithm)
    async for piece in pieces:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != expected:
        raise R2Fault(
            400,
            10037,
            name,
            f"The {algorithm.upper()} you specified did not match what we received: {digest.hexdigest()}",
        )


async def _unwrapped(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    reader = _Reader(pieces)
    while True:
        size = int((await reader.line()).partition(b";")[0] or b"0", 16)
        if size == 0:
            await reader.rest()
            return
        async for piece in reader.exactly(size):
            yield piece
        await reader.line()


class _Reader:
    """Lines and counted bytes of an iterator of pieces."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._buffer = b""

    async def _more(self) -> None:
        try:
            self._buffer += await anext(self._pieces)
        except StopAsyncIteration:
            raise R2Fault(400, 10013, "IncompleteBody", "The request body ended too early.") from None

    async def line(self) -> bytes:
        while b"\r\n" not in self._buffer:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise R2Fault(400, 10013, "IncompleteBody", "The request body is not in chunks.")
            await self._more()
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line

    async def exactly(self, size: int) -> AsyncIterator[bytes]:
        while size:
            if not self._buffer:
                await self._more()
            piece, self._buffer = self._buffer[:size], self._buffer[size:]
            size -= len(piece)
            yield piece

    async def rest(self) -> None:
        async for _ in self._pieces:
            pass
