"""WebSocket frames (RFC 6455), without I/O: bytes in, messages out.

Written out here since a room sends one message to many sockets: a frame is made once (`FrameCache`) and no object is
created per socket. Compression is never agreed to, as the handshake lets a server choose.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10

MAX_MESSAGE_BYTES = 32 * 1024 * 1024  # developers.cloudflare.com/workers/platform/limits, "WebSocket message"
PROTOCOL_ERROR, NO_STATUS, ABNORMAL, BAD_DATA, TOO_BIG = 1002, 1005, 1006, 1007, 1009
SERVICE_RESTART = 1012

_SENDABLE = frozenset((1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014))


class FrameError(Exception):
    """The client broke the protocol; `code` is what the close frame says."""

    def __init__(self, code: int, reason: str) -> None:
        self.code = code
        super().__init__(reason)


def frame(opcode: int, payload: bytes) -> bytes:
    """A whole frame from the server, which never masks."""
    size = len(payload)
    if size < 126:
        return bytes((0x80 | opcode, size)) + payload
    if size < 65536:
        return bytes((0x80 | opcode, 126)) + size.to_bytes(2, "big") + payload
    return bytes((0x80 | opcode, 127)) + size.to_bytes(8, "big") + payload


def close_frame(code: int, reason: str) -> bytes:
    if code == NO_STATUS:
        return frame(CLOSE, b"")
    text = reason.encode()[:123].decode(errors="ignore").encode()
    return frame(CLOSE, code.to_bytes(2, "big") + text)


def parse_close(payload: bytes) -> tuple[int, str]:
    """Code and reason of a close frame; 1005 when it has none."""
    if not payload:
        return NO_STATUS, ""
    code = int.from_bytes(payload[:2], "big")
    if len(payload) == 1 or (code not in _SENDABLE and not 3000 <= code < 5000):
        raise FrameError(PROTOCOL_ERROR, "invalid close code")
    try:
        return code, payload[2:].decode()
    except UnicodeDecodeError:
        raise FrameError(BAD_DATA, "close reason is not UTF-8") from None


def unmask(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    repeated = (mask * (size // 4 + 1))[:size]
    order = sys.byteorder
    return (int.from_bytes(payload, order) ^ int.from_bytes(repeated, order)).to_bytes(size, order)


class FrameReader:
    """Cuts what a client sends into messages."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max = max_bytes
        self._buffer = b""
        self._tail: list[bytes] = []  # received, not yet looked at: `_buffer` wants `_missing` more bytes
        self._missing = 0
        self._parts: list[bytes] = []  # of a message in several frames
        self._opcode = 0
        self._size = 0

    def feed(self, data: bytes) -> Iterator[tuple[int, str | bytes]]:
        """(opcode, payload): TEXT with str, everything else with bytes. Raises `FrameError`."""
        if self._missing > len(data):
            self._missing -= len(data)
            self._tail.append(data)
            return
        if self._tail or self._buffer:
            data = b"".join((self._buffer, *self._tail, data))
            self._tail.clear()
        self._buffer, self._missing = b"", 0
        at, end = 0, len(data)
        while end - at >= 2:
            size, head = data[at + 1] & 0x7F, 6
            if size > 125:
                head = 8 if size == 126 else 14
                if end - at < head:
                    break
                size = int.from_bytes(data[at + 2 : at + head - 4], "big")
            first = data[at]
            self._check(first, data[at + 1], size)
            if end - at < head + size:
                self._missing = head + size - (end - at)
                break
            payload = unmask(data[at + head : at + head + size], data[at + head - 4 : at + head]) if size else b""
            at += head + size
            yield from self._take(first, payload)
        self._buffer = data[at:]

    def _check(self, first: int, second: int, size: int) -> None:
        opcode = first & 0x0F
        if first & 0x70:
            raise FrameError(PROTOCOL_ERROR, "reserved bits are set")
        if not second & 0x80:
            raise FrameError(PROTOCOL_ERROR, "frame is not masked")
        if opcode >= CLOSE:
            if opcode > PONG or size > 125 or not first & 0x80:
                raise FrameError(PROTOCOL_ERROR, "invalid control frame")
        elif opcode > BINARY or (opcode == CONTINUATION) != bool(self._opcode):
            raise FrameError(PROTOCOL_ERROR, "unexpected frame")
        elif self._size + size > self._max:
            raise FrameError(TOO_BIG, "Message is too large")

    def _take(self, first: int, payload: bytes) -> Iterator[tuple[int, str | bytes]]:
        opcode = first & 0x0F
        if opcode < CLOSE:
            if not first & 0x80:
                self._opcode = opcode or self._opcode
                self._parts.append(payload)
                self._size += len(payload)
                return
            if self._opcode:
                payload, opcode = b"".join((*self._parts, payload)), self._opcode
                self._parts.clear()
                self._opcode = self._size = 0
        if opcode != TEXT:
            yield opcode, payload
            return
        try:
            yield opcode, payload.decode()
        except UnicodeDecodeError:
            raise FrameError(BAD_DATA, "text is not UTF-8") from None


class FrameCache:
    """The frame of the message that was sent last: the next socket of a room gets the very same message."""

    def __init__(self) -> None:
        self._data: str | bytes | None = None
        self._frame = b""

    def frame(self, data: str | bytes) -> bytes:
        if data is not self._data:
            self._frame = frame(TEXT, data.encode()) if isinstance(data, str) else frame(BINARY, data)
            self._data = data
        return self._frame
