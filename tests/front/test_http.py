"""HTTP/1.1 over a socket pair."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from pyflare.clock import FakeClock
from pyflare.front.connection import Hub
from pyflare.front.exchange import ClientGone, Exchange
from pyflare.front.http import App, HttpProtocol
from pyflare.log import Log
from tests.support.wire import hang_up, turn, until

GET = b"GET /a?b=1 HTTP/1.1\r\nHost: x\r\n\r\n"
Client = Callable[[Hub, asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, Any]]


def serve(handler: Callable[[Exchange], Awaitable[None]], client: Client) -> Any:
    """Run `client` against a connection whose requests `handler` answers."""

    async def app(exchange: Exchange) -> None:
        try:
            await handler(exchange)
        finally:
            exchange.connection.hub.ended(exchange)

    return asyncio.run(_serve(app, client))


async def _serve(app: App, client: Client) -> Any:
    ours, theirs = socket.socketpair()
    loop = asyncio.get_running_loop()
    hub = Hub(loop, FakeClock(), Log("none"))
    await loop.connect_accepted_socket(lambda: HttpProtocol(hub, app), ours)
    reader, writer = await asyncio.open_connection(sock=theirs)
    try:
        return await asyncio.wait_for(client(hub, reader, writer), 5)
    finally:
        hub.close()
        await hang_up(writer)


def exchange_bytes(handler: Callable[[Exchange], Awaitable[None]], *pieces: bytes, until: bytes | None = None) -> bytes:
    """Send `pieces`, each in a turn of its own; what came back until `until`, or until the connection closed."""

    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await (reader.read() if until is None else reader.readuntil(until))

    answer = serve(handler, client)
    assert isinstance(answer, bytes)
    return answer


async def hello(exchange: Exchange) -> None:
    exchange.respond(200, "OK", [("content-type", "text/plain")], b"hello")


async def echo(exchange: Exchange) -> None:
    exchange.begin(200, "OK", [], None)
    while piece := await exchange.read():
        exchange.write(piece)
    exchange.finish()


def test_a_request_is_told_as_it_was_sent() -> None:
    seen: list[Exchange] = []

    async def app(exchange: Exchange) -> None:
        seen.append(exchange)
        await hello(exchange)

    exchange_bytes(app, b"GET /a%20b?c=d HTTP/1.1\r\nHost: x\r\nX-Word: v\xc3\xa9\r\n\r\n", until=b"hello")
    assert (seen[0].method, seen[0].target) == ("GET", "/a%20b?c=d")
    assert seen[0].headers == [("host", "x"), ("x-word", "vé")]


def test_spaces_around_a_value_are_none_of_it() -> None:
    seen: list[Exchange] = []

    async def app(exchange: Exchange) -> None:
        seen.append(exchange)
        await hello(exchange)

    exchange_bytes(app, b"GET / HTTP/1.1\r\nHost: x\r\nX-Word:  a  b \t \r\n\r\n", until=b"hello")
    assert seen[0].headers[1] == ("x-word", "a  b")


def test_what_is_not_utf8_in_a_header_is_replaced() -> None:
    seen: list[Exchange] = []

    async def app(exchange: Exchange) -> None:
        seen.append(exchange)
        await hello(exchange)

    exchange_bytes(app, b"GET / HTTP/1.1\r\nHost: x\r\nX-Word: \xe9\r\n\r\n", until=b"hello")
    assert seen[0].headers[1] == ("x-word", "\ufffd")


@pytest.mark.parametrize(
    ("sent", "target"),
    [
        (b"/caf\xc3\xa9?w=\xc3\xbc", "/caf%C3%A9?w=%C3%BC"),
        (b"/caf\xe9", "/caf%EF%BF%BD"),
    ],
)
def test_a_target_that_was_not_escaped_is_escaped(sent: bytes, target: str) -> None:
    seen: list[str] = []

    async def app(exchange: Exchange) -> None:
        seen.append(exchange.target)
        await hello(exchange)

    exchange_bytes(app, b"GET " + sent + b" HTTP/1.1\r\nHost: x\r\n\r\n", until=b"hello")
    assert seen == [target]


def test_a_control_character_in_a_target_is_400() -> None:
    assert exchange_bytes(hello, b"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 400")


def test_trailers_are_no_headers() -> None:
    seen: list[Exchange] = []

    async def app(exchange: Exchange) -> None:
        while await exchange.read():
            pass
        seen.append(exchange)
        await hello(exchange)

    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    exchange_bytes(app, head + b"2\r\nab\r\n0\r\nX-Trailer: 1\r\n\r\n", until=b"hello")
    assert [name for name, _ in seen[0].headers] == ["host", "transfer-encoding"]


def test_an_answer_has_reason_date_and_length() -> None:
    async def app(exchange: Exchange) -> None:
        exchange.respond(299, "Rather Fine", [], b"hello")

    answer = exchange_bytes(app, GET, until=b"hello")
    assert answer.startswith(b"HTTP/1.1 299 Rather Fine\r\n")
    assert b"date: Tue, 14 Nov 2023 22:13:20 GMT\r\n" in answer
    assert b"content-length: 5\r\n" in answer


def test_pipelined_answers_stay_in_their_order_whatever_their_size() -> None:
    bodies = [b"a", b"b" * 300_000, b"c" * 20_000, b"d"]
    left = list(bodies)

    async def app(exchange: Exchange) -> None:
        exchange.respond(200, "OK", [], left.pop(0))

    last = GET.replace(b"Host", b"Connection: close\r\nHost")
    answer = exchange_bytes(app, GET * 3 + last)
    assert [part.partition(b"\r\n\r\n")[2] for part in answer.split(b"HTTP/1.1 ")[1:]] == bodies


def test_an_own_date_is_kept() -> None:
    async def app(exchange: Exchange) -> None:
        exchange.respond(200, "OK", [("date", "then")], b"hello")

    assert exchange_bytes(app, GET, until=b"hello").count(b"date:") == 1


def test_a_head_request_gets_the_length_and_no_body() -> None:
    answer = exchange_bytes(hello, b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.endswith(b"content-length: 5\r\nconnection: close\r\n\r\n")


def test_204_has_no_length() -> None:
    async def app(exchange: Exchange) -> None:
        exchange.respond(204, "No Content", [], b"")

    for method in (b"GET", b"HEAD"):
        answer = exchange_bytes(app, method + b" / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"content-length" not in answer


def test_a_body_of_unknown_length_is_chunked() -> None:
    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
    answer = exchange_bytes(echo, request, until=b"0\r\n\r\n")
    assert answer.endswith(b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")


def test_http_1_0_gets_an_unknown_length_until_the_end_of_the_connection() -> None:
    request = b"POST / HTTP/1.0\r\nHost: x\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello"
    answer = exchange_bytes(echo, request)
    assert b"chunked" not in answer
    assert answer.endswith(b"connection: close\r\n\r\nhello")


def test_a_chunk_leaves_before_the_next_one_exists() -> None:
    more = asyncio.Event()

    async def app(exchange: Exchange) -> None:
        exchange.begin(200, "OK", [], None)
        exchange.write(b"one")
        await more.wait()
        exchange.write(b"two")
        exchange.finish()

    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET)
        await reader.readuntil(b"one\r\n")
        more.set()
        return await reader.readuntil(b"0\r\n\r\n")

    assert serve(app, client) == b"3\r\ntwo\r\n0\r\n\r\n"


def test_an_announced_length_is_never_exceeded() -> None:
    async def app(exchange: Exchange) -> None:
        exchange.begin(200, "OK", [], 3)
        exchange.write(b"hello")
        exchange.finish()

    answer = exchange_bytes(app, GET + GET, until=b"hel")
    assert b"content-length: 3\r\n" in answer


def test_an_answer_shorter_than_announced_cuts_the_connection() -> None:
    async def app(exchange: Exchange) -> None:
        exchange.begin(200, "OK", [], 10)
        exchange.write(b"hello")
        exchange.finish()

    assert exchange_bytes(app, GET + GET).count(b" 200 OK") <= 1  # and it ends, which is what is read until


def test_the_body_that_arrived_with_the_head_is_whole() -> None:
    bodies: list[bytes | None] = []

    async def app(exchange: Exchange) -> None:
        bodies.append(exchange.whole())
        await hello(exchange)

    exchange_bytes(app, b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", until=b"hello")
    assert bodies == [b"abc"]


def test_pipelined_requests_are_answered_in_order() -> None:
    async def app(exchange: Exchange) -> None:
        if exchange.target == "/slow":
            for _ in range(5):
                await turn()
        exchange.respond(200, "OK", [], exchange.target.encode())

    pair = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /fast HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = exchange_bytes(app, pair, until=b"/fast")
    assert answer.index(b"/slow") < answer.index(b"/fast")


def test_a_body_that_nobody_reads_does_not_disturb_the_next_request() -> None:
    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    answer = exchange_bytes(hello, request + b"GET / HTTP/1.0\r\nHost: x\r\n\r\n")
    assert answer.count(b"HTTP/1.1 200 OK") == 2


def test_a_large_body_that_nobody_reads_does_not_stop_the_connection() -> None:
    large = b"x" * 2_000_000

    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(large) + large)
        await reader.readuntil(b"hello")
        writer.write(GET)
        return await reader.readuntil(b"hello")

    assert b" 200 OK" in serve(hello, client)


def test_a_client_that_waits_for_100_continue_gets_it_when_the_body_is_read() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"

    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(head)
        first = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"abc")
        await reader.readuntil(b"0\r\n\r\n")
        return first

    assert serve(echo, client) == b"HTTP/1.1 100 Continue\r\n\r\n"


def test_a_client_that_waits_for_100_continue_in_vain_loses_the_connection() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
    answer = exchange_bytes(hello, head)
    assert b"100 Continue" not in answer
    assert b"connection: close" in answer


def test_garbage_is_400() -> None:
    assert exchange_bytes(hello, b"\x16\x03\x01 what\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_an_endless_head_is_431() -> None:
    pieces = [b"GET / HTTP/1.1\r\n"] + [b"X-%d: " % number + b"x" * 10_000 + b"\r\n" for number in range(40)]

    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        try:
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
        except ConnectionError:
            pass
        return await reader.readline()

    assert serve(hello, client).startswith(b"HTTP/1.1 431 ")


def test_an_upgrade_to_something_else_is_served_as_if_it_were_not_there() -> None:
    request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    assert exchange_bytes(hello, request + b"GET / HTTP/1.0\r\n\r\n").count(b" 200 OK") == 2


def test_a_websocket_request_may_be_answered_plainly() -> None:
    request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert exchange_bytes(hello, request + b"GET / HTTP/1.0\r\n\r\n").count(b" 200 OK") == 2


def test_a_client_that_goes_away_cancels_the_handler() -> None:
    cancelled: list[str] = []

    async def app(exchange: Exchange) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append(exchange.target)
            raise

    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(GET)
        await until(lambda: bool(hub.running))
        writer.close()
        await until(lambda: not hub.running)

    serve(app, client)
    assert cancelled == ["/a?b=1"]


def test_a_client_that_vanishes_amid_its_body_ends_the_reading() -> None:
    ended: list[type[BaseException]] = []

    async def app(exchange: Exchange) -> None:
        exchange.on_gone = lambda _: None
        try:
            while await exchange.read():
                pass
        except ClientGone as gone:
            ended.append(type(gone))

    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        await until(lambda: bool(hub.running))
        writer.close()
        await until(lambda: not hub.running)

    serve(app, client)
    assert ended == [ClientGone]


def test_an_idle_connection_moves_with_what_the_client_sends_meanwhile() -> None:
    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET)
        await reader.readuntil(b"hello")
        moved: list[int] = []
        hub.release_idle(moved.append)
        writer.write(GET)
        loop = asyncio.get_running_loop()
        other = Hub(loop, FakeClock(), Log("none"))

        async def app(exchange: Exchange) -> None:
            exchange.respond(200, "OK", [], b"from the other")
            other.ended(exchange)

        await loop.connect_accepted_socket(lambda: HttpProtocol(other, app), socket.socket(fileno=moved[0]))
        answer = await reader.readuntil(b"from the other")
        other.close()
        return answer

    assert serve(hello, client).startswith(b"HTTP/1.1 200 OK")


def test_a_busy_connection_moves_after_its_answer() -> None:
    go = asyncio.Event()

    async def app(exchange: Exchange) -> None:
        await go.wait()
        await hello(exchange)

    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, bytes]:
        writer.write(GET)
        await until(lambda: bool(hub.running))
        moved: list[int] = []
        hub.release_idle(moved.append)
        before = len(moved)
        go.set()
        answer = await reader.readuntil(b"hello")
        await until(lambda: bool(moved))
        socket.socket(fileno=moved[0]).close()
        return before, answer

    before, answer = serve(app, client)
    assert before == 0
    assert b"connection: close" not in answer


def test_what_outlives_the_drain_is_cancelled() -> None:
    async def app(exchange: Exchange) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            assert exchange.connection.hub.expired
            exchange.respond(503, "Service Unavailable", [("retry-after", "0")], b"")

    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(GET)
        await until(lambda: bool(hub.running))
        await hub.drain(0.0)
        return await reader.readuntil(b"\r\n\r\n")

    assert serve(app, client).startswith(b"HTTP/1.1 503 ")


def test_a_closing_server_says_so_in_its_last_answer() -> None:
    async def app(exchange: Exchange) -> None:
        exchange.connection.hub.closing = True
        await hello(exchange)

    assert b"connection: close" in exchange_bytes(app, GET)


def test_a_request_that_nothing_answers_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    async def app(exchange: Exchange) -> None:
        await asyncio.get_running_loop().create_future()

    async def client(hub: Hub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hub.log = Log()
        writer.write(GET)
        await until(lambda: bool(hub.running))
        next(iter(hub.running)).started_at -= 100
        hub.name_the_silent()
        await hub.drain(0.0)

    serve(app, client)
    assert "GET /a?b=1 is unanswered" in capsys.readouterr().out
