"""Bodies of S3 requests: checked against their checksums, and unwrapped where they come in signed chunks.

docs.aws.amazon.com, "sigv4-streaming": each chunk is `<hex length>[;chunk-signature=…]\\r\\n<data>\\r\\n`, the last one
is empty and may be followed by headers, such as a checksum. Signatures of chunks are not checked: the one of the
request was.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflare.engines.r2.crc import CRC32C, CRC64NVME, Crc
from pyflare.engines.r2.faults import R2Fault, bad_digest
from pyflare.engines.r2.http import Call

MAX_HEAD_BYTES = 4096


class _Crc32:
    """`zlib`'s, with the interface of `hashlib`'s objects."""

    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes) -> None:
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


# header -> what messages call it, a digest; developers.cloudflare.com/r2/api/s3/api, "Checksum types"
CHECKSUMS: Mapping[str, tuple[str, Callable[[], Any]]] = {
    "content-md5": ("MD5", lambda: hashlib.md5(usedforsecurity=False)),
    "x-amz-checksum-crc32": ("CRC32", _Crc32),
    "x-amz-checksum-crc32c": ("CRC32C", lambda: Crc(*CRC32C)),
    "x-amz-checksum-crc64nvme": ("CRC64NVME", lambda: Crc(*CRC64NVME)),
    "x-amz-checksum-sha1": ("SHA-1", lambda: hashlib.sha1(usedforsecurity=False)),
    "x-amz-checksum-sha256": ("SHA-256", hashlib.sha256),
}


def is_chunked(call: Call) -> bool:
    return (call.header("x-amz-content-sha256") or "").startswith("STREAMING-") or "aws-chunked" in (
        call.header("content-encoding") or ""
    )


def length_of(call: Call) -> int | None:
    """How many bytes of content the request announces."""
    text = call.header("x-amz-decoded-content-length") if is_chunked(call) else call.header("content-length")
    return int(text) if text is not None and text.isdecimal() else None


async def content(call: Call) -> AsyncIterator[bytes]:
    """The content of the request, piece by piece; raises at its end when it is not what was announced."""
    trailers: dict[str, str] = {}
    checks = _checks(call)
    async for piece in _unwrapped(call.body, trailers) if is_chunked(call) else call.body:
        for check in checks:
            check.digest.update(piece)
        yield piece
    for check in checks:
        check.verify(trailers)


@dataclass(frozen=True)
class _Check:
    """A checksum of the content, which the request's header of this name gives, or the one behind the content."""

    header: str
    algorithm: str
    digest: Any  # with the interface of `hashlib`'s objects
    given: str | None

    def verify(self, trailers: Mapping[str, str]) -> None:
        given = trailers.get(self.header) if self.given is None else self.given
        actual: bytes = self.digest.digest()
        if given is None or given == base64.b64encode(actual).decode():
            return
        expected = _decoded(given)
        if len(expected) != len(actual):
            raise _malformed()
        raise bad_digest(self.algorithm, expected.hex(), actual.hex())


@dataclass(frozen=True)
class _HashOfPayload(_Check):
    """The same of `x-amz-content-sha256`, which is in hex."""

    def verify(self, trailers: Mapping[str, str]) -> None:
        actual = self.digest.hexdigest()
        if actual != self.given:
            message = "The provided 'x-amz-content-sha256' header does not match what was computed."
            raise R2Fault(400, 10037, "XAmzContentSHA256Mismatch", message)


def _checks(call: Call) -> Sequence[_Check]:
    trailer = (call.header("x-amz-trailer") or "").strip().lower()
    found = [
        _Check(header, algorithm, new(), given)
        for header, (algorithm, new) in CHECKSUMS.items()
        if (given := call.header(header)) is not None or header == trailer
    ]
    announced = call.header("x-amz-content-sha256") or ""
    if len(announced) == 64:
        found.append(_HashOfPayload("x-amz-content-sha256", "SHA256", hashlib.sha256(), announced.lower()))
    return found


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        raise _malformed() from None


def _malformed() -> R2Fault:
    return R2Fault(400, 10014, "InvalidDigest", "The checksum or Content-MD5 you specified is not valid.")


async def _unwrapped(pieces: AsyncIterator[bytes], trailers: dict[str, str]) -> AsyncIterator[bytes]:
    """`trailers` takes the headers behind the content."""
    reader = _Reader(pieces)
    while True:
        size = int((await reader.line()).partition(b";")[0] or b"0", 16)
        if size == 0:
            break
        async for piece in reader.exactly(size):
            yield piece
        await reader.line()
    for line in (await reader.rest()).decode("latin-1").splitlines():
        name, _, value = line.partition(":")
        trailers[name.strip().lower()] = value.strip()


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

    async def rest(self) -> bytes:
        async for piece in self._pieces:
            self._buffer = (self._buffer + piece)[:MAX_HEAD_BYTES]
        return self._buffer
