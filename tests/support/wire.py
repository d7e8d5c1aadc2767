"""The front over a socket pair: no port, no process, a worker that is one Python function."""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from pyflare.clock import FakeClock
from pyflare.config.model import DevSettings
from pyflare.front.app import Front
from pyflare.front.connection import Hub
from pyflare.front.control import Control
from pyflare.front.http import HttpProtocol
from pyflare.front.incoming import Incoming
from pyflare.front.live_reload import LiveReload
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.log import Log

Handler = Callable[[Request], Awaitable[Response]]
LIMIT_S = 5.0


def response(
    body: bytes | None = b"hello", status: int = 200, headers: list[tuple[str, str]] | None = None, **more: Any
) -> Response:
    made = None if body is None else Body.make(body)
    return Response.make(status, None, Headers.make(headers or []), made, **more)


async def turn() -> None:
    await asyncio.sleep(0)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await turn()


@dataclass
class Wire:
    """A client's end of a connection, and what is behind the other one."""

    hub: Hub
    front: Front
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    out: io.StringIO  # the terminal

    async def get(self, target: str = "/", *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
        """Send a request and read its answer to the end: the raw bytes."""
        self.send(target, *headers, method=method, body=body)
        return await self.answer(method)

    def send(self, target: str = "/", *headers: str, method: str = "GET", body: bytes = b"") -> None:
        lines = [f"{method} {target} HTTP/1.1", *headers]
        if not any(header.lower().startswith("host:") for header in headers):
            lines.append("Host: localhost:8787")
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self.writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    async def answer(self, method: str = "GET") -> bytes:
        head = await self.reader.readuntil(b"\r\n\r\n")
        lowered = head.lower()
        if method == "HEAD" or b" 101 " in head[:15]:
            return head
        if b"transfer-encoding: chunked" in lowered:
            pieces = [head]
            while True:
                size = int(await self.reader.readline(), 16)
                piece = await self.reader.readexactly(size + 2)
                if not size:
                    return b"".join(pieces)
                pieces.append(piece[:-2])
        if b"content-length:" not in lowered:
            return head
        at = lowered.index(b"content-length:") + 15
        return head + await self.reader.readexactly(int(lowered[at : lowered.index(b"\r\n", at)]))


@dataclass
class Worker:
    """What the front takes for a server."""

    handler: Handler
    seen: list[Request] = field(default_factory=list)

    async def fetch(self, request: Request) -> Response:
        self.seen.append(request)
        return await self.handler(request)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close; it may have been closed from the other side meanwhile."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def talk(
    client: Callable[[Wire], Coroutine[Any, Any, Any]],
    handler: Handler | None = None,
    *,
    worker: Worker | None = None,
    dev: DevSettings | None = None,
    control: Control | None = None,
    broken: str | None = None,
    live: LiveReload | None = None,
    signals: bool = True,
) -> Any:
    """Run `client` against a front whose worker answers with `handler`; what the client gives."""

    async def hello(request: Request) -> Response:
        return response()

    async def run() -> Any:
        out = io.StringIO()
        hub = Hub(asyncio.get_running_loop(), FakeClock(), Log(out=out))
        serving = worker or Worker(handler or hello)
        front = Front(hub, Incoming(dev), serving, lambda: control or Control(), broken, live, signals)
        ours, theirs = socket.socketpair()
        await hub.loop.connect_accepted_socket(lambda: HttpProtocol(hub, front), ours)
        reader, writer = await asyncio.open_connection(sock=theirs)
        try:
            return await asyncio.wait_for(client(Wire(hub, front, reader, writer, out)), LIMIT_S)
        finally:
            await hang_up(writer)
            await until(lambda: not hub.running)
            hub.close()
            await turn()

    return asyncio.run(run())


def seen_by_worker(*requests: tuple[str, ...], dev: DevSettings | None = None) -> list[Request]:
    """The requests that a worker gets for (target, header lines…)."""

    async def hello(request: Request) -> Response:
        return response()

    worker = Worker(hello)

    async def client(wire: Wire) -> None:
        for target, *headers in requests:
            await wire.get(target, *headers)

    talk(client, worker=worker, dev=dev)
    return worker.seen
