"""Runs a file of SQL on a database, as `wrangler d1 execute` does: all statements in one transaction, a result each.

SQLite itself finds where a statement ends, so that triggers, comments and line ends of any kind are no matter. What is
only a comment is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import apsw

from pyflare.clock import monotonic
from pyflare.engines.d1.store import D1Fault, D1Store
from pyflare.storage.sql_guard import MAX_SQL_BYTES, Guard, describe, is_busy
from pyflare.storage.sql_runner import Row

BUSY_TIMEOUT_MS = 5_000  # a command may wait for the lock; nothing else goes on meanwhile
PROGRESS_EVERY = 1_000  # statements

NO_STATEMENTS = "No SQL statements detected."
SEVERAL_TRANSACTIONS = (
    "pyflare could not process the provided SQL file, as it contains several transactions.\n"
    "D1 runs your SQL in a transaction for you.\n"
    "Please export an SQL file from your SQLite database and try again."
)
BEGIN, COMMIT = "BEGIN TRANSACTION", "COMMIT;"


class Outcome:
    """What one statement gave; `duration` in milliseconds. There may be hundreds of thousands."""

    __slots__ = ("columns", "duration", "rows", "sql")

    def __init__(self, sql: str, columns: tuple[str, ...], rows: Sequence[Row] = (), duration: float = 0.0) -> None:
        self.sql, self.columns, self.rows, self.duration = sql, columns, rows, duration


def without_transaction(text: str) -> str:
    """The text of a dump without the transaction around it. Raises `D1Fault` when there is more than one."""
    if BEGIN not in text:
        return text
    text = text.replace(f"{BEGIN};", "", 1).replace(COMMIT, "", 1)
    if BEGIN in text:
        raise D1Fault(SEVERAL_TRANSACTIONS)
    return text


def run_script(
    store: D1Store, text: str, progress: Callable[[int], None] | None = None, busy_ms: int = BUSY_TIMEOUT_MS
) -> list[Outcome]:
    """Run all statements of `text` or none. `progress` is told now and then how many characters are done; `busy_ms` is
    how long to wait for a lock. Raises `D1Fault`."""
    script = _Script(without_transaction(text.removeprefix("\ufeff")), progress)
    return script.run(store, busy_ms)


class _Script:
    def __init__(self, text: str, progress: Callable[[int], None] | None) -> None:
        self._text, self._progress = text, progress
        self._outcomes: list[Outcome] = []
        self._done = 0  # characters
        self._began = 0.0
        self._rows: list[Row] = []  # of the statement that runs

    def run(self, store: D1Store, busy_ms: int) -> list[Outcome]:
        connection, guard = store.for_script()
        connection.set_busy_timeout(busy_ms)
        limit = connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH)
        # The limit is one of a statement; SQLite would apply it to the whole text.
        connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, max(4 * len(self._text) + 1, limit))
        try:
            connection.execute("BEGIN IMMEDIATE")
            self._run(connection, guard)
            connection.execute("COMMIT")
        except apsw.Error as fault:
            raise D1Fault(self._describe(fault, guard), is_busy(fault)) from None
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, limit)
            connection.set_busy_timeout(0)
        return self._outcomes

    def _run(self, connection: apsw.Connection, guard: Guard) -> None:
        cursor = connection.cursor()
        cursor.exec_trace = self._starts
        guard.user, guard.refusal, guard.takes_notes = True, None, False
        try:
            for row in cursor.execute(self._text, can_cache=False):
                self._rows.append(row)
        finally:
            guard.user, guard.takes_notes = False, True
            cursor.close(True)
        if not self._outcomes:
            raise _Refused(NO_STATEMENTS)
        self._ends(monotonic())

    def _starts(self, cursor: apsw.Cursor, sql: str, _bindings: Any) -> bool:
        """Called before each statement."""
        now = monotonic()
        if self._outcomes:
            self._ends(now)
        size = len(sql)
        if cursor.has_vdbe:
            # Only a text that may be too long is encoded: a character is at most four bytes.
            if size > MAX_SQL_BYTES // 4 and len(sql.encode()) > MAX_SQL_BYTES:
                raise _Refused("statement too long: SQLITE_TOOBIG")
            if cursor.bindings_count:
                raise _Refused("Wrong number of parameter bindings for SQL query.")
            columns = cursor.description
            self._outcomes.append(Outcome(sql, tuple([column[0] for column in columns]) if columns else ()))
            if self._progress is not None and len(self._outcomes) % PROGRESS_EVERY == 0:
                self._progress(self._done)
        self._done += size
        self._began = now
        return True

    def _ends(self, now: float) -> None:
        outcome = self._outcomes[-1]
        outcome.duration += (now - self._began) * 1000
        if self._rows:
            outcome.rows, self._rows = self._rows, []

    def _describe(self, fault: apsw.Error, guard: Guard) -> str:
        if isinstance(fault, _Refused):
            return str(fault)
        if isinstance(fault, apsw.BindingsError):
            return "Wrong number of parameter bindings for SQL query."
        if isinstance(fault, apsw.AuthError) and guard.refusal:
            return guard.refusal
        ahead = self._text[self._done :]
        return describe(fault, len(ahead) - len(ahead.lstrip()))


class _Refused(apsw.Error):
    """Raised inside SQLite's callback for what we refuse ourselves."""
