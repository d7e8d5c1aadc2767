"""The two ends of a WebSocket, without JavaScript: what the front, an object's engine and `WebSocket` share.

Frames that arrive before somebody listens wait. A close frame goes each way once; the connection is over when both have
gone, or when one end is dropped. An end lives as long as the connection: it survives the eviction of an object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from pyflare.interop import scope

NO_STATUS, ABNORMAL = 1005, 1006  # RFC 6455, 7.4.1: never sent in a frame
ABNORMAL_REASON = "WebSocket disconnected without sending Close frame."


class Receiver(Protocol):
    """Who listens at an end. Called from within the sender's step: it must not run the user's code there."""

    def on_message(self, data: str | bytes) -> None: ...

    def on_close(self, code: int, reason: str, was_clean: bool) -> None: ...

    def on_error(self, error: BaseException) -> None: ...


class Channel:
    """One end. `attachment` is what `serializeAttachment` left, in V8's format."""

    __slots__ = ("_waiting", "attachment", "close_received", "close_sent", "dropped", "peer", "receiver")

    def __init__(self) -> None:
        self.peer: Channel = self
        self.receiver: Receiver | None = None
        self.attachment: bytes | None = None
        self.close_sent = self.close_received = self.dropped = False
        self._waiting: deque[tuple[Any, ...]] = deque()

    @staticmethod
    def pair() -> tuple[Channel, Channel]:
        one, other = Channel(), Channel()
        one.peer, other.peer = other, one
        return one, other

    @property
    def over(self) -> bool:
        """Whether nothing more will come or go."""
        return self.dropped or (self.close_sent and self.close_received)

    def attach(self, receiver: Receiver) -> None:
        """Listen; what came before is delivered now."""
        self.receiver = receiver
        while self._waiting and self.receiver is receiver:
            self._hand_over(receiver, self._waiting.popleft())

    def send(self, data: str | bytes) -> None:
        """Nothing is sent after `close`."""
        if not self.close_sent and not self.dropped:
            _leave(lambda: self.peer._arrive(("message", data)))

    def close(self, code: int = NO_STATUS, reason: str = "") -> None:
        """Send a close frame; only the first counts."""
        if self.close_sent or self.dropped:
            return
        self.close_sent = True
        _leave(lambda: self.peer._arrive(("close", code, reason, True)))

    def drop(self) -> None:
        """This end is gone without a word: the other one sees 1006."""
        if self.over:
            return
        self.dropped = True
        self.peer._arrive(("close", ABNORMAL, ABNORMAL_REASON, False))

    def fail(self, error: BaseException) -> None:
        """The connection broke on the side of this end; the other one sees the error."""
        self.peer._arrive(("error", error))

    def _arrive(self, frame: tuple[Any, ...]) -> None:
        if self.dropped or self.close_received:
            return
        if self.receiver is None or self._waiting:
            self._waiting.append(frame)
        else:
            self._hand_over(self.receiver, frame)

    def _hand_over(self, receiver: Receiver, frame: tuple[Any, ...]) -> None:
        kind, *args = frame
        if kind == "message":
            receiver.on_message(*args)
        elif kind == "error":
            receiver.on_error(*args)
        else:
            self.close_received = True
            if not args[2]:
                self.dropped = True
            receiver.on_close(*args)


def _leave(action: Callable[[], None]) -> None:
    """What leaves an object waits, in line, for its writes to be committed."""
    running = scope.current.get()
    if running is None or running.gate is None or not running.gate.hold(action):
        action()
