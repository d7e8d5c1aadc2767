"""One queue's worker consumer: when its next batch is due, what is in flight, how many batches may be.

A batch is due when `max_batch_size` messages are, or `max_batch_timeout` after the first one was. One batch runs at a
time; each batch that ends while a full one waits allows one more, up to `max_concurrency`; when nothing waits it is one
again. (Production scales by backlog and error rate: queues/configuration/consumer-concurrency.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyflare.engines.queues.batch import MessageBatch
from pyflare.engines.queues.config import Consumer, QueuesConfig
from pyflare.engines.queues.rows import Fate, Row
from pyflare.engines.queues.store import Store


@dataclass
class Flight:
    """A batch that the handler works on."""

    lease: int
    rows: Sequence[Row]
    batch: MessageBatch
    deadline: float  # of the server's clock
    began: float  # of `clock.monotonic`
    task: Any = None


class PushConsumer:
    """A queue that the worker `worker` consumes."""

    def __init__(self, worker: str, consumer: Consumer, config: QueuesConfig, store: Store) -> None:
        self.worker = worker
        self.queue = consumer.queue
        self.consumer = consumer
        self.config = config
        self.fate = Fate(consumer.max_retries, consumer.dead_letter_queue)
        self.flights: dict[int, Flight] = {}  # by lease
        self.allowed = 1
        self._store = store
        self._stale = True
        self._due: float | None = None

    def changed(self) -> None:
        """The queue's rows changed: ask the store again."""
        self._stale = True

    def due(self) -> float | None:
        """When a batch is to be started; None: nothing waits, or no batch may start."""
        if len(self.flights) >= self.allowed or self._store.standings.of(self.queue).paused:
            return None
        if self._stale:
            self._due, self._stale = self._ask(), False
        return self._due

    def deadline(self) -> float | None:
        """When the first batch in flight runs out of time."""
        return min((flight.deadline for flight in self.flights.values()), default=None)

    def overdue(self, now: float) -> Iterator[Flight]:
        yield from [flight for flight in self.flights.values() if flight.deadline <= now]

    def ended(self, now: float) -> None:
        """A batch has ended: may more run beside each other?"""
        self.changed()
        full = self._store.full_at(self.queue, self.consumer.max_batch_size)
        if full is not None and full <= now:
            self.allowed = min(self.allowed + 1, self.consumer.max_concurrency)
            return
        first = self._store.first_due(self.queue)
        if first is None or first > now:
            self.allowed = 1

    def _ask(self) -> float | None:
        first = self._store.first_due(self.queue)
        if first is None:
            return None
        in_time = first + self.consumer.max_batch_timeout
        full = self._store.full_at(self.queue, self.consumer.max_batch_size) if in_time > first else None
        return in_time if full is None else min(in_time, full)
