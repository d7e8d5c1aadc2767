"""One queue's HTTP consumer: leases of single messages, with a visibility time-out.

As on Cloudflare (queues/configuration/pull-consumers), an acknowledgement that comes after the time-out is still taken,
also when someone else has the message by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyflare.engines.queues.config import MAX_BATCH_MESSAGES, Consumer
from pyflare.engines.queues.rows import Buried, Fate, Row
from pyflare.engines.queues.store import Store
from pyflare.engines.queues.tokens import opened, sealed


class Pulled(NamedTuple):
    """A message that an HTTP client holds."""

    row: Row
    lease_id: str


class _Held(NamedTuple):
    row: Row  # without the body
    lease: int


@dataclass(frozen=True)
class Outcome:
    """What `acknowledge` did; warnings: lease id -> a sentence."""

    acked: int
    retried: int
    warnings: Mapping[str, str]
    buried: Sequence[Buried]


class PullConsumer:
    """A queue that HTTP clients consume."""

    def __init__(self, consumer: Consumer, store: Store, new_lease: Callable[[], int]) -> None:
        self.queue = consumer.queue
        self.consumer = consumer
        self.fate = Fate(consumer.max_retries, consumer.dead_letter_queue)
        self._store = store
        self._new_lease = new_lease
        self._stale = True
        self._due: float | None = None

    def changed(self) -> None:
        """The queue's rows changed: ask the store again."""
        self._stale = True

    def due(self) -> float | None:
        """When a message whose last lease lapsed is to be buried."""
        if self._stale:
            self._due, self._stale = self._store.spent_due(self.queue, self.consumer.max_retries), False
        return self._due

    def pull(self, now: float, size: int, visibility_ms: float | None) -> tuple[Sequence[Pulled], Sequence[Buried]]:
        """Lease up to `size` messages that are due."""
        given = self.consumer.visibility_timeout_ms if visibility_ms is None else visibility_ms
        until = now + given / 1000
        lease = self._new_lease()
        limit = min(max(size, 1), MAX_BATCH_MESSAGES)
        taken = self._store.take(self.queue, limit, self.fate, lease, now, until)
        self.changed()
        return [Pulled(row, sealed(row.seq, lease, row.id)) for row in taken.rows], taken.buried

    def acknowledge(self, now: float, acks: Sequence[str], retries: Sequence[tuple[str, float | None]]) -> Outcome:
        """Delete what is acknowledged; make due again, after its delay in seconds, what is to be retried."""
        warnings: dict[str, str] = {}
        buried: list[Buried] = []
        acked = retried = 0
        for text in acks:
            if (held := self._held(text, False, warnings)) is not None:
                acked += 1
                self._store.settle(self.queue, held.lease, [held.row], [], self.fate, now)
        for text, delay in retries:
            if (held := self._held(text, True, warnings)) is not None:
                retried += 1
                again = [(held.row, self.consumer.retry_delay if delay is None else delay)]
                buried += self._store.settle(self.queue, held.lease, [], again, self.fate, now)
        self.changed()
        return Outcome(acked, retried, warnings, buried)

    def _held(self, text: str, strict: bool, warnings: dict[str, str]) -> _Held | None:
        """The message of a lease id, with the lease that holds it now; `strict`: only if that is the same lease."""
        seq, lease, id = parse_lease_id(text)
        held = self._store.held(self.queue, seq)
        if held is None or held[0] != id or held[3] is None or (strict and held[3] != lease):
            warnings[text] = f"The lease holds no message of queue {self.queue}"
            return None
        return _Held(Row(seq, id, b"", "", 0.0, held[2], held[1], 0.0), held[3])


def parse_lease_id(text: str) -> tuple[int, int, str]:
    """The parts of a lease id; (-1, -1, "") for what is none."""
    try:
        seq, lease, id = opened(text)
        return int(seq), int(lease), id
    except ValueError:
        return -1, -1, ""
