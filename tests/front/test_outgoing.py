"""Responses as a client sees them."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.readable import ReadableStream
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from tests.support.wire import Wire, response, talk

LINE = [("content-type", "text/plain;charset=UTF-8")]


def answer_to(made: Response, *headers: str, method: str = "GET") -> bytes:
    async def handler(request: Request) -> Response:
        return made

    async def client(wire: Wire) -> bytes:
        return await wire.get("/", *headers, method=method)

    raw = talk(client, handler)
    assert isinstance(raw, bytes)
    return raw


def streamed(*pieces: bytes, headers: list[tuple[str, str]] | None = None, length: int | None = None) -> Response:
    async def chunks() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    return Response.make(200, None, Headers.make(headers or []), Body.make(ReadableStream.of(chunks(), length)))


def test_status_reason_headers_and_body() -> None:
    raw = answer_to(Response.make(299, "Rather Fine", Headers.make([("X-Mixed", "Kept")]), Body.make(b"hello")))
    assert raw.startswith(b"HTTP/1.1 299 Rather Fine\r\nx-mixed: Kept\r\n")
    assert raw.endswith(b"content-length: 5\r\n\r\nhello")


def test_each_cookie_has_a_line() -> None:
    raw = answer_to(response(headers=[("Set-Cookie", "a=1"), ("Set-Cookie", "b=2; HttpOnly")]))
    assert b"set-cookie: a=1\r\nset-cookie: b=2; HttpOnly\r\n" in raw


def test_headers_that_are_not_ascii_go_out_as_utf8() -> None:
    assert "x-word: é€".encode() in answer_to(response(headers=[("x-word", "é€")]))


def test_an_empty_body_has_length_zero() -> None:
    assert b"content-length: 0\r\n" in answer_to(response(b""))


def test_no_body_is_an_empty_one_except_where_there_can_be_none() -> None:
    assert b"content-length: 0\r\n" in answer_to(response(None))
    assert b"content-length" not in answer_to(response(None, 204))
    assert b"content-length" not in answer_to(response(None, 304))


def test_the_workers_own_content_length_does_not_frame_the_body() -> None:
    raw = answer_to(response(headers=[("content-length", "99")]))
    assert raw.count(b"content-length") == 1
    assert raw.endswith(b"content-length: 5\r\n\r\nhello")


def test_a_stream_is_chunked() -> None:
    raw = answer_to(streamed(b"one", b"two", headers=[("content-length", "6")]))
    assert b"content-length" not in raw
    assert raw.endswith(b"transfer-encoding: chunked\r\n\r\nonetwo")


def test_a_stream_of_known_length_says_how_long_it_is() -> None:
    assert b"content-length: 6\r\n" in answer_to(streamed(b"one", b"two", length=6))


def test_a_head_request_gets_the_headers_of_a_get() -> None:
    assert answer_to(response(headers=LINE), method="HEAD").endswith(b"content-length: 5\r\n\r\n")
    assert b"content-length: 6\r\n" in answer_to(streamed(b"x", headers=[("content-length", "6")]), method="HEAD")


def test_each_piece_leaves_when_it_is_made() -> None:
    go = asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        yield b"first"
        await go.wait()
        yield b"second"

    async def handler(request: Request) -> Response:
        headers = Headers.make([("content-encoding", "gzip"), ("content-type", "text/event-stream")])
        return Response.make(200, None, headers, Body.make(ReadableStream.of(chunks())))

    async def client(wire: Wire) -> bytes:
        wire.send("/", "Accept-Encoding: gzip")
        await wire.reader.readuntil(b"\r\n\r\n")
        size = int(await wire.reader.readline(), 16)
        first = (await wire.reader.readexactly(size + 2))[:-2]
        go.set()
        await wire.reader.readuntil(b"0\r\n\r\n")
        return first

    import zlib

    assert zlib.decompressobj(wbits=31).decompress(talk(client, handler)) == b"first"


def test_a_stream_that_fails_cuts_the_connection_and_is_told() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"first"
        raise ValueError("amid the stream")

    async def handler(request: Request) -> Response:
        return Response.make(200, None, Headers.make([]), Body.make(ReadableStream.of(chunks())))

    async def client(wire: Wire) -> tuple[bytes, str]:
        wire.send("/")
        return await wire.reader.read(), wire.out.getvalue()

    raw, said = talk(client, handler)
    assert not raw.endswith(b"0\r\n\r\n")
    assert "amid the stream" in said


# --- content-encoding -------------------------------------------------------------------------------------------------

GZIP = [("content-encoding", "gzip"), *LINE]


def test_gzip_is_applied_for_a_client_that_takes_it() -> None:
    raw = answer_to(response(b"squeeze me " * 50, headers=GZIP), "Accept-Encoding: gzip, deflate")
    head, _, body = raw.partition(b"\r\n\r\n")
    assert b"content-encoding: gzip" in head
    assert gzip.decompress(body) == b"squeeze me " * 50


def test_gzip_is_left_out_for_a_client_that_does_not_take_it() -> None:
    raw = answer_to(response(b"plain", headers=GZIP))
    assert b"content-encoding" not in raw
    assert raw.endswith(b"plain")


def test_bytes_that_the_worker_packed_itself_go_out_as_they_are() -> None:
    packed = gzip.compress(b"by hand")
    raw = answer_to(response(packed, headers=GZIP, encode_body="manual"), "Accept-Encoding: gzip")
    assert raw.endswith(packed)


def test_bytes_that_the_worker_packed_itself_are_unpacked_for_a_client_that_cannot() -> None:
    raw = answer_to(response(gzip.compress(b"by hand"), headers=GZIP, encode_body="manual"))
    assert b"content-encoding" not in raw
    assert raw.endswith(b"by hand")


def test_nothing_is_compressed_unasked() -> None:
    raw = answer_to(response(b"a" * 5000, headers=LINE), "Accept-Encoding: gzip, br")
    assert b"content-length: 5000" in raw
