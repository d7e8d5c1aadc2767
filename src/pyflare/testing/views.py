"""What a test gets to see of a worker: answers, sockets, queues, mails, data points."""

from __future__ import annotations

import asyncio
import json as _json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyflare.engines.queues.panel import actions
from pyflare.interop import traces
from pyflare.interop.web.channel import Channel
from pyflare.interop.web.status import status_text


def first(pairs: Iterable[tuple[str, str]], name: str) -> str | None:
    """The first header of that name, which is in lower case."""
    return next((value for key, value in pairs if key == name), None)


class Message:
    """What goes over HTTP, in either direction."""

    headers: Sequence[tuple[str, str]]  # names in lower case; several of one name stay apart
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return _json.loads(self.content)

    def header(self, name: str) -> str | None:
        """The first header of that name."""
        return first(self.headers, name.lower())


@dataclass(frozen=True)
class Answer(Message):
    """What a request was answered with."""

    status: int
    reason: str
    headers: Sequence[tuple[str, str]]
    content: bytes

    @classmethod
    def of(
        cls, body: str | bytes = b"", status: int = 200, headers: Mapping[str, str] | None = None, *, json: Any = None
    ) -> Answer:
        """An answer to give; with `json` it has that body and the content type."""
        pairs = [(name.lower(), value) for name, value in (headers or {}).items()]
        if json is not None:
            body = _json.dumps(json)
            pairs.append(("content-type", "application/json"))
        return cls(status, status_text(status), pairs, body.encode() if isinstance(body, str) else body)


@dataclass(frozen=True)
class Outgoing(Message):
    """A request that a worker sends to the network."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    content: bytes


@dataclass
class Socket:
    """The client's end of a WebSocket."""

    channel: Channel
    protocol: str | None = None
    _frames: asyncio.Queue[str | bytes] = field(default_factory=asyncio.Queue)
    _closed: asyncio.Event = field(default_factory=asyncio.Event)
    _end: tuple[int, str] = (1006, "")

    def send(self, data: str | bytes) -> None:
        self.channel.send(data)

    async def receive(self, seconds: float = 5.0) -> str | bytes:
        """The next frame; TimeoutError when none comes within that real time."""
        return await asyncio.wait_for(self._frames.get(), seconds)

    @property
    def waiting(self) -> int:
        """Frames that have come and were not received yet."""
        return self._frames.qsize()

    def close(self, code: int = 1000, reason: str = "") -> None:
        self.channel.close(code, reason)

    def drop(self) -> None:
        """Vanish without a word."""
        self.channel.drop()

    async def closed(self, seconds: float = 5.0) -> tuple[int, str]:
        """Code and reason with which the server closed."""
        await asyncio.wait_for(self._closed.wait(), seconds)
        return self._end

    # --- the channel's receiver -------------------------------------------------------------------------------------

    def on_message(self, data: str | bytes) -> None:
        self._frames.put_nowait(data)

    def on_close(self, code: int, reason: str, was_clean: bool) -> None:
        self._end = (code, reason)
        self._closed.set()
        if was_clean:
            self.channel.close(code, reason)

    def on_error(self, error: BaseException) -> None:
        self._closed.set()


@dataclass(frozen=True)
class Bindings:
    """`self.env` of a worker; the AttributeError for what it has not says what it has."""

    _wrapped: Any
    _env: Any

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._wrapped, name)
        except AttributeError as raised:
            traces.explain_env(raised, self._env)
            raise


@dataclass(frozen=True)
class Leased:
    """A message that `QueueView.pull` took."""

    lease_id: str
    id: str
    body: Any  # as in `QueueView.bodies`
    attempts: int


@dataclass(frozen=True)
class QueueView:
    """A queue as a test sees it."""

    name: str
    _engine: Any

    @property
    def backlog(self) -> int:
        """Messages that wait, delayed ones too."""
        return int(self._engine.overview(self.name).tally.waiting)

    @property
    def in_flight(self) -> int:
        return int(self._engine.overview(self.name).tally.leased)

    @property
    def bodies(self) -> list[Any]:
        """The bodies of waiting JSON and text messages, in order."""
        return [_plain(message.body, message.content_type) for message in self._engine.peek(self.name, 1000)]

    def send(self, body: Any, content_type: str = "json", delay_seconds: int = 0) -> None:
        """Send a message by hand; `body` as for the REST path: a JSON value, a text, base64."""
        text = _json.dumps(body) if content_type == "json" else body
        actions(self._engine)["send"].run(self.name, text, content_type, delay_seconds)

    def pause(self) -> None:
        """No batch starts until `resume`; messages are still accepted."""
        self._engine.pause_delivery(self.name)

    def resume(self) -> None:
        self._engine.resume_delivery(self.name)

    def purge(self) -> int:
        """Delete every message; how many."""
        return int(self._engine.purge(self.name))

    def retry_now(self, id: str | None = None) -> int:
        """Make delayed messages due: one, or all; how many."""
        return int(self._engine.retry_now(self.name, id))

    def redrive(self, to: str | None = None) -> int:
        """Move dead letters back to where they died, or to another queue; how many."""
        return sum(self._engine.redrive(self.name, to).values())

    # --- as a client of a queue with `"type": "http_pull"`; ValueError for other queues ----------------------------

    def pull(self, batch_size: int = 5, visibility_timeout_ms: float | None = None) -> list[Leased]:
        """Lease the next messages, for as long as the consumer's configuration says unless given; none while paused."""
        taken = self._client().pull(self.name, batch_size, visibility_timeout_ms)
        return [Leased(lease_id, row.id, _plain(row.body, row.content_type), row.attempts) for row, lease_id in taken]

    def ack(self, *lease_ids: str) -> int:
        """Acknowledge what the leases hold; how many hold something."""
        return int(self._client().acknowledge(self.name, lease_ids, []).acked)

    def retry(self, *lease_ids: str, delay_seconds: float | None = None) -> int:
        """Give back what the leases hold, to come after the consumer's delay unless given; how many hold something."""
        retries = [(lease_id, delay_seconds) for lease_id in lease_ids]
        return int(self._client().acknowledge(self.name, [], retries).retried)

    def _client(self) -> Any:
        if not self._engine.pulls(self.name):
            raise ValueError(f'Queue {self.name!r} has no consumer with "type": "http_pull"')
        return self._engine


def _plain(body: bytes, content_type: str) -> Any:
    if content_type == "json":
        return _json.loads(body)
    return body.decode() if content_type == "text" else body


@dataclass(frozen=True)
class Mail:
    """A message that the worker sent."""

    sender: str
    recipients: Sequence[str]
    subject: str
    raw: bytes


@dataclass(frozen=True)
class Point:
    """A data point of Analytics Engine; `timestamp` in seconds since the epoch."""

    timestamp: float
    index: str
    blobs: Sequence[str | None]
    doubles: Sequence[float]
