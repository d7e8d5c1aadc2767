"""A client's WebSocket, coupled with the worker's end of it.

Frames from the client go to `channel.send`, what the worker sends arrives at `on_message`. Close frames pass in both
directions and the connection ends when both were seen. A connection that breaks is `channel.drop()` for the worker
(after an error if the client broke the protocol), and a worker that drops its end breaks the connection: either side
sees 1006.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Mapping
from typing import Protocol

from pyflare.front.connection import Connection, Hub
from pyflare.front.frames import (
    ABNORMAL,
    BINARY,
    CLOSE,
    PING,
    PONG,
    FrameCache,
    FrameError,
    FrameReader,
    close_frame,
    frame,
    parse_close,
)
from pyflare.interop.errors import error

CLOSE_TIMEOUT_S = 5.0  # for the client's answer to our close frame
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class End(Protocol):
    """What the front needs of a channel (`interop.web.websocket.Channel`)."""

    def attach(self, receiver: Connection) -> None: ...

    def send(self, data: str | bytes) -> None: ...

    def close(self, code: int, reason: str) -> None: ...

    def drop(self) -> None: ...

    def fail(self, error: BaseException) -> None: ...


def accept_headers(headers: Mapping[str, str]) -> list[tuple[str, str]] | None:
    """The handshake's answer to a client's headers; None when its version or key is missing or unknown."""
    key = headers.get("sec-websocket-key", "").strip()
    if headers.get("sec-websocket-version", "").strip() != "13" or len(key) != 24:
        return None
    digest = hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()
    return [
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", base64.b64encode(digest).decode()),
    ]


class SocketProtocol(Connection):
    """The connection after the handshake."""

    def __init__(self, hub: Hub, transport: asyncio.Transport, channel: End, cache: FrameCache) -> None:
        super().__init__(hub)
        self._channel = channel
        self._reader = FrameReader()
        self._cache = cache
        self._sent_close = False
        self._got_close = False
        self._timer: asyncio.TimerHandle | None = None
        self._out: list[bytes] = []  # frames that leave together when the loop turns
        self.connection_made(transport)
        channel.attach(self)

    # --- from the client --------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._got_close:
            return
        try:
            for opcode, payload in self._reader.feed(data):
                if opcode <= BINARY:
                    self._channel.send(payload)
                else:
                    assert isinstance(payload, bytes)
                    self._control(opcode, payload)
        except FrameError as broken:
            told = f"protocolError.statusCode = {broken.code}; protocolError.description = {broken}"
            self._channel.fail(error(f"WebSocket protocol error; {told}"))
            self.end(broken.code, str(broken))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()
        if not self._got_close:
            self._got_close = True
            self._channel.drop()

    def _control(self, opcode: int, payload: bytes) -> None:
        if opcode == PING:
            self._write(frame(PONG, payload))
        elif opcode == CLOSE:
            code, reason = parse_close(payload)
            self._got_close = True
            self._channel.close(code, reason)
            if self._sent_close:
                self._leave()

    def end(self, code: int, reason: str) -> None:
        """Say so to the client and go; for the worker the connection is lost."""
        if not self._sent_close:
            self._sent_close = True
            self._write(close_frame(code, reason))
        self._got_close = True
        self._channel.drop()
        self._leave()

    # --- to the client ----------------------------------------------------------------------------------------------

    def _write(self, data: bytes) -> None:
        """In a busy room a socket gets many frames a turn; a system call for each would be most of the cost."""
        self._out.append(data)
        if len(self._out) == 1:
            self.hub.flush_soon(self)

    def flush(self) -> None:
        if self._out and not self.transport.is_closing():
            data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
            self._out.clear()
            self.transport.write(data)

    def _leave(self) -> None:
        self.flush()
        self.transport.close()

    # --- from the worker --------------------------------------------------------------------------------------------

    def on_message(self, data: str | bytes) -> None:
        if not self._sent_close:
            self._write(self._cache.frame(data))

    def on_close(self, code: int, reason: str, was_clean: bool) -> None:
        if code == ABNORMAL:
            self.flush()
            self.transport.abort()
            return
        if self._sent_close:
            return
        self._sent_close = True
        self._write(close_frame(code, reason))
        if self._got_close:
            self._leave()
        else:
            self._timer = self.hub.loop.call_later(CLOSE_TIMEOUT_S, self.transport.abort)

    def on_error(self, error: BaseException) -> None:
        self.transport.abort()
