"""Runs SQL of user code on one guarded connection: several statements in a text, errors, row counts.

`Runner.run(sql, params)` gives the rows of the text's last statement. A statement that is not read-only is read to its
end at once, and so are the first `CHUNK` rows of one that is; the rest follows as it is asked for.

How rows are counted. workerd counts inside a patched SQLite: each row that a cursor steps on or seeks, each entry
written to a table or an index. We have SQLite's own counters, and come close:

- written: the rows changed by the statement, times one plus the number of the table's indexes that the change touches;
  rows changed by triggers and cascades count once; rows of the schema as recorded (2 for a new table).
- read: the steps of full scans plus one; at least the rows given, the rows changed, and the result of a lone `count()`;
  the rows given once more when they had to be sorted. Exact for a scan or a search of one table; too low where an
  index is searched and most of what it finds is filtered out, and for joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import apsw

from pyflare.storage.sql_guard import (
    NOT_AUTHORIZED,
    RESERVED_RENAME,
    STATEMENT_TOO_LONG,
    Facts,
    Guard,
    SqlError,
    describe,
    is_busy,
)
from pyflare.storage.sql_limit import needs_limit, without_limit
from pyflare.storage.sql_text import decoded, has_empty_end, with_bytes

Row = tuple[Any, ...]

CHUNK = 512  # rows of a read-only statement that are read at once
PROGRESS_STEPS = 1_000_000  # virtual machine steps between two looks at the clock
MAX_FACTS = 2_000  # statements that are remembered

WRONG_COUNT = "Wrong number of parameter bindings for SQL query."
NOT_UTF8 = "a text value is not valid UTF-8"
NO_STATEMENT = "SQL code did not contain a statement."
ONLY_LAST = "When executing multiple SQL statements in a single call, only the last statement can have parameters."

INDEXES = """
    SELECT i.name, i.origin, x.name
    FROM pragma_index_list(?1) AS i LEFT JOIN pragma_index_info(i.name) AS x
"""
TABLE = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1"

# In `prepare_flags`, whose upper bits SQLite ignores and apsw's cache of statements compares.
GENERATION_BIT, GENERATIONS = 16, 1 << 15

SCAN, SORT = "SQLITE_STMTSTATUS_FULLSCAN_STEP", "SQLITE_STMTSTATUS_SORT"
COUNTED = frozenset({"Next", "Prev", "Sort", "SorterNext", "SorterSort"})  # operations that SQLite's counters may count


class Rows:
    """What a text gave: the column names, the first rows, and where further ones come from."""

    __slots__ = ("columns", "more", "read", "rows", "written")

    def __init__(self, columns: tuple[str, ...], rows: list[Row]) -> None:
        self.columns, self.rows = columns, rows
        self.more: Iterator[Row] | None = None
        self.read = self.written = 0

    def all(self) -> list[Row]:
        """Every row, now."""
        if self.more is not None:
            more, self.more = self.more, None
            self.rows.extend(more)
        return self.rows


class Runner:
    """`on_write` is called before each statement that is not read-only; it may open a transaction. `overtime` is asked
    now and then whether the running statement took too long, which ends it."""

    def __init__(
        self,
        connection: apsw.Connection,
        on_write: Callable[[], None],
        overtime: Callable[[], bool] | None = None,
        enforce_limits: bool = True,
    ) -> None:
        self.guard = Guard(connection, enforce_limits)
        if overtime is not None:
            connection.set_progress_handler(overtime, PROGRESS_STEPS)
        self._connection = connection
        self._on_write = on_write
        self._facts: dict[str, Facts] = {}  # of statements that ran since the schema changed
        self._generation = 0  # of the schema
        self._flags = apsw.SQLITE_PREPARE_PERSISTENT
        self._status: dict[str, int] = {}
        self._cursor = connection.cursor()
        self.wrote = False  # whether a statement of the last text was not read-only
        # Of the text that runs now:
        self._left = 0  # characters of it that were not reached yet
        self._total = 0  # rows that the connection changed before its last statement
        self._several = False
        self._readonly = True
        self._redefined = False  # changes the schema
        self._columns: tuple[str, ...] = ()
        self._rows: list[Row] = []
        self._current: Facts | None = None

    def run(self, sql: str, params: Sequence[Any] = ()) -> Rows:
        """Run all statements of a text. Raises `SqlError`; what ran before the fault stays."""
        try:
            return self._run(sql, params)
        except apsw.Error as fault:
            self._cursor = self._connection.cursor()
            if self._redefined:
                self.schema_changed()
            spelled = without_limit(self._connection, sql) if self._current is None and needs_limit(fault) else None
            if spelled is None:
                raise self._error(fault, sql) from None
            return self.run(spelled, params)
        except UnicodeEncodeError:
            return self.run(_well_formed(sql), [_well_formed(value) for value in params])
        except UnicodeDecodeError:
            self._cursor = self._connection.cursor()
            return self._mended(sql, params)
        except ValueError:  # a NUL, where SQLite stops to read
            self.run(sql.partition("\0")[0], params)
            raise SqlError(NO_STATEMENT) from None

    def _run(self, sql: str, params: Sequence[Any]) -> Rows:
        text = sql.rstrip(" \t\n\r\v\f")
        connection, guard, cursor = self._connection, self.guard, self._cursor
        known = self._known(text, params)
        changes, self._total = 0, connection.total_changes()
        self._left, self._several, self._readonly, self._rows, self._current = len(text), False, True, [], None
        self._redefined = self.wrote = False
        self._status = {}
        if known is None or self._is_counted(known, text, params):
            connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._profile)
        guard.user, guard.facts, guard.refusal = True, None, None
        try:
            if known is not None:
                self._begin(known)
            elif guard.is_too_long(text):
                raise _Refused(STATEMENT_TOO_LONG)
            cursor.exec_trace = self._starts if known is None else None
            # Our own statements and the user's are kept apart in the cache of statements by these flags.
            cursor.execute(text, params, prepare_flags=self._flags)
            rows = self._fetch(cursor)
        finally:
            connection.trace_v2(0, None)
            guard.user = False
        if not self._readonly:
            changes = connection.changes() if connection.total_changes() != self._total else 0
        self._count(rows, changes, connection.total_changes() - self._total)
        if self._redefined or len(self._facts) > MAX_FACTS:
            self.schema_changed()
        return rows

    def _mended(self, sql: str, params: Sequence[Any]) -> Rows:
        """What a query gives when some of its text is not UTF-8, which apsw raises for."""
        columns = self._columns
        if self._several or not self._readonly:
            raise SqlError(NOT_UTF8)
        try:
            rows = self._run(with_bytes(sql, len(columns)), params)
            mended = Rows(columns, [decoded(row) for row in rows.all()])
        except apsw.Error:
            raise SqlError(NOT_UTF8) from None
        mended.read = rows.read
        return mended

    def schema_changed(self) -> None:
        """Prepare everything anew: a statement that is cached keeps the columns of the schema it was prepared with."""
        self._generation = (self._generation + 1) % GENERATIONS
        self._flags = apsw.SQLITE_PREPARE_PERSISTENT | self._generation << GENERATION_BIT
        self._facts.clear()

    def _known(self, text: str, params: Sequence[Any]) -> Facts | None:
        """What is known of a text that is a single statement, and ran before: it needs no tracer."""
        facts = self._facts.get(text)
        return facts if facts is not None and facts.parameters == len(params) else None

    def _fetch(self, cursor: apsw.Cursor) -> Rows:
        if self._several:
            # The tracer forgets the rows of each statement when the next one starts.
            for row in cursor:
                self._rows.append(row)
            return Rows(self._columns, self._rows)
        if not self._readonly:
            return Rows(self._columns, cursor.fetchall())
        rows = Rows(self._columns, list(islice(cursor, CHUNK)))
        if len(rows.rows) == CHUNK:
            rows.more = self._rest(cursor)
            self._cursor = self._connection.cursor()
        return rows

    def _rest(self, cursor: apsw.Cursor) -> Iterator[Row]:
        try:
            yield from cursor
        except apsw.Error as fault:
            raise SqlError(describe(fault)) from None
        except UnicodeDecodeError:
            raise SqlError(NOT_UTF8) from None
        finally:
            cursor.close(True)

    def _starts(self, cursor: apsw.Cursor, sql: str, _bindings: Any) -> bool:
        """Called before each statement is stepped for the first time."""
        self._left -= len(sql)
        self._total = self._connection.total_changes()
        last = self._left <= 0
        if not cursor.has_vdbe or (last and has_empty_end(sql)):
            raise _Refused(NO_STATEMENT)
        if not last:
            self._several = True
            if cursor.bindings_count:
                raise _Refused(ONLY_LAST)
        facts = self.guard.facts
        if facts is not None:
            self.guard.facts = None
            if RESERVED_RENAME.search(sql):
                raise _Refused(NOT_AUTHORIZED)
            self._facts[sql] = facts
        else:
            facts = self._facts.get(sql) or Facts()
        facts.columns = tuple([column[0] for column in cursor.description])
        facts.readonly, facts.parameters = cursor.is_readonly, cursor.bindings_count
        if self._rows:
            self._rows.clear()
        self._begin(facts)
        return True

    def _begin(self, facts: Facts) -> None:
        self._current, self._columns, self._readonly = facts, facts.columns, facts.readonly
        self._redefined = self._redefined or facts.changes_schema
        if not facts.readonly:
            self._write()

    def _write(self) -> None:
        self.wrote = True
        self.guard.user = False  # what the callback runs is ours
        try:
            self._on_write()
        finally:
            self.guard.user = True

    def _profile(self, event: dict[str, Any]) -> None:
        self._status = event["stmt_status"]

    def _error(self, fault: apsw.Error, sql: str) -> SqlError:
        if isinstance(fault, _Refused):
            return SqlError(str(fault))
        if isinstance(fault, apsw.BindingsError):
            return SqlError(WRONG_COUNT if sql.strip() else NO_STATEMENT)
        if isinstance(fault, apsw.AuthError) and self.guard.refusal:
            return SqlError(self.guard.refusal)
        return SqlError(describe(fault), busy=is_busy(fault), timed_out=isinstance(fault, apsw.InterruptError))

    # --- counting -------------------------------------------------------------------------------------------------

    def _is_counted(self, facts: Facts, text: str, params: Sequence[Any]) -> bool:
        """Whether SQLite's counters have something to tell of a statement."""
        if facts.counted is None:
            facts.counted = facts.reads and self._may_count(text, params)
        return facts.counted

    def _may_count(self, text: str, params: Sequence[Any]) -> bool:
        try:
            program = self._connection.execute(f"EXPLAIN {text}", params, can_cache=False).fetchall()
        except (apsw.Error, UnicodeEncodeError):
            return True
        return any(operation in COUNTED for _, operation, *_ in program)

    def _count(self, rows: Rows, changes: int, total: int) -> None:
        facts = self._current
        if facts is None:
            return
        if not self._readonly:
            rows.written = self._written(facts, changes, total)
        if not facts.reads or not (facts.read or changes):
            return
        given = len(rows.rows)
        least = max(given, changes)
        if facts.counts and given == 1 and len(rows.rows[0]) == 1 and type(rows.rows[0][0]) is int:
            least = max(least, rows.rows[0][0])
        status = self._status
        rows.read = max(status.get(SCAN, 0) + 1, least) + (given if status.get(SORT) else 0)

    def _written(self, facts: Facts, changes: int, total: int) -> int:
        if facts.changes_schema:
            return facts.schema_rows
        if facts.weight is None:
            facts.weight, facts.extra = self._weigh(facts)
        return changes * facts.weight + max(total - changes, 0) + (facts.extra if changes else 0)

    def _weigh(self, facts: Facts) -> tuple[int, int]:
        """Entries written for one changed row, and for the statement as a whole."""
        if facts.target is None or not (facts.inserts or facts.changed):
            return 1, 0
        guard = self.guard
        user, guard.user = guard.user, False
        try:
            indexes: dict[str, set[str]] = {}
            for name, _origin, column in self._connection.execute(INDEXES, (facts.target,)):
                indexes.setdefault(name, set()).add(column)
            schema = self._connection.execute(TABLE, (facts.target,)).fetchone()
        finally:
            guard.user = user
        text = (schema[0] if schema else "").upper()
        touched = len(indexes) if facts.inserts else sum(bool(columns & facts.changed) for columns in indexes.values())
        # Without rowids the index of the primary key is the table itself.
        itself = 0 if "WITHOUT ROWID" in text and facts.inserts else 1
        return itself + touched, 1 if facts.inserts and "AUTOINCREMENT" in text else 0


class _Refused(apsw.Error):
    """Raised inside SQLite's callbacks for texts that we refuse ourselves."""


def _well_formed(value: Any) -> Any:
    """Text without lone surrogates, which SQLite could not keep."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
