"""A server at its sockets: opens them for it, takes over connections, and leaves in order."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pyflare.clock import Clock
from pyflare.config.options import DevOptions
from pyflare.errors import PyflareError, WorkerError
from pyflare.front.app import Front
from pyflare.front.connection import Hub
from pyflare.front.frames import SERVICE_RESTART
from pyflare.front.http import HttpProtocol
from pyflare.front.incoming import Incoming
from pyflare.front.listen import BACKLOG
from pyflare.interop import traces
from pyflare.log import Log

if TYPE_CHECKING:
    import ssl

    from pyflare.engines.base import BindingRow
    from pyflare.front.control import Control
    from pyflare.server import Server


FLUSH_S = 0.01  # that the line of a request may wait for others
GC_OBJECTS = 5_000  # that may come into being until the collector looks at the young ones


class Serving:
    """`server` None, or one that cannot start: every request is answered with why (`broken`)."""

    def __init__(self, server: Server | None, options: DevOptions, clock: Clock, log: Log) -> None:
        self._server = server
        self._options = options
        self._clock = clock
        self._log = log
        self._accepting: list[asyncio.Server] = []
        self.broken: str | None = None

    async def start(self) -> None:
        """Import the workers and open the rooms; what the code does wrong is told and becomes `broken`."""
        assert self._server is not None
        try:
            await self._server.start()
        except Exception as raised:
            self.broken = broken_text(raised)
            self._log.error(self.broken)
            await self._server.stop()

    async def open(self, sockets: Sequence[socket.socket], token: str, tls: ssl.SSLContext | None = None) -> None:
        """Accept connections."""
        loop = asyncio.get_running_loop()
        self._hub = Hub(loop, self._clock, self._log)
        self._log.defer = partial(loop.call_later, FLUSH_S)
        self._front = self._make_front(token)
        # What is there now stays; a request leaves no cycles, so collecting more often than this finds nothing.
        gc.freeze()
        gc.set_threshold(GC_OBJECTS, 20, 20)
        for one in sockets:
            self._accepting.append(await loop.create_server(self._connection, sock=one, ssl=tls, backlog=BACKLOG))

    async def adopt(self, fd: int) -> None:
        """Go on with a connection that another process accepted."""
        await asyncio.get_running_loop().connect_accepted_socket(self._connection, socket.socket(fileno=fd))

    async def close(self, seconds: float, take: Callable[[int], None] | None = None) -> None:
        """Stop accepting and firing, give what is in flight `seconds`, close the state.

        With `take`, connections are passed on by descriptor as soon as they rest; without, they are closed.
        """
        for accepting in self._accepting:
            accepting.close()
        server = None if self.broken is not None else self._server
        if server is not None:
            await server.pause()
        self._hub.end_sockets(SERVICE_RESTART, "Service Restart")
        if take is not None:
            self._hub.release_idle(take)
        else:
            self._hub.closing = True
            self._hub.close_idle()
        until = self._hub.loop.time() + seconds
        await self._hub.drain(seconds)
        if server is not None:
            await server.finish(max(until - self._hub.loop.time(), 0.0))
            await server.stop()
        self._hub.close()
        self._log.defer = None
        self._log.flush()

    def rows(self) -> list[BindingRow]:
        return self._server.rows() if self._server is not None else []

    def _connection(self) -> HttpProtocol:
        return HttpProtocol(self._hub, self._front)

    def _make_front(self, token: str) -> Front:
        server = self._server
        config = server.primary if server is not None else None
        live = None
        if self._options.live_reload:
            from pyflare.front.live_reload import LiveReload  # noqa: PLC0415  (few servers do it)

            live = LiveReload()
        signals = config is not None and config.compat.enabled("enable_request_signal")
        incoming = Incoming(config.dev if config is not None else None)
        return Front(self._hub, incoming, server, lambda: self._control(token), self.broken, live, signals)

    def _control(self, token: str) -> Control:
        """Made when a control path is asked for, so that the start does not wait for it."""
        from pyflare.front.routes import control_of  # noqa: PLC0415  (imports the dashboard)

        return control_of(self._server, self._options, token, self._log, self.broken)


def broken_text(raised: BaseException) -> str:
    """What page and terminal say of code or configuration that cannot be served."""
    if isinstance(raised, WorkerError) and raised.details:
        return raised.details if str(raised) in raised.details else f"{raised}\n{raised.details}"
    if isinstance(raised, PyflareError):
        return str(raised)
    return traces.render(raised)
