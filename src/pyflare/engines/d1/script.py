"""Runs a file of SQL on a database, as `wrangler d1 execute` does: all statements in one transaction, a result each.

A hundred thousand INSERTs are usual, and SQLite takes a microsecond for each: what is done for every statement is kept
to the least.

SQLite itself finds where a statement ends, so that triggers, comments and line ends of any kind are no matter. What is
only a comment is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import apsw

from pyflare.clock import monotonic_ns
from pyflare.engines.d1.store import D1Fault, D1Store
from pyflare.storage.sql_guard import STATEMENT_TOO_LONG, Guard, SqlError, describe, is_busy
from pyflare.storage.sql_limit import first_end, needs_limit, without_limit
from pyflare.storage.sql_runner import NOT_UTF8, Row

BUSY_TIMEOUT_MS = 5_000  # a command may wait for the lock; nothing else goes on meanwhile
PROGRESS_EVERY = 1_000  # statements

NO_STATEMENTS = "No SQL statements detected."
HAS_NUL = "The SQL contains a NUL character."
SEVERAL_TRANSACTIONS = (
    "pyflare could not process the provided SQL file, as it contains several transactions.\n"
    "D1 runs your SQL in a transaction for you.\n"
    "Please export an SQL file from your SQLite database and try again."
)
BEGIN, COMMIT = "BEGIN TRANSACTION", "COMMIT;"
AHEAD = re.compile(r"(?:\s|--[^\n]*|/\*.*?\*/)*", re.DOTALL)  # what may stand before a statement
SHOWN_SQL = 100  # characters of the first line of a statement that failed


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


def is_left_open(text: str) -> bool:
    """Whether the last statement of a text has no semicolon, or a string or a comment in it no end."""
    return "\0" not in text and not apsw.complete(f";{text}\n")


def run_script(
    store: D1Store, text: str, progress: Callable[[int], None] | None = None, busy_ms: int = BUSY_TIMEOUT_MS
) -> Outcome:
    """Run all statements of `text` or none. `progress` is told now and then how many characters are done; `busy_ms` is
    how long to wait for a lock. Raises `D1Fault`, whose second line says which statement failed."""
    if "\0" in text:
        raise D1Fault(HAS_NUL)
    connection, guard = store.for_script()
    script = _Script(connection, guard, without_transaction(text.removeprefix("\ufeff")), progress)
    return script.run(busy_ms)


class _Script:
    def __init__(
        self, connection: apsw.Connection, guard: Guard, text: str, progress: Callable[[int], None] | None
    ) -> None:
        self._connection, self._guard = connection, guard
        self._text, self._progress = text, progress
        self._done = 0  # characters of the statements that were prepared
        self._sql = ""  # of the statement that runs
        self._times: list[int] = []  # at which statements began, in nanoseconds
        self._answers: dict[int, Answer] = {}

    def run(self, busy_ms: int) -> Outcome:
        connection = self._connection
        connection.set_busy_timeout(busy_ms)
        limit = connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH)
        # The limit is one of a statement; SQLite would apply it to the whole text.
        connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, max(4 * len(self._text) + 1, limit))
        try:
            connection.execute("BEGIN IMMEDIATE")
            self._run()
            connection.execute("COMMIT")
        except apsw.Error as fault:
            raise D1Fault(describe(fault), is_busy(fault)) from None
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, limit)
            connection.set_busy_timeout(0)
        return Outcome([after - before for before, after in pairwise(self._times)], self._answers)

    def _run(self) -> None:
        while True:
            cursor = self._connection.cursor()
            cursor.exec_trace = self._starts
            try:
                with self._guard.many():
                    for row in cursor.execute(self._text[self._done :], can_cache=False):
                        self._answer(cursor).rows.append(row)
                break
            except apsw.Error as fault:
                if not (needs_limit(fault) and self._spelled_out()):
                    raise D1Fault(f"{self._describe(fault)}\n{self._place(fault)}", is_busy(fault)) from None
            except UnicodeDecodeError:
                raise D1Fault(NOT_UTF8) from None
            finally:
                cursor.close(True)
        if not self._times:
            raise D1Fault(NO_STATEMENTS)
        self._times.append(monotonic_ns())

    def _spelled_out(self) -> bool:
        """Write the next statement as apsw's SQLite understands it; False: that makes no difference."""
        ahead = self._text[self._done :]
        end = first_end(ahead)
        try:
            spelled = without_limit(self._connection, ahead[:end])
        except SqlError as fault:
            raise D1Fault(fault.message) from None
        if spelled is None:
            return False
        lines = "\n" * (ahead.count("\n", 0, end) - spelled.count("\n"))  # what follows keeps its place
        self._text = f"{self._text[: self._done]}{spelled};{lines}{ahead[end:]}"
        return True

    def _starts(self, cursor: apsw.Cursor, sql: str, _bindings: Any) -> bool:
        """Called before each statement."""
        self._done += len(sql)
        if cursor.has_vdbe:
            self._sql = sql
            self._times.append(monotonic_ns())
            if self._guard.is_too_long(sql):
                raise _Refused(STATEMENT_TOO_LONG)
            if self._progress is not None and len(self._times) % PROGRESS_EVERY == 0:
                self._progress(self._done)
        return True

    def _answer(self, cursor: apsw.Cursor) -> Answer:
        """Of the statement that runs."""
        at = len(self._times) - 1
        answer = self._answers.get(at)
        if answer is None:
            columns = tuple([column[0] for column in cursor.description])
            answer = self._answers[at] = Answer(self._sql, columns, [])
        return answer

    def _describe(self, fault: apsw.Error) -> str:
        if isinstance(fault, _Refused):
            return str(fault)
        if isinstance(fault, apsw.BindingsError):
            return "Wrong number of parameter bindings for SQL query."
        if isinstance(fault, apsw.AuthError) and self._guard.refusal:
            return self._guard.refusal
        ahead = self._text[self._done :]
        return describe(fault, len(ahead) - len(ahead.lstrip()))

    def _place(self, fault: apsw.Error) -> str:
        """The statement that failed: its line in the text, and what stands there."""
        ahead = AHEAD.match(self._text, self._done if self._fails_next(fault) else self._done - len(self._sql))
        assert ahead is not None  # it may be empty
        at = ahead.end()
        line = self._text[at : at + SHOWN_SQL + 1].partition("\n")[0].rstrip()
        shown = line if len(line) <= SHOWN_SQL else f"{line[:SHOWN_SQL]}..."
        return f"in line {self._text.count(chr(10), 0, at) + 1}: {shown}"

    def _fails_next(self, fault: apsw.Error) -> bool:
        """Whether it is the next statement that cannot be prepared, and not the last one that failed on its way."""
        cursor = self._connection.cursor()
        cursor.exec_trace = lambda *_: False
        try:
            with self._guard.many():
                cursor.execute(self._text[self._done :], can_cache=False)
        except apsw.Error as again:
            return str(again) == str(fault)
        return False


class _Refused(apsw.Error):
    """Raised inside SQLite's callback for what we refuse ourselves."""
