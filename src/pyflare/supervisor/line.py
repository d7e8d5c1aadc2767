"""The line between the supervisor and a runtime: messages both ways over a Unix socket, file descriptors with them.

A message is a JSON object on a line of its own. `fds` counts the descriptors that came along with it.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]

CHUNK = 65536
MAX_FDS = 250  # that one send can carry (Linux: SCM_MAX_FD is 253)


class Line:
    """One end. `send` may block shortly; `receive` gives what is there, `wait` the next message."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = b""
        self._fds: list[int] = []
        self._ready: list[tuple[Message, list[int]]] = []
        self.ended = False

    @classmethod
    def pair(cls) -> tuple[Line, socket.socket]:
        """Our end, and the other one for a child process."""
        ours, theirs = socket.socketpair()
        return cls(ours), theirs

    def fileno(self) -> int:
        return self._sock.fileno()

    def send(self, kind: str, fds: Sequence[int] = (), **fields: Any) -> None:
        """Nothing happens when the other side is gone: `ended` will tell."""
        data = json.dumps({"kind": kind, "fds": len(fds), **fields}, default=str).encode() + b"\n"
        try:
            if fds:
                # Descriptors ride on the first byte; the rest must not be cut off by a full buffer.
                socket.send_fds(self._sock, [data[:1]], fds)
                data = data[1:]
            self._sock.sendall(data)
        except OSError:
            self.ended = True

    def receive(self) -> list[tuple[Message, list[int]]]:
        """The messages that have arrived, with their descriptors; does not block. Sets `ended` at the end."""
        self._read(socket.MSG_DONTWAIT)
        ready, self._ready = self._ready, []
        return ready

    def wait(self) -> tuple[Message, list[int]]:
        """The next message. EOFError at the end."""
        while not self._ready:
            if self.ended:
                raise EOFError
            self._read(0)
        return self._ready.pop(0)

    def close(self) -> None:
        self._sock.close()

    def _read(self, flags: int) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(self._sock, CHUNK, MAX_FDS, flags)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        self._fds += fds
        if not data:
            self.ended = True
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            count = message.pop("fds")
            self._ready.append((message, self._fds[:count]))
            del self._fds[:count]


def pass_on(sock: socket.socket, fd: int) -> None:
    """Send a connection to the process at the other end, and forget it here."""
    try:
        socket.send_fds(sock, [b"."], [fd])
    finally:
        os.close(fd)


def receive_descriptors(sock: socket.socket) -> list[int] | None:
    """What has been passed on; None at the end. Blocks when nothing is there."""
    data, fds, _, _ = socket.recv_fds(sock, 1, MAX_FDS)
    return fds if data else None
