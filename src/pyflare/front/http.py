"""HTTP/1.1 on a socket. httptools parses; the app gets an `Exchange` as soon as a request's head is complete.

This is a protocol of our own instead of an ASGI server's: per request, scope dictionaries, message dictionaries and
events cost as much as everything else that happens here, the reason phrase of an answer cannot pass through ASGI, and
an idle connection must be able to move to another process (`Hub.release_idle`).
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import quote

import httptools

from pyflare.front.connection import Connection, Hub
from pyflare.front.exchange import Exchange

MAX_HEAD_BYTES = 256 * 1024  # of one request; Cloudflare allows 128 KB in total (developers.cloudflare.com, "Limits")
PIPELINE_LIMIT = 32  # requests that one connection may have waiting

NAMES = {
    name.encode(): name.lower()
    for name in ("host", "user-agent", "accept", "accept-encoding", "accept-language", "content-type", "content-length",
                 "cookie", "origin", "referer", "authorization", "cache-control", "Host", "User-Agent", "Accept",
                 "Accept-Encoding", "Accept-Language", "Content-Type", "Content-Length", "Cookie", "Origin", "Referer")
}  # fmt: skip

METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")}
TELLING = frozenset(("connection", "expect", "upgrade"))  # headers about the connection

App = Callable[[Exchange], Coroutine[Any, Any, None]]


class HttpProtocol(Connection):
    """One connection. Requests are answered one after the other; pipelined ones wait."""

    def __init__(self, hub: Hub, app: App) -> None:
        super().__init__(hub)
        self.app = app
        self.scheme = "http"
        self.client = ""
        self.parser: Any = httptools.HttpRequestParser(self)
        self.writable: asyncio.Future[None] | None = None  # pending while the client reads too slowly
        self._current: Exchange | None = None
        self._incoming: Exchange | None = None  # whose body is being received
        self._waiting: deque[Exchange] = deque()
        self._partial = False  # a head has begun and is not complete
        self._head_bytes = 0
        self._paused = False
        self._out: list[bytes] = []  # whole answers that are written when the loop turns
        self._upgrading: list[bytes] | None = None  # what came after a request that asks for a WebSocket
        self._target = b""
        self._headers: list[tuple[str, str]] = []
        self._telling = False

    # --- asyncio --------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.client = peer[0] if peer else "127.0.0.1"
        if transport.get_extra_info("ssl_object") is not None:
            self.scheme = "https"

    def data_received(self, data: bytes) -> None:
        if self._upgrading is not None:
            self._upgrading.append(data)
            return
        last, began = self._incoming, self._partial
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._after_upgrade_request(data[upgrade.args[0] :])
        except httptools.HttpParserError as refused:
            if isinstance(refused, httptools.HttpParserInvalidURLError) and self._incoming is last and not began:
                escaped = _with_escaped_target(data)
                if escaped != data:
                    self.parser = httptools.HttpRequestParser(self)
                    self.data_received(escaped)
                    return
            last = self._incoming
            if last is None or last.keep_alive or not last.complete:  # what follows "connection: close" is ignored
                self._refuse(400, "Bad Request")
            return
        if self._partial:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(431, "Request Header Fields Too Large")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.resume_writing()
        for exchange in (self._current, *self._waiting):
            if exchange is not None:
                exchange.lose()
        self._current = None
        self._waiting.clear()
        self.parser = None

    def write_soon(self, *pieces: bytes) -> None:
        """Write when the loop turns, together with what the other connections write: a client that is woken once takes
        many answers, and waking it is what costs."""
        if not self._out:
            self.hub.flush_soon(self)
        self._out += pieces

    def write(self, data: bytes) -> None:
        """Write now, after what waits."""
        self.flush()
        self.transport.write(data)

    def flush(self) -> None:
        if self._out:
            pieces, self._out = self._out, []
            if not self.transport.is_closing():
                self.transport.writelines(pieces)

    def close(self) -> None:
        """Close after what waits is written."""
        self.flush()
        self.transport.close()

    def pause_writing(self) -> None:
        self.writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        writable, self.writable = self.writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    def pause_reading(self) -> None:
        if not self._paused and not self.transport.is_closing():
            self._paused = True
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        if self._paused and not self.transport.is_closing():
            self._paused = False
            self.transport.resume_reading()

    # --- httptools ------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._partial = True
        self._telling = False
        self._head_bytes = 0
        self._target = b""
        self._headers = []

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        key = NAMES.get(name)
        if key is None:
            key = name.decode("latin-1").lower()
            if key in TELLING:
                self._telling = True
        try:
            self._headers.append((key, value.rstrip(b" \t").decode()))
        except UnicodeDecodeError:
            self._headers.append((key, value.decode(errors="replace")))

    def on_headers_complete(self) -> None:
        self._partial = False
        parser = self.parser
        method = parser.get_method()
        exchange = Exchange(self, METHODS.get(method) or method.decode(), self._target.decode("latin-1"), self._headers)
        self._headers = []  # trailers are no headers of the request
        if self._telling:
            self._look_closer(exchange)
        if not parser.should_keep_alive():
            exchange.keep_alive = False
            exchange.version = parser.get_http_version()
        self._incoming = exchange
        if self._current is None:
            self._start(exchange)
            return
        self._waiting.append(exchange)
        if len(self._waiting) >= PIPELINE_LIMIT:
            self.pause_reading()

    def _look_closer(self, exchange: Exchange) -> None:
        """Some header says more of the connection than most do."""
        exchange.version = self.parser.get_http_version()
        for name, value in exchange.headers:
            if name == "upgrade":
                exchange.upgrades = value.lower() == "websocket" and self.parser.should_upgrade()
            elif name == "expect":
                exchange.expects = value.lower() == "100-continue"

    def on_body(self, body: bytes) -> None:
        if self._incoming is not None and not self._incoming.over:  # what nobody will read is thrown away
            self._incoming.feed(body)

    def on_message_complete(self) -> None:
        incoming = self._incoming
        if incoming is not None:
            incoming.complete = True
            incoming.wake()
            if not incoming.keep_alive and self._current is not incoming and incoming not in self._waiting:
                self.close()  # answered before its body was here

    # --- requests, one after the other ------------------------------------------------------------------------------

    def _start(self, exchange: Exchange) -> None:
        self._current = exchange
        exchange.started_at = self.hub.loop.time()
        exchange.task = self.hub.begin(exchange, self.app(exchange))

    def answered(self, exchange: Exchange) -> None:
        """`exchange` is answered: go on with the next one, or close."""
        self._current = None
        exchange.over = True
        exchange.discard()
        if not exchange.keep_alive:
            self._waiting.clear()
            if exchange.complete or exchange.expects:
                self.close()
            else:  # closing with unread input would reset the connection and lose the answer
                self.resume_reading()
                self.hub.loop.call_later(2.0, self.close)
            return
        if self._upgrading is not None:
            early, self._upgrading = b"".join(self._upgrading), None
            if early:
                self.data_received(early)
        if self._waiting:
            self._start(self._waiting.popleft())
        self.resume_reading()
        if self._current is None:
            self.hub.rested(self)

    def hand_to(self, successor: Callable[[asyncio.Transport], Connection]) -> None:
        """Another protocol takes over, with what was received too early for this one."""
        early, self._upgrading = b"".join(self._upgrading or ()), None
        self._current = None
        self.hub.connections.discard(self)
        protocol = successor(self.transport)
        self.transport.set_protocol(protocol)
        self.resume_reading()
        if early:
            protocol.data_received(early)

    def _after_upgrade_request(self, rest: bytes) -> None:
        self.parser = httptools.HttpRequestParser(self)
        if self._incoming is not None and self._incoming.upgrades:
            self._upgrading = [rest] if rest else []
        elif rest:  # any other Upgrade is declined by being answered as if it were not there
            self.data_received(rest)

    def _refuse(self, status: int, reason: str) -> None:
        if self._current is None:
            body = reason.encode()
            head = f"HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain\r\ncontent-length: {len(body)}\r\n"
            self.write(head.encode() + b"connection: close\r\n\r\n" + body)
        self.close()

    # --- moving to another process ----------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Nothing is being answered, nothing is half received."""
        incoming = self._incoming
        return self._current is None and not self._partial and (incoming is None or incoming.complete)


def _with_escaped_target(data: bytes) -> bytes:
    """A request whose first line may be UTF-8, as curl sends a path that was typed so: the parser takes ASCII alone."""
    line, *rest = data.split(b"\n", 1)
    escaped = re.sub("[^\0-\x7f]+", lambda found: quote(found[0]), line.decode(errors="replace"))
    return b"\n".join((escaped.encode(), *rest))
