"""The file of one D1 database, wrangler's `v3/d1/miniflare-D1DatabaseObject/<id>.sqlite`.

Other processes read and write it too: nothing waits for a lock here (`D1Fault.busy` says to try again), and a schema
that another one changed is noticed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from pyflare.clock import monotonic
from pyflare.engines.d1.config import MAX_DATABASE_BYTES, MAX_QUERY_SECONDS
from pyflare.storage import bookmark
from pyflare.storage.database import Database
from pyflare.storage.layout import Layout
from pyflare.storage.sql_guard import Guard, SqlError, describe, is_busy
from pyflare.storage.sql_runner import Row, Runner

PAGE_BYTES = 4096
UNIQUE_KEY = "miniflare-D1DatabaseObject"

NO_STATEMENTS = "No SQL statements detected."
TOO_LONG = "D1 DB storage operation exceeded timeout which caused object to be reset."

# Any look at the schema makes SQLite read again what another process changed.
LOOK = "SELECT 1 FROM sqlite_schema LIMIT 1"
SCHEMA_VERSION = "PRAGMA schema_version"
PAGES = "PRAGMA page_count; PRAGMA freelist_count"
UNKNOWN = -1

# miniflare's `/^\s+--.*/gm`, with what ends a line in JavaScript.
COMMENT = re.compile(r"(?<![^\n\r\u2028\u2029])\s+--[^\n\r\u2028\u2029]*")

TABLES = """
    SELECT name FROM sqlite_schema
    WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'
    ORDER BY name
"""


class D1Fault(Exception):
    """A request failed and was rolled back; `busy`: because another process holds the file."""

    def __init__(self, message: str, busy: bool = False) -> None:
        super().__init__(message)
        self.message, self.busy = message, busy


class Query(NamedTuple):
    sql: str
    params: Sequence[Any] = ()  # str, float, bytes, None


class Meta(NamedTuple):
    """What production tells of a statement; sizes in bytes, `duration` in milliseconds."""

    duration: float
    changes: int
    last_row_id: int
    changed_db: bool
    size_after: int
    rows_read: int
    rows_written: int


class Result(NamedTuple):
    columns: Sequence[str]
    rows: Sequence[Row]
    meta: Meta


def path_of(layout: Layout, database: str) -> Path:
    return layout.simulator("d1", UNIQUE_KEY, database)


class D1Store:
    """Opened when it is first used."""

    def __init__(
        self,
        path: Path,
        durability: str = "normal",
        seconds: float = MAX_QUERY_SECONDS,
        enforce_limits: bool = True,
    ) -> None:
        self.path = path
        self._enforce_limits = enforce_limits
        self._durability, self._seconds = durability, seconds
        self._database: Database | None = None
        self._runner: Runner | None = None
        self._version = UNKNOWN  # of the file, when it was last looked at; changes with each commit
        self._schema = UNKNOWN  # the version of the schema, when it was last looked at
        self._marked = UNKNOWN  # the version of the file at the last bookmark
        self._size = 0
        self._written = 0  # pages, by this connection
        self._deadline = 0.0

    # --- the file -------------------------------------------------------------------------------------------------

    def _open(self) -> Database:
        if self._database is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # The runtime's own table is in every database, and in every list of its tables.
            database = Database(self.path, schema=bookmark.METADATA, durability=self._durability)
            database.execute("PRAGMA foreign_keys = ON")
            if self._enforce_limits:
                database.execute(f"PRAGMA max_page_count = {MAX_DATABASE_BYTES // PAGE_BYTES}")
            database.raw.set_busy_timeout(0)
            self._database = database
            self._runner = Runner(database.raw, _nothing, self._overtime, self._enforce_limits)
            self._catch_up(database)
        return self._database

    def close(self) -> None:
        database, self._database, self._runner = self._database, None, None
        if database is not None:
            database.raw.close(True)

    def _measure(self, database: Database) -> int:
        (pages,), (free,) = database.execute(PAGES)
        return int(pages - free) * PAGE_BYTES

    def _catch_up(self, database: Database) -> bool:
        """Learn what others committed. Whether they changed the schema, of which prepared statements know nothing."""
        version = database.raw.data_version()
        if version == self._version:
            return False
        assert self._runner is not None
        self._version, self._size = version, self._measure(database)
        before, self._schema = self._schema, database.value(SCHEMA_VERSION)
        if self._schema == before:
            return False
        database.execute(LOOK)
        self._runner.schema_changed()
        return True

    def _commit(self, database: Database) -> int:
        """How many pages were written."""
        database.execute("COMMIT")
        self._version = database.raw.data_version()
        before, (self._written, _) = self._written, database.raw.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)
        return self._written - before

    def _overtime(self) -> bool:
        return self._enforce_limits and monotonic() > self._deadline

    # --- requests -------------------------------------------------------------------------------------------------

    def run(self, queries: Sequence[Query]) -> list[Result]:
        """Run all or nothing. Raises `D1Fault`."""
        wanted = [query for query in queries if _is_statement(query.sql)]
        if not wanted:
            raise D1Fault(NO_STATEMENTS)
        try:
            database = self._open()
            if len(wanted) == 1 and _only_reads(wanted[0].sql):
                return [self._one(database, wanted[0])]
            database.execute(f"BEGIN; {LOOK}" if len(wanted) > 1 else "BEGIN IMMEDIATE")
            self._catch_up(database)
            if len(wanted) == 1:
                return [self._one(database, wanted[0], alone=True)]
            results = [self._one(database, query) for query in wanted]
            self._commit(database)
        except SqlError as fault:
            self._undo()
            raise D1Fault(TOO_LONG if fault.timed_out else fault.message, fault.busy) from None
        except apsw.Error as fault:
            self._undo()
            raise D1Fault(describe(fault), is_busy(fault)) from None
        except BaseException:
            self._undo()
            raise
        return results

    def _one(self, database: Database, query: Query, alone: bool = False) -> Result:
        """`alone`: the transaction is open for this query, and ends with it."""
        runner, connection = self._runner, database.raw
        assert runner is not None
        total, row_id = connection.total_changes(), connection.last_insert_rowid()
        began = monotonic()
        self._deadline = began + self._seconds
        found = runner.run(query.sql, query.params)
        rows = found.all()
        # A statement without a transaction is the first to see the file as it is now.
        if not connection.in_transaction and self._catch_up(database):
            return self._one(database, query)
        duration = round((monotonic() - began) * 1000, 4)
        changes, last_row_id = connection.total_changes() - total, connection.last_insert_rowid()
        changed = changes > 0 or last_row_id != row_id
        # A file that grows or shrinks has a new first page, and another one.
        if self._commit(database) > 1 if alone else runner.wrote:
            size = self._size
            with suppress(apsw.Error):  # what is committed must not fail any more
                self._size = self._measure(database)
            changed = changed or size != self._size
        meta = Meta(duration, changes, last_row_id, changed, self._size, found.read, found.written)
        return Result(found.columns, rows, meta)

    def _undo(self) -> None:
        if self._database is not None and self._database.raw.in_transaction:
            self._database.execute("ROLLBACK")
            self._version = self._schema = UNKNOWN

    # --- sessions -------------------------------------------------------------------------------------------------

    def bookmark(self, wrote: bool) -> str:
        """The bookmark after a request of a session; a new one if that, or anyone since the last, wrote. Raises
        `D1Fault`."""
        try:
            database = self._open()
            stale = self._marked not in (UNKNOWN, database.raw.data_version())
            made = bookmark.advance(database) if wrote or stale else bookmark.current(database)
            self._marked = database.raw.data_version()
            return made
        except apsw.Error as fault:
            raise D1Fault(describe(fault), is_busy(fault)) from None

    # --- for people -----------------------------------------------------------------------------------------------

    def tables(self) -> list[tuple[str, int]]:
        """The user's tables, and how many rows they have."""
        if not self.path.exists():
            return []
        database = self._open()
        names = [str(name) for (name,) in database.execute(TABLES)]
        return [(name, database.value(f"SELECT count(*) FROM {quoted(name)}")) for name in names]

    def browse(self, table: str, limit: int) -> Result:
        """The first rows of a table. Raises `D1Fault`."""
        return self.run([Query(f"SELECT * FROM {quoted(table)} LIMIT {limit}")])[0]

    @property
    def database(self) -> Database:
        """The open file, for what is not the user's SQL."""
        return self._open()

    def for_script(self) -> tuple[apsw.Connection, Guard]:
        """The connection and its guard, for a text that may run longer than a query."""
        database = self._open()
        assert self._runner is not None
        self._deadline = math.inf
        self._version = self._schema = UNKNOWN
        return database.raw, self._runner.guard


def quoted(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def _is_statement(sql: str) -> bool:
    """Whether a text is more than a comment that stands behind blanks, which is what miniflare leaves out."""
    if sql and not sql[0].isspace():
        return True
    return bool(COMMENT.sub("", sql).strip())


def _only_reads(sql: str) -> bool:
    """Whether a text surely is a single SELECT, which needs no transaction."""
    return sql[:6].upper() == "SELECT" and ";" not in sql.rstrip("; \t\r\n")


def _nothing() -> None:
    """The transaction is open before a statement writes."""
