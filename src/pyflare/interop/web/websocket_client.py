"""WebSockets to the outside: `new WebSocket(url)` and `fetch` with `Upgrade: websocket`, over the package websockets.

The network is the other end of a `Channel`: `Network` takes what the worker sends and brings what arrives.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import TYPE_CHECKING, Any

from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.errors import JsException, dom_exception, error
from pyflare.interop.global_scope import check_not_global
from pyflare.interop.promise import confirmed
from pyflare.interop.proxy import is_nullish
from pyflare.interop.web import outbound
from pyflare.interop.web.body import Body
from pyflare.interop.web.channel import NO_STATUS, Channel
from pyflare.interop.web.headers import TOKEN, Headers
from pyflare.interop.web.readable import LOST
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.interop.web.url import URL
from pyflare.interop.web.websocket import WebSocket

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

MAX_MESSAGE_BYTES = 32 * 1024 * 1024  # developers.cloudflare.com/workers/platform/limits
_OF_THE_HANDSHAKE = frozenset(
    {"sec-websocket-key", "sec-websocket-version", "sec-websocket-extensions", "sec-websocket-protocol"}
)


def connect(cls: type[WebSocket], url: Any, protocols: Any) -> WebSocket:
    """JavaScript's constructor: checks at once, connects as a task of the event that runs."""
    check_not_global()
    address = _address(to_text(url))
    wanted = [] if is_nullish(protocols) else [_token(to_text(name)) for name in _listed(protocols)]
    if len(set(wanted)) < len(wanted):
        raise _refused("The protocols header cannot have repeating values.")
    ours, theirs = Channel.pair()
    socket: WebSocket = WebSocket.make(ours)
    socket.url = address
    socket._connecting = True
    socket._opening = asyncio.get_running_loop().create_task(_open(socket, theirs, address, wanted))
    return socket


def _listed(protocols: Any) -> list[Any]:
    return list(protocols) if isinstance(protocols, (JsArray, list)) else [protocols]


def _token(name: str) -> str:
    if not TOKEN.fullmatch(name):
        raise _refused("The protocol header token is invalid.")
    return name


def _address(text: str) -> str:
    parsed = URL.parse(text)
    if not isinstance(parsed, URL):
        raise _refused("The url is invalid.")
    if parsed.protocol not in ("ws:", "wss:"):
        raise _refused("The url scheme must be ws or wss.")
    if parsed.hash:
        raise _refused("The url fragment must be empty.")
    return parsed.href


def _refused(message: str) -> JsException:
    return dom_exception(f"WebSocket Constructor: {message}", "SyntaxError")


async def _open(socket: WebSocket, network_end: Channel, address: str, protocols: list[str]) -> None:
    await confirmed()
    try:
        connection = await _connect(Request.make("GET", address), protocols)
    except Exception as raised:
        socket._connecting = False
        socket.accept()
        network_end.fail(error(f"WebSocket connection failed: {raised}"))
        network_end.drop()
        return
    socket.protocol = connection.subprotocol or ""
    socket._connecting = False
    socket.accept()
    socket.on_open()
    Network(network_end, connection)


async def upgrade(request: Request) -> Response:
    """The answer to `fetch(url, {headers: {Upgrade: "websocket"}})`: its `webSocket` has to be accepted."""
    from websockets.exceptions import InvalidStatus, WebSocketException  # noqa: PLC0415  (see `_connect`)

    asked = request.headers.first("sec-websocket-protocol")
    protocols = [name.strip() for name in asked.split(",")] if asked else []
    try:
        connection = await _connect(request, protocols)
    except InvalidStatus as refused:
        answer = refused.response
        body = Body.make(bytes(answer.body)) if answer.body else None
        return _response(request, answer.status_code, answer.reason_phrase, answer.headers, body)
    except (WebSocketException, OSError):
        raise error(LOST) from None
    ours, theirs = Channel.pair()
    Network(theirs, connection)
    handshake: Any = connection.response
    response = _response(request, 101, handshake.reason_phrase, handshake.headers, None)
    response._web_socket = WebSocket.make(ours)
    return response


def _response(request: Request, status: int, phrase: str, headers: Any, body: Body | None) -> Response:
    own = Headers.make(list(headers.raw_items()), True)
    return Response.make(status, phrase, own, body, url=request.url)


async def _connect(request: Request, protocols: list[str]) -> ClientConnection:
    from websockets.asyncio.client import connect as dial  # noqa: PLC0415  (few workers call out by WebSocket)
    from websockets.typing import Subprotocol  # noqa: PLC0415  (see above)

    own = [pair for pair in outbound.outgoing_headers(request.headers) if pair[0] not in _OF_THE_HANDSHAKE]
    address = "ws" + request.url.removeprefix("http") if request.url.startswith("http") else request.url
    return await dial(
        address,
        subprotocols=[Subprotocol(name) for name in protocols] or None,
        additional_headers=own,
        user_agent_header=None,
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        ping_interval=None,
        proxy=None,
    )


class Network:
    """The far end of a channel: a connection, and what is to be sent over it in order."""

    def __init__(self, channel: Channel, connection: ClientConnection) -> None:
        self._channel, self._connection = channel, connection
        self._outbox: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        # Not in the context of the event that connects: the connection is the runtime's.
        context = Context()
        self._sender = loop.create_task(self._send(), context=context)
        self._reader = loop.create_task(self._receive(), context=context)
        channel.attach(self)

    # as the channel's receiver

    def on_message(self, data: str | bytes) -> None:
        self._outbox.put_nowait(("message", data))

    def on_close(self, code: int, reason: str, was_clean: bool) -> None:
        self._outbox.put_nowait(("close", 1000 if code == NO_STATUS else code, reason) if was_clean else ("cut",))

    def on_error(self, error: BaseException) -> None:
        self._outbox.put_nowait(("cut",))

    async def _send(self) -> None:
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415  (see `_connect`)

        while True:
            kind, *args = await self._outbox.get()
            if kind == "message":
                try:
                    await self._connection.send(args[0])
                except ConnectionClosed:
                    return  # the reader says so
            elif kind == "close":
                await self._connection.close(*args)
                return
            else:
                self._connection.transport.abort()
                return

    async def _receive(self) -> None:
        from websockets.exceptions import ConnectionClosed  # noqa: PLC0415  (see `_connect`)

        try:
            while True:
                self._channel.send(await self._connection.recv())
        except ConnectionClosed as closed:
            if closed.rcvd is None:
                self._channel.drop()
            else:
                self._channel.close(closed.rcvd.code, closed.rcvd.reason)
        finally:
            self._sender.cancel()
