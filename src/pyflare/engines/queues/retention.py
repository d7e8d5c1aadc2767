"""How long a queue keeps a message: `settings.message_retention_period`, four days unless set.

The time counts from the arrival in the queue, so a dead letter gets its own. A line says a while before that messages
will expire.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflare.engines.queues.config import RETENTION_AGAIN_SECONDS, RETENTION_NOTICE_SECONDS
from pyflare.engines.queues.store import Store
from pyflare.log import Log


class Retention:
    """Deletes what is too old. `due`: when it wants `run` next."""

    def __init__(self, store: Store, log: Log, now: float) -> None:
        self._store, self._log = store, log
        self.due = self._next(now)

    def arrived(self, queue: str, now: float) -> None:
        """A message came to the queue."""
        notice = self._notice(queue, now)
        if self.due is None or notice < self.due:
            self.due = notice

    def run(self, now: float) -> Sequence[str]:
        """Delete what is past its time, and say what soon will be; the queues that lost something."""
        changed = []
        for queue in self._store.filled():
            kept = self._store.standings.of(queue).retention
            if count := self._store.expire(queue, now - kept, now):
                self._log.warn(f'Queue "{queue}": {count} message(s) expired after {_spoken(kept)}', queue=queue)
                changed.append(queue)
            left = _notice_seconds(kept)
            if count := self._store.arrived_before(queue, now - kept + left, now):
                text = f'Queue "{queue}": {count} message(s) are {_spoken(kept)} old in less than {_spoken(left)}'
                self._log.once("warn", f"queues.retention.{queue}", f"{text} and will expire")
        self.due = self._next(now)
        return changed

    def _next(self, now: float) -> float | None:
        arrivals = {queue: self._store.first_arrival(queue) for queue in self._store.filled()}
        looks = [self._look(queue, first, now) for queue, first in arrivals.items() if first is not None]
        return min(looks, default=None)

    def _look(self, queue: str, first: float, now: float) -> float:
        notice, end = self._notice(queue, first), first + self._store.standings.of(queue).retention
        if now < notice:
            return notice
        return end if now < end else now + RETENTION_AGAIN_SECONDS  # someone holds it

    def _notice(self, queue: str, arrived: float) -> float:
        kept = self._store.standings.of(queue).retention
        return arrived + kept - _notice_seconds(kept)


def _notice_seconds(kept: float) -> float:
    return min(RETENTION_NOTICE_SECONDS, kept / 4)


def _spoken(seconds: float) -> str:
    """`4 days`, `24 hours`, `10 minutes`: in the largest unit of which there are two."""
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} seconds"
