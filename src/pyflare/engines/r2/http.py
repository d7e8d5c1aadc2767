"""Requests to the endpoints of a bucket, and their answers, on plain ASGI."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from pyflare.storage.pieces import Pieces

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]

NO_TEXT = re.compile(r"[\r\n\0]")  # what no header may hold, though metadata of objects may


class ClientGone(Exception):
    """The client went away before its request was complete."""


@dataclass(frozen=True)
class Call:
    """A request. `path` is what follows the prefix, undecoded; `raw_path` is all of it, as it was signed."""

    method: str
    raw_path: str
    path: str
    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]  # lower-case names; of several of one name the values are joined
    body: AsyncIterator[bytes]

    def parameter(self, name: str) -> str | None:
        return next((value for known, value in self.query if known == name), None)

    def has(self, name: str) -> bool:
        return any(known == name for known, _ in self.query)

    def header(self, name: str) -> str | None:
        return self.headers.get(name)

    @property
    def bucket_and_key(self) -> tuple[str, str]:
        bucket, _, key = self.path.lstrip("/").partition("/")
        return unquote(bucket), unquote(key)

    async def whole(self) -> bytes:
        return b"".join([piece async for piece in self.body])


@dataclass(frozen=True)
class Reply:
    """An answer; `length` is needed where the body is not bytes, and for HEAD."""

    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | Pieces = b""
    length: int | None = None


Handler = Callable[[Call], Awaitable[Reply]]


def app_of(handler: Handler) -> Asgi:
    """An ASGI app that answers every request with `handler`."""

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        raw_path = scope["raw_path"].decode("latin-1")
        headers: dict[str, str] = {}
        for raw_name, raw_value in scope["headers"]:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]},{value}" if name in headers else value
        call = Call(
            scope["method"],
            raw_path,
            raw_path.removeprefix(scope["root_path"]),
            parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True),
            headers,
            _body(receive),
        )
        await _send(send, await handler(call), scope["method"] == "HEAD")

    return app


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        if message.get("body"):
            yield message["body"]
        if not message.get("more_body"):
            return


async def _send(send: Send, reply: Reply, head: bool) -> None:
    body = reply.body
    length = reply.length if reply.length is not None else len(body) if isinstance(body, bytes) else None
    pairs = [(name.encode("latin-1"), NO_TEXT.sub(" ", value).encode()) for name, value in reply.headers]
    if length is not None and reply.status != 304:
        pairs.append((b"content-length", str(length).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": pairs})
    if head:
        if isinstance(body, Pieces):
            body.close()
        # In two parts, so that the length that was said stands and not that of nothing.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
    elif isinstance(body, Pieces):
        async for piece in body:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": body if isinstance(body, bytes) and not head else b""})
