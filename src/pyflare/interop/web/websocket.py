"""WebSocket and WebSocketPair: JavaScript's face of a `Channel`.

developers.cloudflare.com/workers/runtime-apis/websockets. Events wait until `accept()`, which makes them belong to the
event that calls it: its listeners run as tasks of that event, one frame after the other. What the compatibility date
changes: Blob or ArrayBuffer for binary messages, the automatic answer to a close frame, the length of a close reason.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextvars import Context, copy_context
from typing import Any, ClassVar

from pyflare.interop import scope
from pyflare.interop.arguments import to_int32
from pyflare.interop.buffers import ArrayBuffer, as_bytes, is_buffer
from pyflare.interop.clone import clone
from pyflare.interop.containers import to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import JsException, dom_exception, error, type_error
from pyflare.interop.proxy import JsProxy, is_nullish, jsnull
from pyflare.interop.v8 import dumps, loads
from pyflare.interop.web.blob import Blob
from pyflare.interop.web.bytes import utf8
from pyflare.interop.web.channel import NO_STATUS, Channel, Receiver
from pyflare.interop.web.console import hint, report
from pyflare.interop.web.event_target import CloseEvent, ErrorEvent, Event, EventTarget, MessageEvent

CONNECTING, OPEN, CLOSING, CLOSED = 0, 1, 2, 3
UNUSABLE_CODES = frozenset({1004, 1005, 1006, 1015})  # RFC 6455, 7.4.1
MAX_REASON_BYTES = 123  # RFC 6455, 5.5
MAX_ATTACHMENT_BYTES = 16_384  # workerd, api/web-socket.h

NOT_ACCEPTED = "You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages."


class WebSocket(EventTarget):
    js_name: ClassVar[str] = "WebSocket"
    CONNECTING, OPEN, CLOSING, CLOSED = CONNECTING, OPEN, CLOSING, CLOSED
    READY_STATE_CONNECTING, READY_STATE_OPEN = CONNECTING, OPEN
    READY_STATE_CLOSING, READY_STATE_CLOSED = CLOSING, CLOSED

    # On Cloudflare a socket cannot be a key of a dict or a member of a set.
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self.channel = channel
        self._accepted = False
        self._coupled = False  # went out in a response
        self._connecting = False  # a client that has no answer yet
        self._closed_in = False  # the close event was dispatched
        self._pending: deque[Event] = deque()
        self._pump: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[None] | None = None  # of a client
        self._context: Context | None = None
        self._auto_reply = False
        self._binary_type = "blob" if scope.enabled("websocket_standard_binary_type") else "arraybuffer"
        self.url: Any = jsnull
        self.protocol = self.extensions = ""
        self.bufferedAmount = 0

    @classmethod
    def construct(cls, url: Any = None, protocols: Any = None) -> WebSocket:
        from pyflare.interop.web.websocket_client import connect  # noqa: PLC0415  (it makes sockets)

        return connect(cls, url, protocols)

    def js_properties(self) -> dict[str, Any]:
        return {}

    # --- state ----------------------------------------------------------------------------------------------------

    @property
    def accepted(self) -> bool:
        """Whether `accept()` was called."""
        return self._accepted

    @property
    def coupled(self) -> bool:
        """Whether it went out in a response, so that its frames go elsewhere."""
        return self._coupled

    def couple(self) -> None:
        self._coupled = True

    @property
    def readyState(self) -> int:
        if self._connecting:
            return CONNECTING
        closed_in = self._closed_in if self._accepted else self.channel.close_received
        if (closed_in and self.channel.close_sent) or (closed_in and self.channel.dropped):
            return CLOSED
        return CLOSING if closed_in or self.channel.close_sent else OPEN

    @property
    def binaryType(self) -> str:
        return self._binary_type

    @binaryType.setter
    def binaryType(self, value: Any) -> None:
        if value in ("blob", "arraybuffer"):
            self._binary_type = value

    # --- for JavaScript -------------------------------------------------------------------------------------------

    def accept(self, _settings: Any = None) -> None:
        if self._accepted:
            return
        if self.channel.receiver is not None:
            raise type_error("Can't accept() WebSocket after enabling hibernation.")
        running = scope.current.get()
        self._accepted = True
        self._context = copy_context()
        self._auto_reply = scope.enabled("web_socket_auto_reply_to_close")
        if running is not None and running.gate is not None:
            running.gate.keep(self.channel)
        self.channel.attach(self)

    def send(self, message: Any) -> None:
        self._check_usable()
        if self.channel.close_sent:
            raise type_error("Can't call WebSocket send() after close().")
        message = unwrap(message)
        if is_buffer(message):
            self.channel.send(as_bytes(message))
        elif isinstance(message, Blob):
            self.channel.send(message.data)
        else:
            # Python's bytes are no buffer of JavaScript: they go out as text, "b'…'", as recorded.
            if isinstance(message, (bytes, bytearray, memoryview)):
                hint("send", 'send(b"…") sends the text "b\'…\'"; send(to_js(data)) sends the bytes')
            self.channel.send(to_text(message))

    def close(self, code: Any = None, reason: Any = None) -> None:
        code, text = _close_arguments(code, reason)
        self._check_usable()
        self.channel.close(code, text)

    def _check_usable(self) -> None:
        if self._connecting:
            raise dom_exception("The WebSocket is not open: its state is CONNECTING.", "InvalidStateError")
        # A socket of `ctx.acceptWebSocket` has another receiver.
        if not self._accepted and self.channel.receiver is None:
            raise type_error(NOT_ACCEPTED)

    def serializeAttachment(self, value: Any = None) -> None:
        try:
            data = dumps(clone(value))
        except JsException:
            hint(
                "serializeAttachment",
                "serializeAttachment() takes values of JavaScript: "
                "serializeAttachment(to_js(value, dict_converter=Object.fromEntries))",
            )
            raise
        if len(data) > MAX_ATTACHMENT_BYTES:
            raise error(
                f"A WebSocket 'attachment' cannot be larger than {MAX_ATTACHMENT_BYTES} bytes."
                f"'attachment' was {len(data)} bytes."
            )
        self.channel.attachment = data

    def deserializeAttachment(self) -> Any:
        return jsnull if self.channel.attachment is None else loads(self.channel.attachment)

    # --- as a receiver --------------------------------------------------------------------------------------------

    def on_open(self) -> None:
        """Of a client: the server has answered."""
        self._queue(Event.make("open"))

    def on_message(self, data: str | bytes) -> None:
        self._queue(MessageEvent.of(data))

    def on_close(self, code: int, reason: str, was_clean: bool) -> None:
        self._queue(CloseEvent.of(code, reason, was_clean))

    def on_error(self, raised: BaseException) -> None:
        self._queue(ErrorEvent.of(raised))

    def _queue(self, event: Event) -> None:
        self._pending.append(event)
        if self._pump is None:
            context = None if self._context is None else self._context.copy()
            self._pump = asyncio.get_running_loop().create_task(self._run(), context=context)

    async def _run(self) -> None:
        try:
            while self._pending:
                self._deliver(self._pending.popleft())
        finally:
            self._pump = None

    def _deliver(self, event: Event) -> None:
        if isinstance(event, MessageEvent) and isinstance(event.data, bytes):
            event.data = Blob.make(event.data) if self._binary_type == "blob" else ArrayBuffer.make(event.data)
        elif isinstance(event, CloseEvent):
            self._closed_in = True
            if self._auto_reply and event.wasClean:
                self.channel.close(event.code, event.reason)
        try:
            self._dispatch(event)
        except Exception as raised:
            report(raised)
            if not isinstance(event, ErrorEvent):
                self._give_up(raised)

    def _give_up(self, raised: Exception) -> None:
        """A listener raised: the connection ends there, and the other side sees no close frame, as recorded."""
        self._pending.clear()
        self._closed_in = True
        self.channel.drop()
        failure = ErrorEvent.of(raised)
        name = raised.name if isinstance(raised, JsException) else type(raised).__name__
        failure.message = f"Uncaught {name}: {failure.message}"
        self._deliver(failure)


def _close_arguments(code: Any, reason: Any) -> tuple[int, str]:
    text = "" if is_nullish(reason) else to_text(reason)
    if code is None:
        if text:
            raise _refused("If you specify a WebSocket close reason, you must also specify a code.")
        return NO_STATUS, ""
    number = to_int32(code)
    if not 1000 <= number < 5000 or number in UNUSABLE_CODES:
        raise _refused(f"Invalid WebSocket close code: {number}.")
    if len(utf8(text)) > MAX_REASON_BYTES and scope.enabled("websocket_close_reason_byte_limit"):
        raise dom_exception(
            f"WebSocket close reason must not be longer than {MAX_REASON_BYTES} bytes when UTF-8 encoded.",
            "SyntaxError",
        )
    return number, text


def _refused(message: str) -> JsException:
    return dom_exception(message, "InvalidAccessError")


class WebSocketPair(JsProxy):
    """`[client, server]`: what is sent to one arrives at the other."""

    js_name: ClassVar[str] = "WebSocketPair"

    def __init__(self) -> None:
        self._ends: tuple[WebSocket, ...] = tuple(WebSocket.make(channel) for channel in Channel.pair())

    @classmethod
    def construct(cls, *_: Any) -> WebSocketPair:
        return cls.make()

    def js_properties(self) -> dict[str, Any]:
        return {"0": self._ends[0], "1": self._ends[1]}

    def __getattr__(self, name: str) -> Any:
        if name in ("0", "1"):
            return self._ends[int(name)]
        return super().__getattr__(name)

    def __getitem__(self, at: Any) -> WebSocket:
        return self._ends[int(at)]

    def __iter__(self) -> Iterator[WebSocket]:
        return iter(self._ends)

    def __len__(self) -> int:
        return len(self._ends)

    def values(self) -> Iterator[WebSocket]:
        return iter(self._ends)


__all__ = ["CLOSED", "CLOSING", "CONNECTING", "OPEN", "Channel", "Receiver", "WebSocket", "WebSocketPair"]
