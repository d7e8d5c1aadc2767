from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pyflare.front.control import Control
from pyflare.front.live_reload import SCRIPT_PATH, SOCKET, LiveReload
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.readable import ReadableStream
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from tests.support.wire import Wire, response, talk

TAG = b'<script defer src="/cdn-cgi/live-reload.js"></script>'
HTML = [("content-type", "text/html;charset=utf-8")]


def page(made: Response, *headers: str, broken: str | None = None) -> bytes:
    async def handler(request: Request) -> Response:
        return made

    async def client(wire: Wire) -> bytes:
        return await wire.get("/", *headers)

    raw = talk(client, handler, live=LiveReload(), broken=broken)
    assert isinstance(raw, bytes)
    return raw


def test_a_page_gets_the_script_and_the_right_length() -> None:
    raw = page(response(b"<p>hi</p>", headers=HTML))
    assert raw.endswith(b"content-length: %d\r\n\r\n<p>hi</p>" % (9 + len(TAG)) + TAG)


def test_a_streamed_page_gets_it_at_its_end() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"<p>"

    raw = page(Response.make(200, None, Headers.make(HTML), Body.make(ReadableStream.of(chunks()))))
    assert raw.endswith(b"<p>" + TAG)


@pytest.mark.parametrize("headers", [[("content-type", "application/json")], [*HTML, ("content-encoding", "gzip")]])
def test_what_is_no_readable_page_is_left_alone(headers: list[tuple[str, str]]) -> None:
    assert TAG not in page(response(b"{}", headers=headers))


def test_the_page_of_an_error_gets_it_too_so_that_it_heals() -> None:
    assert TAG in page(response(), "Accept: text/html", broken="SyntaxError: no")


def test_the_script_opens_a_socket_that_is_there() -> None:
    live, control = LiveReload(), Control()
    live.add_to(control)

    async def client(wire: Wire) -> tuple[bytes, bytes]:
        script = await wire.get(SCRIPT_PATH)
        upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
        return script, await wire.get(SOCKET, *upgrade, "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==")

    script, handshake = talk(client, live=live, control=control)
    assert SOCKET.encode() in script
    assert handshake.startswith(b"HTTP/1.1 101 ")
