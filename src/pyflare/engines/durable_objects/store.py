"""The SQLite file of one Durable Object: key-value pairs, the alarm, the user's own tables.

File and tables are workerd's (`util/sqlite-kv.c++`, `util/sqlite-metadata.c++`) and are made by the first write. All
writes between two turns of the loop are one implicit transaction: the first one begins it and calls `on_dirty`, whoever
that tells calls `commit`. `transaction()` of user code holds an explicit one, which may nest and which `commit` leaves
alone. Values are the bytes of `interop.v8`; alarms are nanoseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw

from pyflare.storage import bookmark
from pyflare.storage.database import Database
from pyflare.storage.sql_guard import SqlError, describe, is_busy
from pyflare.storage.sql_runner import Runner

Pair = tuple[str, bytes]

MAX_OBJECT_BYTES = 10 * 10**9  # durable-objects/platform/limits, "Storage per Durable Object"
PAGE_BYTES = 4096
MAX_SINGLE_BYTES = 64 * 1024
CHECKPOINT_PAGES = 4000  # of the write-ahead log; moving it into the file stops the loop for two syncs of the disk

KV = "CREATE TABLE IF NOT EXISTS _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"
KV_GET = "SELECT value FROM _cf_KV WHERE key = ?"
KV_PUT = "INSERT INTO _cf_KV (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
KV_DELETE = "DELETE FROM _cf_KV WHERE key = ?"
KV_LIST = "SELECT key, value FROM _cf_KV WHERE key >= ? ORDER BY key LIMIT ?"
KV_LIST_REVERSE = "SELECT key, value FROM _cf_KV WHERE key >= ? ORDER BY key DESC LIMIT ?"
KV_LIST_END = "SELECT key, value FROM _cf_KV WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"
KV_LIST_END_REVERSE = "SELECT key, value FROM _cf_KV WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT ?"

ALARM_GET = "SELECT value FROM _cf_METADATA WHERE key = 1"
ALARM_SET = "INSERT INTO _cf_METADATA (key, value) VALUES (1, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"

SCHEMAS = {"_cf_KV": KV, "_cf_METADATA": bookmark.METADATA}
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('_cf_KV', '_cf_METADATA')"

CLOSED = "The storage of this Durable Object is closed, since the object was reset."


class ConstraintViolation(SqlError):
    """The commit found deferred constraints violated."""


class ObjectStore:
    """Opens its file when it is first needed. A rollback undoes everything back to the transaction's start."""

    def __init__(
        self,
        path: Path,
        *,
        sqlite: bool = True,
        durability: str = "normal",
        max_bytes: int = MAX_OBJECT_BYTES,
        enforce_limits: bool = True,
    ) -> None:
        self.path = path
        self.sqlite = sqlite  # a class of `new_sqlite_classes`: `storage.sql` and `storage.kv` are open to it
        self.on_dirty: Callable[[], None] = _nobody
        self.enforce_limits = enforce_limits
        self._durability, self._max_bytes = durability, max_bytes
        self._database: Database | None = None
        self._runner: Runner | None = None
        self._tables: set[str] = set()
        self._alarm: int | None = None
        self._alarm_known = False
        self._implicit = False
        self._explicit = 0  # depth
        self._single: Pair | None = None  # all that the implicit transaction consists of so far, not written yet
        self._new = False  # the file was made now: until its first commit a power cut can only lose what is new
        self.closed = False

    # --- the file -------------------------------------------------------------------------------------------------

    def _open(self) -> Database:
        if self._database is not None:
            return self._database
        if self.closed:
            raise SqlError(CLOSED)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._new = self._durability != "full" and not self.path.exists()
        try:
            database = Database(self.path, durability=self._durability)
        except apsw.Error as fault:
            raise SqlError(describe(fault), busy=is_busy(fault)) from None
        self._database = database
        database.execute("PRAGMA foreign_keys = ON")
        if self._durability != "full":  # there each commit is a sync anyway, cheaper in a log that has its size
            database.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        if self._new:
            database.execute("PRAGMA synchronous = OFF")
        if self.enforce_limits:
            database.execute(f"PRAGMA max_page_count = {max(self._max_bytes // PAGE_BYTES, 1)}")
        self._runner = Runner(database.raw, self.dirty, enforce_limits=self.enforce_limits)
        self._look(database)
        return database

    def _look(self, database: Database) -> None:
        """Learn which tables there are; after opening and after a rollback."""
        self._tables = {name for (name,) in database.execute(TABLES)}
        self._alarm_known = False
        if self._runner is not None:
            self._runner.schema_changed()

    def _if_there(self, table: str) -> Database | None:
        """The database, if it has `table`; a file that does not exist yet is not made for a look."""
        database = self._database
        if database is None:
            if self.closed or not self.path.exists():
                return None
            database = self._open()
        return database if table in self._tables else None

    def _with(self, table: str) -> Database:
        """The database with a transaction open and `table` in it, for writing."""
        self.dirty()
        database = self._open()
        if table not in self._tables:
            database.execute(SCHEMAS[table])
            self._tables.add(table)
        return database

    @property
    def runner(self) -> Runner:
        """Runs the user's SQL."""
        self._open()
        assert self._runner is not None
        return self._runner

    @property
    def size(self) -> int:
        """Bytes of the pages in use."""
        if self._database is None and not self.path.exists():
            return 0
        self._write_single()
        database = self._open()
        return int(database.value("PRAGMA page_count") - database.value("PRAGMA freelist_count")) * PAGE_BYTES

    def busy_timeout(self, milliseconds: int) -> None:
        """How long a statement waits for another process that holds the file; the loop waits with it."""
        self._open().raw.set_busy_timeout(milliseconds)

    def close(self) -> None:
        """Give the file up; what is not committed is lost. The write-ahead log stays as it is: moving it into the file
        costs milliseconds, too much when many objects fall asleep at once."""
        self.closed = True
        if self._database is not None:
            self._database.raw.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._disconnect()

    def _disconnect(self) -> None:
        database, self._database, self._runner = self._database, None, None
        self._implicit, self._explicit, self._single = False, 0, None
        if database is not None:
            database.raw.close(True)

    # --- transactions ---------------------------------------------------------------------------------------------

    @property
    def in_transaction(self) -> bool:
        return self._implicit or self._explicit > 0

    def dirty(self) -> None:
        """Called before every write: begins the turn's transaction, unless one is open."""
        if self._implicit or self._explicit:
            self._write_single()
            return
        self._transact("BEGIN IMMEDIATE")
        self._implicit = True
        self.on_dirty()

    def commit(self) -> None:
        """End the implicit transaction; nothing happens when none is open. Raises `ConstraintViolation`, `SqlError`;
        one that is busy may be tried again."""
        if self._implicit:
            if self._single is not None:
                self._transact(KV_PUT, self._single)
            else:
                self._transact("COMMIT")
            self._implicit, self._single = False, None
            if self._new:
                self._keep_from_now_on()

    def rollback(self) -> None:
        """Undo whatever is open."""
        self._implicit, self._explicit, self._single = False, 0, None
        if self._database is not None:
            if self._database.raw.in_transaction:
                self._database.execute("ROLLBACK")
            self._look(self._database)

    def begin(self) -> None:
        """Open an explicit transaction; the implicit one must be committed before."""
        self._open().execute(f"SAVEPOINT _cf_savepoint_{self._explicit}")
        self._explicit += 1

    def commit_explicit(self) -> None:
        """End the innermost explicit transaction."""
        self._transact(f"RELEASE _cf_savepoint_{self._explicit - 1}")
        self._explicit -= 1
        if self._new and not self._explicit:
            self._keep_from_now_on()

    def _keep_from_now_on(self) -> None:
        self._new = False
        self._open().execute("PRAGMA synchronous = NORMAL")

    def rollback_explicit(self) -> None:
        """Undo the innermost explicit transaction; nothing when the object was reset meanwhile."""
        if self._database is None or not self._explicit:
            return
        self._explicit -= 1
        name = f"_cf_savepoint_{self._explicit}"
        if self._database.raw.in_transaction:
            self._database.raw.execute(f"ROLLBACK TO {name}; RELEASE {name}")
        self._look(self._database)

    def synchronously(self, body: Callable[[], Any]) -> Any:
        """Run `body` in a savepoint of its own: what it raises undoes what it wrote."""
        self.dirty()
        database = self._open()
        database.execute("SAVEPOINT _cf_sync_savepoint")
        try:
            result = body()
        except BaseException:
            if self._database is database and database.raw.in_transaction:
                database.raw.execute("ROLLBACK TO _cf_sync_savepoint; RELEASE _cf_sync_savepoint")
                self._look(database)
            raise
        if self._database is not database or not database.raw.in_transaction:
            raise SqlError("Cannot commit transaction due to an earlier SQL critical error")
        database.execute("RELEASE _cf_sync_savepoint")
        return result

    def _write_single(self) -> None:
        """More follows: the pair that was to be written alone needs a transaction after all."""
        single = self._single
        if single is not None:
            self._transact("BEGIN IMMEDIATE")
            self._single = None
            self._transact(KV_PUT, single)

    def _transact(self, sql: str, params: Sequence[Any] = ()) -> None:
        try:
            self._open().execute(sql, params)
        except apsw.ConstraintError as fault:
            raise ConstraintViolation(describe(fault)) from None
        except apsw.Error as fault:
            raise SqlError(describe(fault), busy=is_busy(fault)) from None

    # --- key-value pairs ------------------------------------------------------------------------------------------

    def get(self, key: str) -> bytes | None:
        database = self._if_there("_cf_KV")
        if database is None:
            return None
        if self._single is not None and self._single[0] == key:
            return self._single[1]
        rows = database.execute(KV_GET, (key,))
        return rows[0][0] if rows else None

    def put(self, key: str, value: bytes) -> None:
        """Raises `SqlError` for a pair that is too large, or when the object is full (the commit may, of the first)."""
        if not self._implicit and not self._explicit and "_cf_KV" in self._tables and len(value) <= MAX_SINGLE_BYTES:
            # One put a turn is what most objects do: without BEGIN and COMMIT it costs a third.
            self._single, self._implicit = (key, value), True
            self.on_dirty()
            return
        try:
            self._with("_cf_KV").execute(KV_PUT, (key, value))
        except apsw.Error as fault:
            raise SqlError(describe(fault)) from None

    def delete(self, key: str) -> bool:
        """Whether there was such a pair."""
        if self._if_there("_cf_KV") is None:
            return False
        database = self._with("_cf_KV")
        database.execute(KV_DELETE, (key,))
        return database.changes > 0

    def list(self, start: str, end: str | None, limit: int | None, reverse: bool) -> Sequence[Pair]:
        """Pairs with start <= key < end, in the order of the keys' UTF-8 bytes."""
        database = self._if_there("_cf_KV")
        if database is None:
            return ()
        self._write_single()
        most = -1 if limit is None else limit
        if end is None:
            return database.execute(KV_LIST_REVERSE if reverse else KV_LIST, (start, most))
        return database.execute(KV_LIST_END_REVERSE if reverse else KV_LIST_END, (start, end, most))

    # --- the alarm and the bookmark -------------------------------------------------------------------------------

    def get_alarm(self) -> int | None:
        if not self._alarm_known:
            database = self._if_there("_cf_METADATA")
            self._alarm = None if database is None else database.value(ALARM_GET)
            self._alarm_known = True
        return self._alarm

    def set_alarm(self, scheduled: int | None) -> None:
        """None: no alarm."""
        if scheduled != self.get_alarm():
            self._with("_cf_METADATA").execute(ALARM_SET, (scheduled,))
            self._alarm, self._alarm_known = scheduled, True

    def bookmark(self) -> str:
        """A bookmark that sorts after all earlier ones; a write."""
        return bookmark.advance(self._with("_cf_METADATA"))

    # --- all of it ------------------------------------------------------------------------------------------------

    def delete_all(self, keep_alarm: bool = False) -> None:
        """Remove the file, with every table; the alarm stays if asked for. Refused within `transaction()`."""
        if self._explicit:
            raise SqlError("Cannot call deleteAll() within a transaction")
        if self._database is None and (self.closed or not self.path.exists()):
            return
        alarm = self.get_alarm() if keep_alarm else None
        told = self._implicit
        if self._implicit:
            self.rollback()
        # The last connection that closes moves the write-ahead log into the file and removes it: from then on a single
        # unlink decides, whenever the process may be killed.
        self._disconnect()
        self.path.unlink(missing_ok=True)
        for rest in ("-wal", "-shm"):
            self.path.with_name(self.path.name + rest).unlink(missing_ok=True)
        self._tables, self._alarm, self._alarm_known = set(), None, True
        if alarm is not None:
            if told:  # the end of this turn is awaited already
                self._transact("BEGIN IMMEDIATE")
                self._implicit = True
            self.set_alarm(alarm)


def _nobody() -> None:
    """Stands where nobody waits for the transaction."""
