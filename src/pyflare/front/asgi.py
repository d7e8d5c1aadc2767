"""Lets an ASGI app answer an exchange: the dashboard is one. Worker requests never come through here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote

from pyflare.front.exchange import ClientGone, Exchange
from pyflare.interop.web.status import status_text

Message = MutableMapping[str, Any]
AsgiApp = Callable[[Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]]


async def answer_with_asgi(exchange: Exchange, app: AsgiApp, root_path: str) -> None:
    """Run `app` for one request."""
    started: Message = {}
    finished = False

    async def receive() -> Message:
        try:
            body = await exchange.read()
        except ClientGone:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": bool(body)}

    async def send(message: Message) -> None:
        nonlocal finished
        if message["type"] == "http.response.start":
            started.update(message)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if not more and not exchange.started:
            exchange.respond(*_head(started), body)
        else:
            if not exchange.started:
                exchange.begin(*_head(started), _length(started))
            exchange.write(body)
            await exchange.drain()
            if not more:
                exchange.finish()
        finished = not more

    await app(_scope(exchange, root_path), receive, send)
    if not finished:
        exchange.abort()


def _scope(exchange: Exchange, root_path: str) -> Message:
    path, _, query = exchange.target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": exchange.version,
        "method": exchange.method,
        "scheme": exchange.scheme,
        "path": unquote(path),
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "root_path": root_path,
        "headers": [(name.encode(), value.encode()) for name, value in exchange.headers],
        "client": (exchange.client, 0),
        "server": None,
    }


def _head(start: Message) -> tuple[int, str, list[tuple[str, str]]]:
    status = start["status"]
    pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in start.get("headers", ())]
    return status, status_text(status), [pair for pair in pairs if pair[0] != "content-length"]


def _length(start: Message) -> int | None:
    """How long the body says it is."""
    found = [int(value) for name, value in start.get("headers", ()) if name.lower() == b"content-length"]
    return found[0] if found else None
