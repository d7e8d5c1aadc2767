"""From JavaScript's Response to the wire. Bytes that are known go out in one write, streams piece by piece.

A body is framed by what is known of it, never by a content-length that the worker wrote, as on Cloudflare. A
`content-encoding` of gzip means "compress this" unless the response says `encodeBody: "manual"`; a client that did not
ask for it gets the plain bytes either way.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from pyflare.front.exchange import Exchange
from pyflare.interop.web.body import Body
from pyflare.interop.web.response import Response

FRAMING = frozenset(("connection", "content-length", "keep-alive", "transfer-encoding", "upgrade"))
GZIP = 16 + zlib.MAX_WBITS

Pairs = list[tuple[str, str]]


def send(exchange: Exchange, response: Response) -> Coroutine[Any, Any, None] | None:
    """Answer `exchange`: done when None is returned, else by what is returned."""
    headers: Pairs = []
    encoded = declared = None
    for pair in response.headers.pairs():
        name = pair[0]
        if name not in FRAMING:
            headers.append(pair)
            if name == "content-encoding":
                encoded = pair[1].strip().lower()
        elif name == "content-length":
            declared = pair[1]
    body = response._body
    if encoded == "gzip" and body is not None:
        headers, body = _coded(headers, response, body, "gzip" in exchange.accepts.lower())
    known = b"" if body is None else body.known
    if exchange.method == "HEAD":
        _send_head(exchange, response, headers, known, body, declared)
        # The source of a stream would wait for a reader.
        return body.discard() if body is not None and known is None else None
    if known is not None:
        exchange.respond(response.status, response.statusText, headers, known)
        return None
    assert body is not None
    return _stream(exchange, response, headers, body)


def _send_head(
    exchange: Exchange, response: Response, headers: Pairs, known: bytes | None, body: Body | None, declared: str | None
) -> None:
    length = len(known) if known else body.length if body is not None else None
    if length is None and declared is not None and declared.isdecimal():
        length = int(declared)
    if length is None and known is not None:
        length = 0
    exchange.begin(response.status, response.statusText, headers, length)
    exchange.finish()


async def _stream(exchange: Exchange, response: Response, headers: Pairs, body: Body) -> None:
    chunks = body.chunks()
    exchange.begin(response.status, response.statusText, headers, body.length)
    try:
        async for chunk in chunks:
            exchange.write(chunk)
            await exchange.drain()
    except BaseException:
        exchange.abort()
        raise
    finally:
        await _close(chunks)
    exchange.finish()


async def _close(chunks: AsyncIterator[bytes]) -> None:
    close: Any = getattr(chunks, "aclose", None)
    if close is not None:
        await close()


# --- gzip -----------------------------------------------------------------------------------------------------------


def _coded(headers: Pairs, response: Response, body: Body, accepted: bool) -> tuple[Pairs, Body]:
    manual = response._encode_body == "manual"
    if not accepted:
        headers = [pair for pair in headers if pair[0] != "content-encoding"]
    if accepted == manual:
        return headers, body  # as it is: packed for who takes it, plain for who does not
    return headers, Body.make(_recoded(body.chunks(), _Unpacker() if manual else _Packer()))


class _Packer:
    """Compresses; each piece can be unpacked as soon as it arrives, so that events are not held back."""

    def __init__(self) -> None:
        self._coder = zlib.compressobj(wbits=GZIP)

    def piece(self, data: bytes) -> bytes:
        return self._coder.compress(data) + self._coder.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._coder.flush()


class _Unpacker:
    def __init__(self) -> None:
        self._coder = zlib.decompressobj(wbits=GZIP)

    def piece(self, data: bytes) -> bytes:
        return self._coder.decompress(data)

    def end(self) -> bytes:
        return self._coder.flush()


async def _recoded(chunks: AsyncIterator[bytes], coder: _Packer | _Unpacker) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        if piece := coder.piece(chunk):
            yield piece
    if piece := coder.end():
        yield piece
