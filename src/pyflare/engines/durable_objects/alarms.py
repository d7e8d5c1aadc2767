"""Alarms: one per object, at least once, in two places.

The truth is the row in the object's own file, in the same transaction as its writes. The namespace's `metadata.sqlite`
is an index that may be early, never late or missing: an earlier time is written there before the commit, a later one or
a deletion after it. What a handler's failure leads to is decided here; retries are kept in the ledger.
(workerd server/alarm-scheduler.c++)
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Protocol

from pyflare.engines.durable_objects.config import ALARM_FIRST_RETRY_SECONDS, ALARM_JITTER, ALARM_RETRIES
from pyflare.engines.durable_objects.ledger import Ledger, Retry
from pyflare.interop.errors import type_error
from pyflare.storage.database import Database

# As workerd made it before summer 2026: such a one does not start on a file with the third column, `actor_name`, which
# a later one adds by itself. Until then the names are in the ledger alone.
SCHEMA = """
CREATE TABLE IF NOT EXISTS _cf_ALARM (
  actor_id TEXT PRIMARY KEY,
  scheduled_time INTEGER
) WITHOUT ROWID
"""
COLUMNS = "SELECT name FROM pragma_table_info('_cf_ALARM')"
ALL = "SELECT actor_id, scheduled_time, actor_name FROM _cf_ALARM"
PUT = "INSERT OR REPLACE INTO _cf_ALARM (actor_id, scheduled_time, actor_name) VALUES (?, ?, ?)"
ALL_UNNAMED = "SELECT actor_id, scheduled_time, NULL FROM _cf_ALARM"
PUT_UNNAMED = "INSERT OR REPLACE INTO _cf_ALARM (actor_id, scheduled_time) VALUES (?, ?)"
REMOVE = "DELETE FROM _cf_ALARM WHERE actor_id = ?"

NS_PER_SECOND = 1_000_000_000
NS_PER_MS = 1_000_000
MAX_BACKOFF = 9  # doublings


class AlarmIndex:
    """When the objects of one class are due. Times are nanoseconds since the Unix epoch, as in the file."""

    def __init__(self, folder: Callable[[], Path], durability: str, ledger: Ledger, unique_key: str) -> None:
        self._folder = folder
        self._durability = durability
        self._ledger = ledger
        self._unique_key = unique_key
        self._database: Database | None = None
        self._named = True  # the file has a column for names
        self._scheduled: dict[str, int] = {}
        self._retries: dict[str, Retry] = {}
        self._heap: list[tuple[int, str]] = []
        self.names: dict[str, str] = {}

    def load(self, path: Path) -> None:
        """Read what an earlier run, or wrangler, left."""
        if not path.exists():
            return
        database = self._db
        for id, scheduled, name in database.execute(ALL if self._named else ALL_UNNAMED):
            self._scheduled[id] = scheduled
            if name is not None:
                self.names[id] = name
        retries = self._ledger.retries(self._unique_key) if self._scheduled else {}
        self._retries = {id: retry for id, retry in retries.items() if id in self._scheduled}
        self._heap = [(self._due(id), id) for id in self._scheduled]
        heapq.heapify(self._heap)

    def scheduled(self, id: str) -> int | None:
        return self._scheduled.get(id)

    def retry(self, id: str) -> Retry | None:
        return self._retries.get(id)

    def put(self, id: str, scheduled: int, name: str | None) -> None:
        database = self._db
        if self._named:
            database.execute(PUT, (id, scheduled, name))
        else:
            database.execute(PUT_UNNAMED, (id, scheduled))
        self._scheduled[id] = scheduled
        self._push(id)

    def remove(self, id: str) -> None:
        if id in self._scheduled:
            self._db.execute(REMOVE, (id,))
            del self._scheduled[id]
        self.forget_retry(id)

    def set_retry(self, id: str, retry: Retry) -> None:
        self._ledger.set_retry(self._unique_key, id, retry)
        self._retries[id] = retry
        self._push(id)

    def forget_retry(self, id: str) -> None:
        if self._retries.pop(id, None) is not None:
            self._ledger.drop_retry(self._unique_key, id)
            if id in self._scheduled:
                self._push(id)

    def next_due(self) -> float | None:
        """In seconds: a float cannot hold nanoseconds, so all comparing is done with seconds."""
        heap = self._heap
        while heap and self._due(heap[0][1]) != heap[0][0]:
            heapq.heappop(heap)
        return heap[0][0] / NS_PER_SECOND if heap else None

    def take_due(self, now: float) -> list[str]:
        """The ids that are due, earliest first. Each is given once; `again` puts it back in line."""
        taken = []
        while (due := self.next_due()) is not None and due <= now:
            taken.append(heapq.heappop(self._heap)[1])
        return list(dict.fromkeys(taken))

    def again(self, id: str) -> None:
        if id in self._scheduled:
            self._push(id)

    def all(self) -> dict[str, int]:
        return dict(self._scheduled)

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _due(self, id: str) -> int:
        retry = self._retries.get(id)
        return retry.due_ns if retry is not None else self._scheduled.get(id, -1)

    def _push(self, id: str) -> None:
        heapq.heappush(self._heap, (self._due(id), id))

    @property
    def _db(self) -> Database:
        if self._database is None:
            path = self._folder() / "metadata.sqlite"
            self._database = Database(path, schema=SCHEMA, durability=self._durability)
            self._named = any(name == "actor_name" for (name,) in self._database.execute(COLUMNS))
        return self._database


class AlarmStore(Protocol):
    """What an alarm needs of the object's file."""

    def get_alarm(self) -> int | None: ...

    def set_alarm(self, scheduled: int | None) -> None: ...


class Alarm:
    """The alarm of one instance, between its file and the index."""

    def __init__(self, store: AlarmStore, index: AlarmIndex, id: str, name: Callable[[], str | None]) -> None:
        self._store, self._index, self._id, self._name = store, index, id, name
        self._changed = False  # in the transaction that is open
        self._running = False  # the handler runs, and has set no new one

    # --- for the object, in milliseconds --------------------------------------------------------------------------

    def get(self) -> int | None:
        """None also while the handler runs and has set no new one."""
        if self._running:
            return None
        scheduled = self._store.get_alarm()
        return None if scheduled is None else scheduled // NS_PER_MS

    def set(self, ms: float | None, now: float) -> None:
        """A time that is past becomes `now` (seconds). TypeError for what is no time after 1970."""
        if ms is not None and not ms > 0:
            raise type_error("setAlarm() cannot be called with an alarm time <= 0")
        scheduled = None if ms is None else max(int(ms), int(now * 1000)) * NS_PER_MS
        if scheduled is None and self._store.get_alarm() is None:
            return
        self._store.set_alarm(scheduled)
        self._changed, self._running = True, False

    # --- around a commit ------------------------------------------------------------------------------------------

    def before_commit(self) -> None:
        if not self._changed:
            return
        scheduled, indexed = self._store.get_alarm(), self._index.scheduled(self._id)
        if scheduled is not None and (indexed is None or scheduled < indexed):
            self._index.put(self._id, scheduled, self._name())

    def after_commit(self) -> bool:
        """True: the alarm is another one now."""
        if not self._changed:
            return False
        self._changed = False
        scheduled, indexed = self._store.get_alarm(), self._index.scheduled(self._id)
        if scheduled is None:
            self._index.remove(self._id)
        else:
            self._index.forget_retry(self._id)
            if scheduled != indexed:
                self._index.put(self._id, scheduled, self._name())
            else:
                self._index.again(self._id)
        return True

    # --- while its handler runs -----------------------------------------------------------------------------------

    def due(self, now: float) -> int | None:
        """When the alarm was scheduled, if that time has come; else the index was early and is put right."""
        scheduled, indexed = self._store.get_alarm(), self._index.scheduled(self._id)
        if scheduled is None:
            self._index.remove(self._id)
        elif scheduled / NS_PER_SECOND > now:
            self._index.put(self._id, scheduled, self._name())
        else:
            if scheduled != indexed:
                self._index.put(self._id, scheduled, self._name())
            return scheduled
        return None

    def begins(self) -> None:
        self._running = True

    def succeeded(self) -> None:
        """The handler is through: the alarm is gone, unless it set another."""
        if self._running:
            self._store.set_alarm(None)
            self._changed = True
        self._running = False

    def failed(self, now: float, random: Random, counted: bool = True) -> Retry | None:
        """The handler raised; None: no retry, since it set another alarm or has failed too often. What is not the
        handler's fault does not count."""
        if not self._running:
            return None
        self._running = False
        scheduled = self._store.get_alarm()
        former = self._index.retry(self._id) or Retry(scheduled or 0, 0, 0, 0)
        if scheduled is None or (counted and former.attempts >= ALARM_RETRIES):
            self.gone()
            return None
        delay = ALARM_FIRST_RETRY_SECONDS * 2**former.backoff * (1 + random.random() * ALARM_JITTER)
        due = int((now + delay) * NS_PER_SECOND)
        retry = Retry(scheduled, due, former.attempts + counted, min(former.backoff + 1, MAX_BACKOFF))
        self._index.set_retry(self._id, retry)
        return retry

    def gone(self) -> None:
        """Given up, or without a handler."""
        self._running = False
        self._store.set_alarm(None)
        self._changed = True
