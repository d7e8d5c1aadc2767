"""The bare ASGI apps that pyflare is compared with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BODY = b"Hello World!"
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/plain;charset=UTF-8"), (b"content-length", b"12")],
}


async def hello(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
        return
    await send(START)
    await send({"type": "http.response.body", "body": BODY})


async def room(scope: Message, receive: Receive, send: Send) -> None:
    """Every text message goes to every socket."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
        return
    if scope["type"] == "http":
        await hello(scope, receive, send)
        return
    await receive()
    await send({"type": "websocket.accept"})
    MEMBERS[id(send)] = send
    try:
        while (message := await receive())["type"] != "websocket.disconnect":
            for member in list(MEMBERS.values()):
                await member({"type": "websocket.send", "text": message["text"]})
    finally:
        del MEMBERS[id(send)]


MEMBERS: dict[int, Send] = {}


async def lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
