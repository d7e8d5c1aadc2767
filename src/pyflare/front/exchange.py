"""One request and its answer, as the app sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyflare.front.connection import Connection

if TYPE_CHECKING:
    from pyflare.front.http import HttpProtocol

READ_AHEAD_BYTES = 256 * 1024  # body that is buffered before the socket is paused
COPIED_BYTES = 16 * 1024  # a body up to that is joined with its head
NO_BODY = frozenset((204, 304))  # statuses without content-length


class ClientGone(ConnectionError):
    """The client closed the connection before its request was complete."""


class Exchange:
    """One request and its answer on the wire.

    `target` is the request line's, undecoded; `headers` are pairs with lower-case names. `respond` sends a whole
    answer; `begin`, `write` and `drain`, `finish` send one in pieces; `upgrade` hands the socket to another protocol.
    When the client goes away `gone` is set and `on_gone` called; what is written afterwards vanishes.
    """

    # Defaults of the class, so that a plain request sets next to nothing.
    version = "1.1"
    keep_alive = True
    upgrades = False  # asks for a WebSocket
    expects = False  # waits for "100 Continue"
    complete = False  # the whole request has arrived
    gone = False
    started = False  # the answer's head is written
    over = False  # all of it is
    status = 0  # of that answer
    started_at = 0.0  # of the loop's clock
    named = False  # the log said that nothing answers it
    accepts = ""  # the client's own accept-encoding
    request: Any = None  # what the app made of it
    on_gone: Callable[[Exchange], None] | None = None
    task: asyncio.Task[None] | None = None
    _chunks: list[bytes] | None = None
    _received = 0
    _waiter: asyncio.Future[None] | None = None
    _chunked = False
    _left: int | None = None  # bytes of a declared content-length that are still to come

    def __init__(self, connection: HttpProtocol, method: str, target: str, headers: list[tuple[str, str]]) -> None:
        self.connection = connection
        self.method = method
        self.target = target
        self.headers = headers

    @property
    def scheme(self) -> str:
        return self.connection.scheme

    @property
    def client(self) -> str:
        """The address of the client."""
        return self.connection.client

    # --- the request's body ---------------------------------------------------------------------------------------

    def whole(self) -> bytes | None:
        """The body, when all of it has arrived and nothing was read; None when it has to be streamed."""
        if not self.complete:
            return None
        if not self._chunks:
            return b""
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)

    async def read(self) -> bytes:
        """The next piece of the body; empty at its end. Raises `ClientGone`."""
        while not self._chunks:
            if self.complete:
                return b""
            if self.gone:
                raise ClientGone("Network connection lost.")
            self._ask_for_body()
            self.connection.resume_reading()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        piece = b"".join(self._chunks)
        self.discard()
        self.connection.resume_reading()
        return piece

    def _ask_for_body(self) -> None:
        if self.expects:
            self.expects = False
            self.connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def feed(self, data: bytes) -> None:
        if self._chunks is None:
            self._chunks = []
        self._chunks.append(data)
        self._received += len(data)
        if self._received > READ_AHEAD_BYTES:
            self.connection.pause_reading()
        self.wake()

    def discard(self) -> None:
        self._chunks = None
        self._received = 0

    def wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def lose(self) -> None:
        self.gone = True
        self.wake()
        if self.on_gone is not None:
            self.on_gone(self)
        elif self.task is not None:
            self.task.cancel()

    # --- the answer -----------------------------------------------------------------------------------------------

    def respond(self, status: int, reason: str, headers: list[tuple[str, str]], body: bytes) -> None:
        """Send a whole answer; `headers` must not frame the body."""
        head = self._head(status, reason, headers, len(body))
        if self.method == "HEAD" or status in NO_BODY:
            body = b""
        if not self.keep_alive:
            self.connection.write(head + body)
        elif len(body) <= COPIED_BYTES:
            self.connection.write_soon(head + body)
        else:
            self.connection.write_soon(head, body)
        self._end()

    def begin(self, status: int, reason: str, headers: list[tuple[str, str]], length: int | None) -> None:
        """Send the head of an answer whose body follows in `length` bytes, or in as many as come (None)."""
        self._ask_for_body()  # it may become the answer
        self._left = length
        self._chunked = length is None and self.version == "1.1"
        if length is None and not self._chunked:
            self.keep_alive = False
        head = self._head(status, reason, headers, length)
        if self._chunked and self.method != "HEAD":
            head = head[:-2] + b"transfer-encoding: chunked\r\n\r\n"
        self.connection.write(head)

    def write(self, piece: bytes) -> None:
        if not piece or self.gone or self.method == "HEAD":
            return
        if self._chunked:
            piece = b"%x\r\n%b\r\n" % (len(piece), piece)
        elif self._left is not None:
            piece = piece[: self._left]
            self._left -= len(piece)
        self.connection.write(piece)

    async def drain(self) -> None:
        """Wait while the client reads slower than we write."""
        writable = self.connection.writable
        if writable is not None and not self.gone:
            await asyncio.shield(writable)

    def finish(self) -> None:
        if self._left and self.method != "HEAD":
            self.abort()  # shorter than announced: only a closed connection tells the client
            return
        if self._chunked and not self.gone and self.method != "HEAD":
            self.connection.write(b"0\r\n\r\n")
        self._end()

    def abort(self) -> None:
        """Cut the connection: the answer broke off, and the client must see that."""
        self.connection.transport.abort()

    def upgrade(self, headers: list[tuple[str, str]], successor: Callable[[asyncio.Transport], Connection]) -> None:
        """Answer 101; from here on the connection belongs to what `successor` makes."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        self.started = True
        self.connection.write(f"HTTP/1.1 101 Switching Protocols\r\n{lines}\r\n".encode())
        self.connection.hand_to(successor)

    def _head(self, status: int, reason: str, headers: list[tuple[str, str]], length: int | None) -> bytes:
        """Headers need no check here: `Headers` and `Response` refuse line breaks."""
        hub = self.connection.hub
        self.started, self.status = True, status
        head = f"HTTP/1.1 {status} {reason}\r\n"
        dated = False
        for name, value in headers:
            head += f"{name}: {value}\r\n"
            if name == "date":
                dated = True
        if not dated:
            head += hub.date_line(self.started_at)
        if length is not None and status not in NO_BODY:
            head += f"content-length: {length}\r\n"
        if not self.keep_alive or self.expects or hub.closing:
            self.keep_alive = False
            head += "connection: close\r\n"
        elif self.version == "1.0":
            head += "connection: keep-alive\r\n"
        return (head + "\r\n").encode()

    def _end(self) -> None:
        if not self.gone:
            self.connection.answered(self)
