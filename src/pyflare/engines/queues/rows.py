"""What the store takes and gives: messages in their several states, and counts of queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyflare.engines.queues.config import DEFAULT_RETENTION_SECONDS, Consumer


class Draft(NamedTuple):
    """A message to send; `delay` in seconds."""

    id: str
    content_type: str
    body: bytes
    delay: float


class Row(NamedTuple):
    """A message in a batch. `attempts` counts this delivery; `due_at` and `lease` are what they were before it."""

    seq: int
    id: str
    body: bytes
    content_type: str
    sent_at: float
    attempts: int
    size: int
    due_at: float
    lease: int | None = None  # one whose visibility time-out ended


class Listed(NamedTuple):
    """A message as an operator sees it."""

    seq: int
    id: str
    body: bytes
    content_type: str
    sent_at: float
    attempts: int
    size: int
    due_at: float
    lease: int | None
    origin: str | None
    state: str  # ready, delayed, retry (delayed after an attempt), leased


class Buried(NamedTuple):
    """A message that ran out of retries."""

    id: str
    attempts: int


class Spent(NamedTuple):
    """A message that is to be buried; `lease`: who holds it."""

    seq: int
    id: str
    size: int
    attempts: int
    lease: int | None


class Taken(NamedTuple):
    """A leased batch, and what was found dead on the way to it."""

    rows: Sequence[Row]
    buried: Sequence[Buried]


@dataclass(frozen=True)
class Tally:
    """Counts of one queue; `waiting` includes delayed messages and excludes leased ones, `bytes` are those of both."""

    waiting: int = 0
    bytes: int = 0
    leased: int = 0

    @property
    def unacknowledged(self) -> int:
        """What Cloudflare calls the backlog (changelog of queues, 2026-04-15)."""
        return self.waiting + self.leased


@dataclass(frozen=True)
class Standing:
    """What the table `queues` says of one queue; the fields are its columns."""

    paused: bool = False
    dropped: int = 0
    dead_lettered: int = 0
    expired: int = 0
    delivery_delay: int = 0  # seconds, where neither message nor batch nor producer says another
    retention: int = DEFAULT_RETENTION_SECONDS


@dataclass(frozen=True)
class Overview:
    """One queue, for people and programs."""

    name: str
    tally: Tally
    delayed: int  # of the waiting messages
    standing: Standing
    oldest: float | None  # when the oldest message was sent
    consumer: Consumer | None
    worker: str | None  # that consumes it
    producers: Sequence[str]  # "worker.BINDING"
    in_flight: int  # batches


NO_TALLY = Tally()
NO_STANDING = Standing()


@dataclass(frozen=True)
class Fate:
    """What becomes of a message that was delivered once too often."""

    max_retries: int
    dead_letter_queue: str | None = None
