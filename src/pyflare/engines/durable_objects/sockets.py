"""The hibernating WebSockets of one object (developers.cloudflare.com/durable-objects/best-practices/websockets/).

They belong to the object, not to its instance: they stay open at the front while it sleeps and wake it. Each frame is
an event of its own. The runtime never answers a close frame for them: the handler does, by `ws.close()`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from pyflare.engines.durable_objects.config import MAX_SOCKETS, MAX_TAG_CHARACTERS, MAX_TAGS
from pyflare.engines.durable_objects.deadlines import Deadline
from pyflare.engines.durable_objects.handlers import call, handler
from pyflare.interop import traces
from pyflare.interop.buffers import ArrayBuffer
from pyflare.interop.errors import error
from pyflare.interop.web.websocket import Channel
from pyflare.worker.event import Handler

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.actor import Actor


class Socket:
    """One accepted socket: what the engine keeps of it while the object sleeps."""

    __slots__ = ("_sockets", "auto_response_at", "channel", "closing", "tags")

    def __init__(self, sockets: Sockets, channel: Channel, tags: list[str]) -> None:
        self._sockets = sockets
        self.channel = channel
        self.tags = tuple(tags)
        self.auto_response_at: float | None = None
        self.closing = False

    # What the channel tells its receiver.

    def on_message(self, data: str | bytes) -> None:
        self._sockets.message(self, data)

    def on_close(self, code: int, reason: str, was_clean: bool) -> None:
        self._sockets.closed(self, code, reason, was_clean)

    def on_error(self, error: BaseException) -> None:
        self._sockets.failed(self, error)


class Sockets:
    """All of them, in the order in which they were accepted."""

    __slots__ = ("_actor", "_all", "auto_response", "event_timeout_ms")

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._all: dict[Channel, Socket] = {}
        self.auto_response: tuple[str, str] | None = None
        self.event_timeout_ms: int | None = None

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Socket]:
        return iter(list(self._all.values()))

    def of(self, channel: Channel) -> Socket | None:
        return self._all.get(channel)

    def accept(self, channel: Channel, tags: list[str]) -> Socket:
        """Frames that came before are delivered now. Raises for too many or too long tags."""
        distinct = list(dict.fromkeys(tags))
        if len(distinct) > MAX_TAGS:
            raise error(f"a Hibernatable WebSocket cannot have more than {MAX_TAGS} tags")
        for tag in distinct:
            if len(tag.encode("utf-8", "surrogatepass")) > MAX_TAG_CHARACTERS:
                raise error(f'"{tag}" is longer than the max tag length ({MAX_TAG_CHARACTERS} characters).')
        if len(self._all) >= MAX_SOCKETS:
            raise error(f"only {MAX_SOCKETS} websockets can be accepted on a single Durable Object instance")
        socket = self._all[channel] = Socket(self, channel, distinct)
        channel.attach(socket)
        return socket

    def listed(self, tag: str | None) -> list[Socket]:
        """Newest first; of a tag in the order of accepting (as recorded)."""
        if tag is None:
            return list(reversed(self._all.values()))
        return [socket for socket in self._all.values() if tag in socket.tags]

    # --- events ---------------------------------------------------------------------------------------------------

    def message(self, socket: Socket, data: str | bytes) -> None:
        pair = self.auto_response
        if pair is not None and data == pair[0] and type(data) is str:
            socket.auto_response_at = self._actor.place.clock.now()
            socket.channel.send(pair[1])
            return
        self._deliver(socket, "webSocketMessage", data)

    def closed(self, socket: Socket, code: int, reason: str, was_clean: bool) -> None:
        if socket.closing or socket.channel not in self._all:
            return
        socket.closing = True
        self._deliver(socket, "webSocketClose", code, reason, was_clean)

    def failed(self, socket: Socket, raised: BaseException) -> None:
        if socket.closing or socket.channel not in self._all:
            return
        socket.closing = True
        self._deliver(socket, "webSocketError", raised)

    def _deliver(self, socket: Socket, name: str, *args: Any) -> None:
        self._actor.coming += 1
        self._actor.place.spawn(self._event(socket, name, args))

    async def _event(self, socket: Socket, name: str, args: tuple[Any, ...]) -> None:
        """Run a handler; what it raises is a line, and the socket stays open."""
        actor = self._actor

        async def work(target: Any) -> None:
            function = handler(target, name)
            instance = actor.instance
            if function is not None and instance is not None:
                await call(target, name, function, (instance.face(socket.channel), *map(_javascript, args)))

        deadline = self._deadline()
        try:
            await actor.run(work, name, Handler(name, args))
        except asyncio.CancelledError:
            if deadline is None or actor.place.deadlines.discard(deadline):
                raise
            actor.place.log.warn(f"{actor.label}.{name} took longer than {self.event_timeout_ms} ms: cancelled")
        except Exception as raised:
            if actor.broken is None:
                actor.place.log.error(f"Uncaught (in {actor.label}.{name})\n{traces.render(raised)}")
        finally:
            actor.place.deadlines.discard(deadline)
            if socket.closing and name != "webSocketMessage":
                self._all.pop(socket.channel, None)

    def _deadline(self) -> Deadline | None:
        """Ends the event that runs now when it takes longer than the object allows."""
        task = asyncio.current_task()
        if self.event_timeout_ms is None or task is None:
            return None
        return self._actor.place.deadlines.add(self.event_timeout_ms / 1000, partial(_cancel, task))

    # --- the object -----------------------------------------------------------------------------------------------

    def drop(self) -> None:
        """The object broke: the other ends see an abnormal end."""
        sockets, self._all = list(self._all), {}
        for channel in sockets:
            channel.drop()


def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()


def _javascript(value: Any) -> Any:
    return ArrayBuffer.make(bytearray(value)) if isinstance(value, (bytes, bytearray, memoryview)) else value
