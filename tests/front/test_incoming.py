"""Requests as a worker sees them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyflare.config.model import DevSettings
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from tests.support.wire import Wire, Worker, response, seen_by_worker, talk, until


def url_of(target: str, *headers: str, dev: DevSettings | None = None) -> str:
    return seen_by_worker((target, *headers), dev=dev)[0].url


def test_the_url_is_the_host_header_and_the_target() -> None:
    assert url_of("/a/b?c=d%20e", "Host: shop.example.com:8787") == "http://shop.example.com:8787/a/b?c=d%20e"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/x/../probe/./end", "/probe/end"),
        ("/x/%2e%2E/end", "/end"),
        ("/a%20b%2Fc", "/a%20b%2Fc"),
        ("/.well-known/x", "/.well-known/x"),
        ("/file.txt", "/file.txt"),
        ("//double//slash", "//double//slash"),
        ('/quo"te', "/quo%22te"),
        ("/?a={b}", "/?a={b}"),
        ("/page?a=b#part", "/page?a=b"),
        ("http://localhost:8787/absolute", "/absolute"),
    ],
)
def test_paths_are_normalised_and_not_decoded(target: str, path: str) -> None:
    assert url_of(target) == f"http://localhost:8787{path}"


def test_the_host_is_in_lower_case_and_a_default_port_is_left_out() -> None:
    assert url_of("/", "Host: LOCALHOST:80") == "http://localhost/"


def test_the_host_option_takes_the_place_of_the_clients() -> None:
    dev = DevSettings(host="shop.example.com", upstream_protocol="https")
    request = seen_by_worker(("/a",), dev=dev)[0]
    assert request.url == "https://shop.example.com/a"
    assert request.headers.get("host") == "shop.example.com"


def test_a_host_that_is_none_is_refused() -> None:
    async def client(wire: Wire) -> bytes:
        return await wire.get("/", "Host: a b")

    assert b" 400 " in talk(client)


def test_accept_encoding_is_cloudflares_and_the_clients_is_in_cf() -> None:
    first, second = seen_by_worker(("/", "Accept-Encoding: deflate"), ("/",))
    assert first.headers.get("accept-encoding") == second.headers.get("accept-encoding") == "br, gzip"
    assert first.cf.clientAcceptEncoding == "deflate"
    assert second.cf.clientAcceptEncoding == ""


def test_the_clients_address_is_told_unless_it_tells_one_itself() -> None:
    first, second = seen_by_worker(("/",), ("/", "CF-Connecting-IP: 1.2.3.4"))
    assert first.headers.get("cf-connecting-ip") == "127.0.0.1"
    assert second.headers.get("cf-connecting-ip") == "1.2.3.4"


def test_cf_is_an_object_of_its_own_for_each_request() -> None:
    first, second = seen_by_worker(("/",), ("/",))
    first.cf.colo = "changed"
    assert (first.cf.colo, second.cf.colo) == ("changed", "DFW")


def test_repeated_headers_are_joined() -> None:
    request = seen_by_worker(("/", "X-Word: one", "X-Word: two"))[0]
    assert request.headers.get("x-word") == "one, two"


def test_a_get_request_has_no_body() -> None:
    assert seen_by_worker(("/", "Content-Length: 0"))[0]._body is None


def body_of(client_steps: Any) -> bytes:
    bodies: list[bytes] = []

    async def handler(request: Request) -> Response:
        assert request._body is not None
        bodies.append(await request._body.gather())
        return response()

    talk(client_steps, handler)
    return bodies[0]


def test_a_body_arrives_whole() -> None:
    async def client(wire: Wire) -> None:
        await wire.get("/", method="POST", body=b"posted")

    assert body_of(client) == b"posted"


def test_a_body_that_comes_in_pieces_is_streamed() -> None:
    async def client(wire: Wire) -> None:
        wire.send("/", "Transfer-Encoding: chunked", method="POST")
        await until(lambda: bool(wire.hub.running))
        for piece in (b"3\r\none\r\n", b"3\r\ntwo\r\n", b"0\r\n\r\n"):
            wire.writer.write(piece)
            await asyncio.sleep(0)
        await wire.answer()

    assert body_of(client) == b"onetwo"


def test_a_large_body_is_not_lost_while_nobody_reads() -> None:
    large = bytes(range(256)) * 8192

    async def client(wire: Wire) -> None:
        wire.send("/", method="POST", body=large)
        await wire.answer()

    assert body_of(client) == large


def test_a_client_that_leaves_amid_its_body_is_a_lost_connection_for_the_reader() -> None:
    raised: list[BaseException] = []

    async def handler(request: Request) -> Response:
        assert request._body is not None
        try:
            await asyncio.shield(asyncio.ensure_future(request._body.gather()))
        except (Exception, asyncio.CancelledError) as fault:
            raised.append(fault)
            raise
        return response()

    async def client(wire: Wire) -> None:
        wire.send("/", "Content-Length: 100", method="POST")
        await until(lambda: bool(wire.hub.running))
        wire.writer.close()
        await until(lambda: not wire.hub.running)

    talk(client, worker=Worker(handler))
    assert raised
