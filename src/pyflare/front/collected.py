"""An exchange without a connection: its answer is collected."""

from __future__ import annotations

from collections.abc import Sequence

from pyflare.front.exchange import Exchange


class Collected(Exchange):
    """`headers` have lower-case names. `reason`, `answer_headers` and `content` are the answer."""

    complete = True
    scheme = "http"
    client = "127.0.0.1"
    reason = ""
    answer_headers: Sequence[tuple[str, str]] = ()

    def __init__(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.method, self.target, self.headers = method, target, headers
        self._body = body
        self.content = b""

    async def read(self) -> bytes:
        body, self._body = self._body, b""
        return body

    def respond(self, status: int, reason: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.begin(status, reason, headers, len(body))
        self.write(body)

    def begin(self, status: int, reason: str, headers: list[tuple[str, str]], length: int | None) -> None:
        self.started, self.status, self.reason, self.answer_headers = True, status, reason, headers

    def write(self, piece: bytes) -> None:
        self.content += piece

    async def drain(self) -> None:
        return

    def finish(self) -> None:
        return

    def abort(self) -> None:
        raise ConnectionAbortedError("the answer broke off")
