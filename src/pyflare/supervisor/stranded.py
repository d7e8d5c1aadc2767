"""What the supervisor answers by itself when no runtime can be started: 500 with why, on every listening socket."""

from __future__ import annotations

import contextlib
import socket

PATIENCE_S = 0.5  # for a client that has connected and says nothing, or does not read
HEAD_BYTES = 65536


def answer(listening: socket.socket, text: str) -> None:
    """Accept one connection and answer its request with `text`; nothing happens when none waits."""
    try:
        connection, _ = listening.accept()
    except OSError:
        return
    with connection, contextlib.suppress(OSError):
        connection.settimeout(PATIENCE_S)
        connection.recv(HEAD_BYTES)
        connection.sendall(_response(text))
        connection.shutdown(socket.SHUT_WR)
        connection.recv(HEAD_BYTES)  # closing with something unread would take the answer back


def _response(text: str) -> bytes:
    body = f"{text}\n".encode("utf-8", "replace")
    head = (
        "HTTP/1.1 500 Internal Server Error\r\ncontent-type: text/plain;charset=UTF-8\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
