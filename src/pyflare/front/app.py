"""Where a request comes in: control paths here, everything else to the worker.

The hot path is `_serve`: no routing, no middleware, one coroutine from the parsed head to the written answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from pyflare.front.connection import Hub
from pyflare.front.exchange import Exchange
from pyflare.front.frames import FrameCache
from pyflare.front.incoming import BadHost, Incoming, path_of
from pyflare.front.outgoing import send
from pyflare.front.pages import plain, server_error
from pyflare.front.websocket import SocketProtocol, accept_headers
from pyflare.interop import traces
from pyflare.interop.errors import type_error
from pyflare.interop.web.console import report
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.interop.web.status import status_text

if TYPE_CHECKING:
    from pyflare.front.control import Control
    from pyflare.front.live_reload import LiveReload

CONTROL = ("/cdn-cgi/", "/__scheduled")
ERROR_RESPONSE = "Return value from serve handler must not be an error response (like Response.error())"
UNUSUAL = frozenset((0, 101))  # statuses of `Response.error()` and of a WebSocket
RELOADED = "The worker was stopped or reloaded while it answered this request. Please send it again."


class Worker(Protocol):
    """What the front asks of a server."""

    async def fetch(self, request: Request) -> Response: ...


class Front:
    """The app of all HTTP connections. `broken` holds the traceback of code that could not be loaded (`worker` may be
    None then); `control` makes the table of control routes when one is asked for; `live` puts its script into
    pages; `signals`: `request.signal` is aborted when the client goes away (flag `enable_request_signal`)."""

    def __init__(
        self,
        hub: Hub,
        incoming: Incoming,
        worker: Worker | None,
        control: Callable[[], Control],
        broken: str | None = None,
        live: LiveReload | None = None,
        signals: bool = True,
    ) -> None:
        self.hub = hub
        self.log = hub.log
        self._noting = hub.log.enabled("info")
        self.broken = broken
        self._incoming = incoming
        self._fetch: Callable[[Request], Awaitable[Response]] = worker.fetch if worker is not None else _no_worker
        self._make_control = control
        self._control: Control | None = None
        self._live = live
        self._signals = signals
        self._frames = FrameCache()

    async def __call__(self, exchange: Exchange) -> None:
        try:
            if exchange.target.startswith(CONTROL) and await self._answer_itself(exchange):
                return
            if self.broken is not None:
                server_error(exchange, self.broken, self._live)
                self._note(exchange, 500, "Internal Server Error")
                return
            request = exchange.request = self._incoming.request(exchange)
            exchange.on_gone = self._gone
            response = await self._fetch(request)
            if self._live is not None or response.status in UNUSUAL:
                response = self._special(exchange, response)
                if response._web_socket is not None:
                    return
            self._note(exchange, response.status, response.statusText)
            rest = send(exchange, response)
            if rest is not None:
                await rest
        except BadHost:
            plain(exchange, 400, "Bad Request", "Invalid Host header")
        except asyncio.CancelledError as cancelled:
            if exchange.gone or self.hub.expired:
                self._give_up(exchange)
            else:
                self._failed(exchange, cancelled)  # not ours: something that the worker awaited was cancelled
        except BaseException as raised:
            self._failed(exchange, raised)
        finally:
            self.hub.ended(exchange)

    def _special(self, exchange: Exchange, response: Response) -> Response:
        """What few responses need: the script of live reload; a WebSocket is answered here; TypeError for an error."""
        if response.status == 0:
            raise type_error(ERROR_RESPONSE)
        if response._web_socket is not None:
            self._note(exchange, response.status, response.statusText)
            self._couple(exchange, response)
        elif self._live is not None:
            response = self._live.with_script(response)
        return response

    async def _answer_itself(self, exchange: Exchange) -> bool:
        """False: it is no control path after all."""
        if self._control is None:
            self._control = self._make_control()
        if self._live is not None and (socket := self._live.socket_for(exchange)) is not None:
            self._couple(exchange, socket)
            return True
        if not await self._control.answer(exchange):
            return False
        if not self._control.is_quiet(exchange.target):
            self._note(exchange, exchange.status, status_text(exchange.status))
        return True

    def _couple(self, exchange: Exchange, response: Response) -> None:
        """Join the client's socket with the worker's."""
        if not exchange.upgrades:
            raise TypeError(
                "Worker tried to return WebSocket in a response to a request which did not contain the header "
                '"Upgrade: websocket".'
            )
        handshake = accept_headers(dict(exchange.headers))
        if handshake is None:
            response._web_socket.channel.drop()
            plain(exchange, 426, "Upgrade Required", "Not a WebSocket handshake", [("sec-websocket-version", "13")])
            return
        own = [pair for pair in response.headers.pairs() if pair[0] not in ("connection", "upgrade")]
        response._web_socket.couple()
        channel = response._web_socket.channel
        exchange.upgrade(handshake + own, lambda transport: SocketProtocol(self.hub, transport, channel, self._frames))

    # --- what can go wrong ------------------------------------------------------------------------------------------

    def _give_up(self, exchange: Exchange) -> None:
        if exchange.gone:
            if not exchange.started:
                self._note(exchange, 499, "Client Closed Request")
        elif exchange.started:
            exchange.abort()
        else:
            plain(exchange, 503, "Service Unavailable", RELOADED, [("retry-after", "0")])
            self._note(exchange, 503, "Service Unavailable")

    def _failed(self, exchange: Exchange, raised: BaseException) -> None:
        """Whatever the worker raises, its client gets an answer."""
        if isinstance(raised, (KeyboardInterrupt, SystemExit, GeneratorExit)):
            raise raised
        trace = traces.render(raised)
        self.log.error(f"Uncaught {trace}")
        if exchange.started:
            exchange.abort()
        elif not exchange.gone:
            server_error(exchange, trace, self._live)
            self._note(exchange, 500, "Internal Server Error")

    def _note(self, exchange: Exchange, status: int, reason: str) -> None:
        if self._noting:
            elapsed = (self.hub.loop.time() - exchange.started_at) * 1000
            self.log.request(exchange.method, path_of(exchange.target), status, reason, elapsed)

    def _gone(self, exchange: Exchange) -> None:
        """The client went away: the request's signal says so, the handler is cancelled, its waitUntil work is not."""
        if self._signals:
            try:
                exchange.request.signal._abort()
            except Exception as raised:  # a listener's
                report(raised)
        if exchange.task is not None:
            exchange.task.cancel()


async def _no_worker(request: Request) -> Response:
    raise AssertionError("without a worker there is a reason, which was answered")
