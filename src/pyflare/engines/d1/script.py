"""Runs a file of SQL on a database, as `wrangler d1 execute` does: all statements in one transaction, a result each.

A hundred thousand INSERTs are usual, and SQLite takes a microsecond for each: what is done for every statement is kept
to the least.

SQLite itself finds where a statement ends, so that triggers, comments and line ends of any kind are no matter. What is
only a comment is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import apsw

from pyflare.clock import monotonic_ns
from pyflare.engines.d1.store import D1Fault, D1Store
from pyflare.storage.sql_guard import MAX_SQL_BYTES, Guard, describe, is_busy
from pyflare.storage.sql_runner import Row

BUSY_TIMEOUT_MS = 5_000  # a command may wait for the lock; nothing else goes on meanwhile
PROGRESS_EVERY = 1_000  # statements
SURELY_SHORT = MAX_SQL_BYTES // 4  # characters, of four bytes at most

NO_STATEMENTS = "No SQL statements detected."
SEVERAL_TRANSACTIONS = (
    "pyflare could not process the provided SQL file, as it contains several transactions.\n"
    "D1 runs your SQL in a transaction for you.\n"
    "Please export an SQL file from your SQLite database and try again."
)
BEGIN, COMMIT = "BEGIN TRANSACTION", "COMMIT;"


class Answer(NamedTuple):
    """The rows of one statement."""

    sql: str
    columns: tuple[str, ...]
    rows: list[Row]


@dataclass(frozen=True)
class Outcome:
    """How long each statement took, in nanoseconds, and what those that gave rows gave, by their place."""

    durations: list[int]
    answers: dict[int, Answer]

    def __len__(self) -> int:
        return len(self.durations)

    @property
    def last(self) -> list[Row]:
        """The rows of the last statement."""
        answer = self.answers.get(len(self) - 1)
        return answer.rows if answer is not None else []


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
) -> Outcome:
    """Run all statements of `text` or none. `progress` is told now and then how many characters are done; `busy_ms` is
    how long to wait for a lock. Raises `D1Fault`."""
    script = _Script(without_transaction(text.removeprefix("\ufeff")), progress)
    return script.run(store, busy_ms)


class _Script:
    def __init__(self, text: str, progress: Callable[[int], None] | None) -> None:
        self._text, self._progress = text, progress
        self._done = 0  # characters
        self._sql = ""  # of the statement that runs
        self._times: list[int] = []  # at which statements began, in nanoseconds
        self._answers: dict[int, Answer] = {}

    def run(self, store: D1Store, busy_ms: int) -> Outcome:
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
        return Outcome([after - before for before, after in pairwise(self._times)], self._answers)

    def _run(self, connection: apsw.Connection, guard: Guard) -> None:
        cursor = connection.cursor()
        cursor.exec_trace = self._starts
        try:
            with guard.many():
                for row in cursor.execute(self._text, can_cache=False):
                    self._answer(cursor).rows.append(row)
        finally:
            cursor.close(True)
        if not self._times:
            raise _Refused(NO_STATEMENTS)
        self._times.append(monotonic_ns())

    def _starts(self, cursor: apsw.Cursor, sql: str, _bindings: Any) -> bool:
        """Called before each statement."""
        size = len(sql)
        if cursor.has_vdbe:
            self._sql = sql
            self._times.append(monotonic_ns())
            if size > SURELY_SHORT and len(sql.encode()) > MAX_SQL_BYTES:
                raise _Refused("statement too long: SQLITE_TOOBIG")
            if self._progress is not None and len(self._times) % PROGRESS_EVERY == 0:
                self._progress(self._done)
        self._done += size
        return True

    def _answer(self, cursor: apsw.Cursor) -> Answer:
        """Of the statement that runs."""
        at = len(self._times) - 1
        answer = self._answers.get(at)
        if answer is None:
            columns = tuple([column[0] for column in cursor.description])
            answer = self._answers[at] = Answer(self._sql, columns, [])
        return answer

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
