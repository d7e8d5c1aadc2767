"""What a worker's fetch and WebSocket do over a real connection, to a server of this test."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from aiohttp import WSMsgType, web

from pyflare.interop.proxy import JsFunction
from pyflare.interop.web import outbound
from pyflare.interop.web.abort import AbortController
from pyflare.interop.web.fetch import fetch as fetch_function
from pyflare.interop.web.streams import ReadableStream
from pyflare.interop.web.websocket import WebSocket
from tests.support.web import js, rejection, run

fetch = JsFunction.make(fetch_function, "fetch")


async def echo(request: web.Request) -> web.Response:
    headers = [[name.decode().lower(), value.decode()] for name, value in request.raw_headers]
    return web.json_response({"method": request.method, "headers": headers, "body": (await request.read()).decode()})


async def packed(request: web.Request) -> web.Response:
    return web.Response(body=gzip.compress(b"squeeze me"), headers={"content-encoding": "gzip"})


async def cookies(request: web.Request) -> web.Response:
    response = web.Response(text="c", reason="Fine")
    response.headers.add("set-cookie", "a=1")
    response.headers.add("set-cookie", "b=2")
    return response


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b"first")
    await asyncio.Event().wait()
    return response


async def socket(request: web.Request) -> web.WebSocketResponse:
    connection = web.WebSocketResponse(protocols=["v1"])
    await connection.prepare(request)
    async for message in connection:
        if message.data == "bye":
            await connection.close(code=4001, message=b"as you wish")
        elif message.type is WSMsgType.TEXT:
            await connection.send_str("echo " + message.data)
        else:
            await connection.send_bytes(message.data[::-1])
    return connection


def noting(heard: list[Any], done: asyncio.Event, what: Callable[[Any], Any]) -> Callable[[Any], None]:
    """A listener that notes something of its event and is the last one."""

    def listener(event: Any) -> None:
        heard.append(what(event))
        done.set()

    return listener


def with_server(test: Callable[[str], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        application = web.Application()
        for path, handler in {
            "echo": echo,
            "packed": packed,
            "cookies": cookies,
            "endless": endless,
            "ws": socket,
        }.items():
            application.router.add_route("*", f"/{path}", handler)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            return await test(f"127.0.0.1:{runner.addresses[0][1]}")
        finally:
            await outbound.close()
            await runner.cleanup()

    return run(main)


def test_a_request_carries_its_headers_and_a_mark_but_no_user_agent() -> None:
    async def main(host: str) -> dict[str, str]:
        answer = await fetch(f"http://{host}/echo", method="POST", body="hé", headers=js({"X-Word": "w"}))
        data = (await answer.json()).to_py()
        assert (data["method"], data["body"]) == ("POST", "hé")
        return dict(data["headers"])

    headers = with_server(main)
    assert headers["x-word"] == "w"
    assert headers["content-type"] == "text/plain;charset=UTF-8"
    assert headers["content-length"] == "3"
    assert "cf-worker" in headers
    assert not {"user-agent", "accept"} & set(headers)


def test_an_answer_is_unpacked_once() -> None:
    async def main(host: str) -> list[object]:
        answer = await fetch(f"http://{host}/packed")
        return [answer.headers.get("content-encoding"), await answer.text()]

    assert with_server(main) == ["gzip", "squeeze me"]


def test_cookies_stay_apart_and_the_phrase_is_kept() -> None:
    async def main(host: str) -> list[object]:
        answer = await fetch(f"http://{host}/cookies")
        return [list(answer.headers.getSetCookie()), answer.statusText]

    assert with_server(main) == [["a=1", "b=2"], "Fine"]


def test_a_stream_goes_out_in_chunks_or_with_its_length() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(3):
            yield b"%d;" % number

    async def main(host: str) -> list[object]:
        seen: list[object] = []
        for length in (None, 6):
            answer = await fetch(f"http://{host}/echo", method="PUT", body=ReadableStream.of(pieces(), length))
            data = (await answer.json()).to_py()
            headers = dict(data["headers"])
            seen.append([data["body"], headers.get("transfer-encoding"), headers.get("content-length")])
        return seen

    assert with_server(main) == [["0;1;2;", "chunked", None], ["0;1;2;", None, "6"]]


def test_an_answer_is_read_while_it_comes_and_a_signal_cuts_it() -> None:
    async def main(host: str) -> list[object]:
        controller = AbortController.new()
        answer = await fetch(f"http://{host}/endless", signal=controller.signal)
        reader = answer.body.getReader()
        first = (await reader.read()).value.to_bytes()
        second = reader.read()
        controller.abort()
        return [first, await rejection(second)]

    assert with_server(main) == [b"first", "AbortError: The operation was aborted"]


def test_a_head_answer_has_no_body() -> None:
    async def main(host: str) -> list[object]:
        answer = await fetch(f"http://{host}/echo", method="HEAD")
        return [answer.status, await answer.text()]

    assert with_server(main) == [200, ""]


def test_a_closed_port_is_a_lost_connection() -> None:
    async def main(host: str) -> list[str]:
        headers = js({"Upgrade": "websocket"})
        return [
            await rejection(fetch("http://127.0.0.1:1/")),
            await rejection(fetch("http://127.0.0.1:1/", headers=headers)),
        ]

    assert with_server(main) == ["Error: Network connection lost."] * 2


def test_an_upgrade_gives_a_socket() -> None:
    async def main(host: str) -> list[object]:
        headers = js({"Upgrade": "websocket", "Sec-WebSocket-Protocol": "v0, v1"})
        answer = await fetch(f"http://{host}/ws", headers=headers)
        heard: list[Any] = []
        done = asyncio.Event()
        connection = answer.webSocket
        connection.binaryType = "arraybuffer"
        connection.onmessage = lambda event: heard.append(event.data)
        connection.onclose = noting(heard, done, lambda event: (event.code, event.reason, event.wasClean))
        connection.accept()
        for message in ("hi", js(b"abc"), "bye"):
            connection.send(message)
        await asyncio.wait_for(done.wait(), 5)
        heard[1] = heard[1].to_bytes()
        return [answer.status, answer.headers.get("sec-websocket-protocol"), *heard]

    assert with_server(main) == [101, "v1", "echo hi", b"cba", (4001, "as you wish", True)]


def test_an_upgrade_that_is_refused_gives_the_answer() -> None:
    async def main(host: str) -> list[object]:
        answer = await fetch(f"http://{host}/cookies", headers=js({"Upgrade": "websocket"}))
        return [answer.status, answer.webSocket is not None and bool(answer.webSocket), await answer.text()]

    assert with_server(main) == [200, False, "c"]


def test_a_client_socket_opens_talks_and_closes() -> None:
    async def main(host: str) -> list[object]:
        heard: list[Any] = []
        done = asyncio.Event()
        connection = WebSocket.new(f"ws://{host}/ws")
        heard.append(connection.readyState)

        def opened(event: Any) -> None:
            heard.append(("open", connection.readyState))
            connection.send("x")

        def message(event: Any) -> None:
            heard.append(event.data)
            connection.close(4005, "me")

        connection.onopen, connection.onmessage = opened, message
        connection.onclose = noting(heard, done, lambda event: ("close", event.wasClean, connection.readyState))
        await asyncio.wait_for(done.wait(), 5)
        return heard

    assert with_server(main) == [0, ("open", 1), "echo x", ("close", True, 3)]


def test_a_client_socket_that_finds_nobody_hears_an_error_and_a_close() -> None:
    async def main(host: str) -> list[object]:
        heard: list[Any] = []
        done = asyncio.Event()
        connection = WebSocket.new("ws://127.0.0.1:1/")
        connection.onerror = lambda event: heard.append(event.type)
        connection.onclose = noting(heard, done, lambda event: (event.code, event.wasClean))
        await asyncio.wait_for(done.wait(), 5)
        return heard

    assert with_server(main) == ["error", (1006, False)]


def test_a_signal_cuts_a_body_that_is_read_as_a_whole() -> None:
    async def main(host: str) -> str:
        controller = AbortController.new()
        answer = await fetch(f"http://{host}/endless", signal=controller.signal)
        reading = answer.text()
        await asyncio.sleep(0)
        controller.abort()
        return await rejection(reading)

    assert with_server(main) == "AbortError: The operation was aborted"
