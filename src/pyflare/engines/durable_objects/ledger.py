"""What pyflare alone remembers of Durable Objects, beside the files it shares with wrangler.

The names of objects (wrangler keeps them only with an alarm), retries of alarms that failed, applied migrations.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyflare.storage.database import Database
from pyflare.storage.layout import Layout

MIGRATIONS = (
    """
    CREATE TABLE names (unique_key TEXT, id TEXT, name TEXT NOT NULL, PRIMARY KEY (unique_key, id)) STRICT,
      WITHOUT ROWID;
    CREATE TABLE retries (unique_key TEXT, id TEXT, scheduled_ns INTEGER NOT NULL, due_ns INTEGER NOT NULL,
      attempts INTEGER NOT NULL, backoff INTEGER NOT NULL, PRIMARY KEY (unique_key, id)) STRICT, WITHOUT ROWID;
    CREATE TABLE applied (worker TEXT, tag TEXT, PRIMARY KEY (worker, tag)) STRICT, WITHOUT ROWID;
    CREATE TABLE facets (unique_key TEXT, id TEXT, path TEXT, number INTEGER NOT NULL,
      PRIMARY KEY (unique_key, id, path)) STRICT, WITHOUT ROWID;
    """,
)

NAME = "SELECT name FROM names WHERE unique_key = ? AND id = ?"
SET_NAME = "INSERT OR IGNORE INTO names (unique_key, id, name) VALUES (?, ?, ?)"
RETRIES = "SELECT id, scheduled_ns, due_ns, attempts, backoff FROM retries WHERE unique_key = ?"
SET_RETRY = """
    INSERT OR REPLACE INTO retries (unique_key, id, scheduled_ns, due_ns, attempts, backoff) VALUES (?, ?, ?, ?, ?, ?)
"""
DROP_RETRY = "DELETE FROM retries WHERE unique_key = ? AND id = ?"
APPLIED = "SELECT tag FROM applied WHERE worker = ?"
SET_APPLIED = "INSERT OR IGNORE INTO applied (worker, tag) VALUES (?, ?)"
FORGET = (
    "DELETE FROM names WHERE unique_key = ?",
    "DELETE FROM retries WHERE unique_key = ?",
    "DELETE FROM facets WHERE unique_key = ?",
)
FORGET_ONE = (
    "DELETE FROM names WHERE unique_key = ? AND id = ?",
    "DELETE FROM retries WHERE unique_key = ? AND id = ?",
    "DELETE FROM facets WHERE unique_key = ? AND id = ?",
)
FACETS = "SELECT path, number FROM facets WHERE unique_key = ? AND id = ?"
SET_FACET = "INSERT OR REPLACE INTO facets (unique_key, id, path, number) VALUES (?, ?, ?, ?)"
DROP_FACET = "DELETE FROM facets WHERE unique_key = ? AND id = ? AND path = ?"


@dataclass(frozen=True)
class Retry:
    """An alarm whose handler failed."""

    scheduled_ns: int  # when it was due first; what getAlarm() gives meanwhile
    due_ns: int
    attempts: int  # counted failures; retryCount of the next run
    backoff: int  # how often the delay has doubled


class Ledger:
    """One database for all classes of a server; opened when it is first needed."""

    def __init__(self, storage: Layout) -> None:
        self._storage = storage
        self._database: Database | None = None
        self._seen: list[tuple[str, str]] = []  # worker and tag, to be written when there is a database

    @property
    def _db(self) -> Database:
        if self._database is None:
            path = self._storage.own("durable_objects")
            self._database = Database(path, migrations=MIGRATIONS, durability=self._storage.durability)
            for row in self._seen:
                self._database.execute(SET_APPLIED, row)
            self._seen = []
        return self._database

    def name(self, unique_key: str, id: str) -> str | None:
        found = self._db.value(NAME, (unique_key, id))
        return None if found is None else str(found)

    def set_name(self, unique_key: str, id: str, name: str) -> None:
        self._db.execute(SET_NAME, (unique_key, id, name))

    def retries(self, unique_key: str) -> dict[str, Retry]:
        return {row[0]: Retry(*row[1:]) for row in self._db.execute(RETRIES, (unique_key,))}

    def set_retry(self, unique_key: str, id: str, retry: Retry) -> None:
        row = (unique_key, id, retry.scheduled_ns, retry.due_ns, retry.attempts, retry.backoff)
        self._db.execute(SET_RETRY, row)

    def drop_retry(self, unique_key: str, id: str) -> None:
        self._db.execute(DROP_RETRY, (unique_key, id))

    def applied(self, worker: str) -> frozenset[str]:
        return frozenset(row[0] for row in self._db.execute(APPLIED, (worker,)))

    def set_applied(self, worker: str, tag: str) -> None:
        self._db.execute(SET_APPLIED, (worker, tag))

    def see(self, worker: str, tag: str) -> None:
        """A tag that changes no data is applied too; no database is made for that."""
        if self._database is None:
            self._seen.append((worker, tag))
        else:
            self.set_applied(worker, tag)

    def facets(self, unique_key: str, id: str) -> dict[str, int]:
        return {str(path): int(number) for path, number in self._db.execute(FACETS, (unique_key, id))}

    def set_facet(self, unique_key: str, id: str, path: str, number: int) -> None:
        self._db.execute(SET_FACET, (unique_key, id, path, number))

    def drop_facet(self, unique_key: str, id: str, path: str) -> None:
        self._db.execute(DROP_FACET, (unique_key, id, path))

    def forget(self, unique_key: str) -> None:
        """Everything about a class that is deleted."""
        with self._db.transaction():
            for sql in FORGET:
                self._db.execute(sql, (unique_key,))

    def forget_one(self, unique_key: str, id: str) -> None:
        with self._db.transaction():
            for sql in FORGET_ONE:
                self._db.execute(sql, (unique_key, id))

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
