"""What all connections of a server share, and how they leave it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from email.utils import formatdate
from typing import TYPE_CHECKING, Any, cast

from pyflare.clock import Clock
from pyflare.log import Log

if TYPE_CHECKING:
    from pyflare.front.exchange import Exchange

NAMED_AFTER_S = 30.0  # a request that is unanswered for so long gets a line
FLUSH_RETRY_S = 0.005


class Connection(asyncio.Protocol):
    """A client's socket: HTTP, or a WebSocket after an upgrade."""

    transport: asyncio.Transport
    scheme = "http"

    def __init__(self, hub: Hub) -> None:
        self.hub = hub

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.hub.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.hub.connections.discard(self)

    @property
    def idle(self) -> bool:
        return False

    def flush(self) -> None:
        """Write what waits; see `Hub.flush_soon`."""

    def close(self) -> None:
        self.transport.close()

    def end(self, code: int, reason: str) -> None:
        """The server goes away; a WebSocket says so with a close frame."""


class Hub:
    """The connections of one server and the requests that they are answering."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock, log: Log) -> None:
        self.loop = loop
        self.log = log
        self.connections: set[Connection] = set()
        self.running: set[Exchange] = set()
        self.closing = False  # answers say "connection: close"
        self.expired = False  # what still runs is answered 503
        self._clock = clock
        self._unflushed: list[Connection] = []
        self._date, self._date_until = "", -1.0
        self._naming: asyncio.TimerHandle | None = None
        self._take: Callable[[int], None] | None = None
        self._rest: asyncio.Event | None = None

    def begin(self, exchange: Exchange, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work`, which answers `exchange` and calls `ended` when it is over."""
        self.running.add(exchange)
        if self._naming is None:
            self._naming = self.loop.call_later(NAMED_AFTER_S / 3, self.name_the_silent)
        # Past the loop's task factory: this is no task of worker code yet.
        return asyncio.Task(work, loop=self.loop)

    def ended(self, exchange: Exchange) -> None:
        self.running.discard(exchange)
        if self._rest is not None and not self.running:
            self._rest.set()

    def flush_soon(self, connection: Connection) -> None:
        """Call `connection.flush` when the loop turns."""
        self._unflushed.append(connection)
        if len(self._unflushed) == 1:
            self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        unflushed, self._unflushed = self._unflushed, []
        for connection in unflushed:
            connection.flush()

    def date_line(self, moment: float) -> str:
        """The date header, made anew twice a second; `moment` is of the loop's clock."""
        if moment >= self._date_until:
            self._date_until = moment + 0.5
            self._date = f"date: {formatdate(self._clock.now(), usegmt=True)}\r\n"
        return self._date

    def name_the_silent(self) -> None:
        self._naming = self.loop.call_later(NAMED_AFTER_S / 3, self.name_the_silent) if self.running else None
        oldest = self.loop.time() - NAMED_AFTER_S
        for exchange in self.running:
            if exchange.started_at < oldest and not exchange.started and not exchange.named:
                exchange.named = True
                self.log.warn(f"{exchange.method} {exchange.target} is unanswered after {NAMED_AFTER_S:.0f} s")

    # --- leaving ----------------------------------------------------------------------------------------------------

    async def drain(self, seconds: float) -> None:
        """Give what is being answered `seconds` to end; the rest is answered 503, or cut when it has begun."""
        self._rest = asyncio.Event()
        timer = self.loop.call_later(seconds, self._rest.set)
        if self.running:
            await self._rest.wait()
        timer.cancel()
        if not self.running:
            return
        self.expired = True
        self._rest.clear()
        for exchange in list(self.running):
            if exchange.task is not None:
                exchange.task.cancel()
        timer = self.loop.call_later(0.2, self._rest.set)  # a handler may refuse to be cancelled
        await self._rest.wait()
        timer.cancel()

    def end_sockets(self, code: int, reason: str) -> None:
        """Close the WebSockets with `code`."""
        for connection in list(self.connections):
            connection.end(code, reason)

    def release_idle(self, take: Callable[[int], None]) -> None:
        """Give each connection to `take`, as a file descriptor, once it rests between two requests.

        Nothing is lost by that: what the client sends meanwhile stays in the kernel. TLS cannot move.
        """
        self._take = take
        for connection in list(self.connections):
            if connection.idle:
                self.rested(connection)

    def rested(self, connection: Connection) -> None:
        """`connection` has answered everything."""
        if self._take is None or connection.scheme == "https" or connection.transport.is_closing():
            return
        connection.flush()
        transport = connection.transport
        transport.pause_reading()
        if transport.get_write_buffer_size():
            self.loop.call_later(FLUSH_RETRY_S, self._rested_later, connection)
            return
        self._take(os.dup(transport.get_extra_info("socket").fileno()))
        transport.abort()

    def _rested_later(self, connection: Connection) -> None:
        if connection in self.connections:
            self.rested(connection)

    def close_idle(self) -> None:
        """Close what rests between two requests: the server ends."""
        for connection in list(self.connections):
            if connection.idle:
                connection.close()

    def close(self) -> None:
        """Close what is left."""
        if self._naming is not None:
            self._naming.cancel()
        for connection in list(self.connections):
            connection.close()
