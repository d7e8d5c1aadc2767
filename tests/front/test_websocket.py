"""A client's WebSocket and the worker's end of it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import Any

import pytest

from pyflare.front.frames import BINARY, CLOSE, PING, TEXT, close_frame, frame
from pyflare.interop.web.channel import Channel
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.interop.web.websocket import WebSocket
from tests.support.wire import Wire, response, talk, until

KEY = base64.b64encode(b"0123456789abcdef").decode()
UPGRADE = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {KEY}")


class End:
    """The worker's end: remembers what happens to it."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.log: list[tuple[Any, ...]] = []
        channel.attach(self)

    def on_message(self, data: str | bytes) -> None:
        self.log.append(("message", data))

    def on_close(self, code: int, reason: str, was_clean: bool) -> None:
        self.log.append(("close", code, reason, was_clean))

    def on_error(self, error: BaseException) -> None:
        self.log.append(("error", error))


class Client:
    """Speaks WebSocket over a `Wire`; frames are masked with zeros."""

    def __init__(self, wire: Wire, head: bytes) -> None:
        self.wire, self.head = wire, head

    def send(self, opcode: int, payload: bytes) -> None:
        made = bytearray(frame(opcode, payload))
        made[1] |= 0x80
        at = {126: 4, 127: 10}.get(made[1] & 0x7F, 2)
        self.wire.writer.write(bytes(made[:at]) + bytes(4) + bytes(made[at:]))

    async def receive(self) -> tuple[int, bytes]:
        first, size = await self.wire.reader.readexactly(2)
        if size > 125:
            size = int.from_bytes(await self.wire.reader.readexactly(2 if size == 126 else 8), "big")
        return first & 0x0F, await self.wire.reader.readexactly(size)


def coupled(steps: Any, headers: list[tuple[str, str]] | None = None, *asked: str) -> Any:
    """Run `steps(client, end)` over a socket that the worker accepted."""
    ends: list[End] = []

    async def handler(request: Request) -> Response:
        ours, theirs = Channel.pair()
        ends.append(End(theirs))
        return Response.make(101, None, Headers.make(headers or []), None, WebSocket.make(ours))

    async def client(wire: Wire) -> Any:
        head = await wire.get("/", *UPGRADE, *asked)
        return await steps(Client(wire, head), ends[0])

    return talk(client, handler)


def test_the_handshake_answers_the_key() -> None:
    async def steps(client: Client, end: End) -> bytes:
        return client.head

    head = coupled(steps)
    assert head.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    digest = hashlib.sha1(KEY.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()  # RFC 6455, 4.2.2
    assert b"Sec-WebSocket-Accept: " + base64.b64encode(digest) in head
    assert b"Sec-WebSocket-Protocol" not in head


def test_the_workers_headers_are_in_the_handshake() -> None:
    async def steps(client: Client, end: End) -> bytes:
        return client.head

    headers = [("Sec-WebSocket-Protocol", "v1"), ("Set-Cookie", "a=1")]
    head = coupled(steps, headers, "Sec-WebSocket-Protocol: v2, v1").lower()
    assert b"sec-websocket-protocol: v1\r\n" in head
    assert b"set-cookie: a=1\r\n" in head


def test_compression_that_a_client_offers_is_not_agreed_to() -> None:
    async def steps(client: Client, end: End) -> bytes:
        return client.head

    assert b"extensions" not in coupled(steps, None, "Sec-WebSocket-Extensions: permessage-deflate").lower()


def test_messages_pass_both_ways_with_their_kinds() -> None:
    async def steps(client: Client, end: End) -> Any:
        client.send(TEXT, "héllo".encode())
        client.send(BINARY, b"\x00\x01")
        client.send(TEXT, b"")
        await until(lambda: len(end.log) == 3)
        end.channel.send("back")
        end.channel.send(b"\xff")
        end.channel.send("")
        return list(end.log), [await client.receive() for _ in range(3)]

    log, received = coupled(steps)
    assert log == [("message", "héllo"), ("message", b"\x00\x01"), ("message", "")]
    assert received == [(TEXT, b"back"), (BINARY, b"\xff"), (TEXT, b"")]


def test_a_frame_that_comes_with_the_handshake_is_not_lost() -> None:
    ends: list[End] = []

    async def handler(request: Request) -> Response:
        ours, theirs = Channel.pair()
        ends.append(End(theirs))
        return Response.make(101, None, Headers.make([]), None, WebSocket.make(ours))

    async def client(wire: Wire) -> None:
        wire.send("/", *UPGRADE)
        Client(wire, b"").send(TEXT, b"early")
        await wire.answer()
        await until(lambda: bool(ends[0].log))

    talk(client, handler)
    assert ends[0].log[0] == ("message", "early")


def test_a_close_from_the_client_reaches_the_worker_and_its_answer_the_client() -> None:
    async def steps(client: Client, end: End) -> Any:
        client.send(CLOSE, close_frame(4001, "bye")[2:])
        await until(lambda: bool(end.log))
        end.channel.close(4001, "bye")
        answer = await client.receive()
        return end.log, answer, await client.wire.reader.read()

    log, answer, rest = coupled(steps)
    assert log == [("close", 4001, "bye", True)]
    assert answer == (CLOSE, (4001).to_bytes(2, "big") + b"bye")
    assert rest == b""


def test_a_close_from_the_worker_ends_when_the_client_has_answered() -> None:
    async def steps(client: Client, end: End) -> Any:
        end.channel.close(4100, "srv")
        first = await client.receive()
        client.send(CLOSE, first[1])
        await client.wire.reader.read()
        return first, end.log

    first, log = coupled(steps)
    assert first == (CLOSE, (4100).to_bytes(2, "big") + b"srv")
    assert log == [("close", 4100, "srv", True)]


def test_a_close_without_a_code_has_none() -> None:
    async def steps(client: Client, end: End) -> Any:
        end.channel.close()
        return await client.receive()

    assert coupled(steps) == (CLOSE, b"")


def test_a_client_that_vanishes_is_1006_for_the_worker() -> None:
    async def steps(client: Client, end: End) -> Any:
        client.wire.writer.transport.abort()
        await until(lambda: bool(end.log))
        return end.log[0]

    kind, code, _, clean = coupled(steps)
    assert (kind, code, clean) == ("close", 1006, False)


def test_a_worker_that_drops_its_end_breaks_the_connection() -> None:
    async def steps(client: Client, end: End) -> bytes:
        end.channel.drop()
        return await client.wire.reader.read()

    assert coupled(steps) == b""


def test_a_ping_is_answered() -> None:
    async def steps(client: Client, end: End) -> Any:
        client.send(PING, b"are you there")
        return await client.receive()

    assert coupled(steps) == (10, b"are you there")


@pytest.mark.cloudflare("workerd: an error event; its text as seen there")
def test_what_breaks_the_protocol_closes_with_its_code_and_is_an_error_and_1006_for_the_worker() -> None:
    async def steps(client: Client, end: End) -> Any:
        client.send(TEXT, b"\xff")
        opcode, payload = await client.receive()
        await until(lambda: bool(end.log))
        (_, told), (_, closed, *_) = end.log
        return opcode, int.from_bytes(payload[:2], "big"), told.message, closed

    said = "WebSocket protocol error; protocolError.statusCode = 1007; protocolError.description = text is not UTF-8"
    assert coupled(steps) == (CLOSE, 1007, said, 1006)


def test_a_message_above_32_mib_closes_with_1009() -> None:
    async def steps(client: Client, end: End) -> int:
        client.wire.writer.write(bytes((0x82, 0xFF)) + (33 * 1024 * 1024).to_bytes(8, "big"))
        await asyncio.sleep(0)
        client.wire.writer.write(bytes(4))
        _, payload = await client.receive()
        return int.from_bytes(payload[:2], "big")

    assert coupled(steps) == 1009


def test_a_reload_closes_with_1012() -> None:
    async def steps(client: Client, end: End) -> Any:
        client.wire.hub.end_sockets(1012, "Service Restart")
        opcode, payload = await client.receive()
        return opcode, payload[2:], end.log[0][1]

    assert coupled(steps) == (CLOSE, b"Service Restart", 1006)


def test_a_plain_answer_to_a_handshake_is_a_plain_answer() -> None:
    async def handler(request: Request) -> Response:
        return response(b"no sockets here", 426)

    async def client(wire: Wire) -> tuple[bytes, bytes]:
        return await wire.get("/", *UPGRADE), await wire.get("/")

    first, second = talk(client, handler)
    assert first.endswith(b"no sockets here")
    assert second.endswith(b"no sockets here")


@pytest.mark.parametrize(
    ("headers", "status"),
    [((), 500), (("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 12"), 426)],
)
def test_a_socket_for_somebody_who_asked_for_none_is_an_error(headers: tuple[str, ...], status: int) -> None:
    async def handler(request: Request) -> Response:
        return Response.make(101, None, Headers.make([]), None, WebSocket.make(Channel.pair()[0]))

    async def client(wire: Wire) -> bytes:
        return await wire.get("/", *headers)

    assert talk(client, handler).split()[1] == str(status).encode()
