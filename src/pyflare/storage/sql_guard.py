"""What SQL of user code may do in D1 and in Durable Objects, and how its errors read.

Production allows a list of functions and pragmas, no attached and no temporary databases, nothing named `_cf_…`, no
transaction statements, and limits sizes (workerd `util/sqlite.c++`; Cloudflare's pages d1/platform/limits and
durable-objects/platform/limits). `Guard` is the SQLite authorizer of one connection: it judges only while
`guard.user` is set, so that our own statements on the same connection pass. On the way it takes notes of what a
statement reads and writes (`Facts`), for the row counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import apsw

MAX_VALUE_BYTES = 2_000_000  # a string, a BLOB or a row: d1/platform/limits, "Maximum string, BLOB or table row size"
MAX_SQL_BYTES = 100_000  # d1/platform/limits, "Maximum SQL statement length"
MAX_COLUMNS = 100  # d1/platform/limits, "Maximum number of columns per table"
MAX_PARAMETERS = 100  # d1/platform/limits, "Maximum number of bound parameters for a query"
MAX_FUNCTION_ARGUMENTS = 32  # d1/platform/limits, "Maximum number of arguments per SQL function"
MAX_LIKE_BYTES = 50  # d1/platform/limits, "Maximum characters (bytes) in a LIKE or GLOB pattern"

LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: MAX_VALUE_BYTES,
    apsw.SQLITE_LIMIT_SQL_LENGTH: MAX_SQL_BYTES,
    apsw.SQLITE_LIMIT_COLUMN: MAX_COLUMNS,
    apsw.SQLITE_LIMIT_VARIABLE_NUMBER: MAX_PARAMETERS,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: MAX_FUNCTION_ARGUMENTS,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: MAX_LIKE_BYTES,
    # The rest as workerd `setupSecurity` has them.
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 100,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 5,
    apsw.SQLITE_LIMIT_VDBE_OP: 25_000,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}

NO_TRANSACTIONS = (
    "To execute a transaction, please use the state.storage.transaction() or state.storage.transactionSync() APIs "
    "instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements. The JavaScript API is safer because it will "
    "automatically roll back on exceptions, and because it interacts correctly with Durable Objects' automatic atomic "
    "write coalescing."
)
NOT_AUTHORIZED = "not authorized: SQLITE_AUTH"
STATEMENT_TOO_LONG = "statement too long: SQLITE_TOOBIG"

FUNCTION_NAMES = """
abs changes char coalesce concat concat_ws format glob hex ifnull iif instr last_insert_rowid length like
likelihood likely load_extension lower ltrim max_scalar min_scalar nullif octet_length printf quote random
randomblob replace round rtrim sign soundex substr substring total_changes trim typeof unhex unicode unlikely
upper zeroblob
date time datetime julianday unixepoch strftime timediff current_date current_time current_timestamp
avg count group_concat max min string_agg sum total
row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
acos acosh asin asinh atan atan2 atanh ceil cos cosh degrees exp floor ln log log2 mod pi pow radians sin sinh
sqrt tan tanh trunc
json jsonb json_array jsonb_array json_array_length json_extract jsonb_extract -> ->> json_insert jsonb_insert
json_object jsonb_object json_patch jsonb_patch json_remove jsonb_remove json_replace jsonb_replace json_set
jsonb_set json_type json_valid json_quote json_group_array jsonb_group_array json_group_object
jsonb_group_object json_each json_tree
match highlight bm25 snippet rtreecheck
sqlite_rename_column sqlite_rename_table sqlite_rename_test sqlite_drop_column sqlite_rename_quotefix
"""
FUNCTIONS = frozenset(FUNCTION_NAMES.split())

MODULES = frozenset({"fts5", "fts5vocab", "rtree", "rtree_i32"})
# Of the tables that apsw's SQLite brings (`dbstat`, …), those that workerd's has too.
BUILT_IN = [*MODULES, "json_each", "json_tree"]

# The pragmas, by what may stand in their brackets.
WITHOUT_ARGUMENT = frozenset({"data_version", "page_size"})
SWITCH_NAMES = """
case_sensitive_like foreign_keys defer_foreign_keys ignore_check_constraints legacy_alter_table recursive_triggers
reverse_unordered_selects
"""
SWITCHES = frozenset(SWITCH_NAMES.split())
OF_AN_OBJECT = frozenset({"table_info", "table_xinfo", "foreign_key_list", "index_info", "index_list", "index_xinfo"})
SWITCH_VALUE = re.compile(r"""^(['"]?)(true|false|yes|no|on|off|1|0)""", re.IGNORECASE)
INTEGER = re.compile(r"^-?(\d+|0x[0-9a-f]+)$", re.IGNORECASE)

# SQLite does not tell the authorizer the new name (workerd's is patched to).
RESERVED_RENAME = re.compile(r"\brename\s+to\s+[\"'`\[]?_cf_", re.IGNORECASE)

MAX_VERDICTS = 5_000  # kept, so that the same question is judged once

SCHEMA_TABLES = frozenset({"sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema"})
# What is one row of the schema table. A table or a view is two: its row is inserted empty, and then filled in.
SCHEMA_ROWS = frozenset({apsw.SQLITE_CREATE_INDEX, apsw.SQLITE_CREATE_TRIGGER})


class SqlError(Exception):
    """A statement failed; the text is what user code sees behind `Error: `. `busy`: another process holds the file."""

    def __init__(self, message: str, *, busy: bool = False, timed_out: bool = False) -> None:
        super().__init__(message)
        self.message, self.busy, self.timed_out = message, busy, timed_out


class Facts:
    """What the authorizer saw of one statement while it was prepared, and what is known of it since."""

    __slots__ = (
        "changed",
        "changes_schema",
        "columns",
        "counted",
        "counts",
        "extra",
        "inserts",
        "parameters",
        "read",
        "readonly",
        "schema_rows",
        "target",
        "weight",
    )

    def __init__(self) -> None:
        self.read: set[str] = set()  # tables
        self.target: str | None = None  # the table that the statement itself writes
        self.inserts = False
        self.changed: set[str] = set()  # columns that an UPDATE sets
        self.counts = False  # uses count()
        self.changes_schema = False
        self.schema_rows = 0
        self.weight: int | None = None  # rows written for a changed row: itself and its index entries
        self.extra = 0  # rows written by the statement as a whole
        self.columns: tuple[str, ...] = ()
        self.readonly = True
        self.parameters = 0
        self.counted: bool | None = None  # whether SQLite's counters have something to tell of it

    @property
    def reads(self) -> bool:
        """Whether it reads rows, if only to change them."""
        return bool(self.read or (self.changed and not self.inserts))


class Guard:
    """The authorizer of one connection."""

    def __init__(self, connection: apsw.Connection, enforce_limits: bool = True) -> None:
        self.user = False  # whether what is prepared now comes from user code
        self.facts: Facts | None = None  # of the statement that is being prepared
        self.refusal: str | None = None  # what to say instead of SQLite's "not authorized"
        self._connection = connection
        self._verdicts: dict[tuple[int, str | None, str | None, str | None], bool] = {}
        if enforce_limits:
            for limit, value in LIMITS.items():
                connection.limit(limit, value)
        self._max_sql_bytes = connection.limit(apsw.SQLITE_LIMIT_SQL_LENGTH)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.drop_modules(BUILT_IN)
        connection.authorizer = self._authorize

    def is_too_long(self, sql: str) -> bool:
        """Whether a statement has more bytes than the limit. SQLite itself would say it in other words to apsw."""
        most = self._max_sql_bytes
        return 4 * len(sql) > most and len(sql.encode("utf-8", "surrogatepass")) > most

    @contextmanager
    def many(self) -> Iterator[None]:
        """Judge many statements of user code, with a memory that costs as little as can be, and take no notes."""
        self.user, self.refusal = True, None
        self._connection.authorizer = cache(self._authorize)
        try:
            yield
        finally:
            self._connection.authorizer = self._authorize
            self.user = False

    def _authorize(
        self, action: int, first: str | None, second: str | None, database: str | None, trigger: str | None
    ) -> int:
        if not self.user:
            return apsw.SQLITE_OK
        asked = (action, first, second, database)
        allowed = self._verdicts.get(asked)
        if allowed is None:
            allowed = self._judge(*asked)
        if allowed and trigger is None:
            self._note(action, first, second)
        return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY

    def _judge(self, action: int, first: str | None, second: str | None, database: str | None) -> bool:
        asked = (action, first, second, database)
        if action in (apsw.SQLITE_ALTER_TABLE, apsw.SQLITE_DETACH):
            first, second, database = second, None, first  # SQLite hands these over in another order
        allowed = self._allowed(action, first, second, database)
        if self.refusal is None:
            if len(self._verdicts) > MAX_VERDICTS:
                self._verdicts.clear()
            self._verdicts[asked] = allowed
        return allowed

    def _allowed(self, action: int, first: str | None, second: str | None, database: str | None) -> bool:
        if database == "temp":
            return action in (apsw.SQLITE_READ, apsw.SQLITE_UPDATE) and is_open(first)
        if database not in (None, "main"):
            return False
        if action in (apsw.SQLITE_TRANSACTION, apsw.SQLITE_SAVEPOINT):
            self.refusal = NO_TRANSACTIONS
            return False
        judge = _JUDGES.get(action)
        return judge is not None and judge(first, second)

    def _note(self, action: int, first: str | None, second: str | None) -> None:
        facts = self.facts
        if facts is None:
            facts = self.facts = Facts()
        if action == apsw.SQLITE_READ:
            facts.read.add(first or "")
        elif action == apsw.SQLITE_FUNCTION:
            facts.counts = facts.counts or second == "count"
        elif action in (apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE):
            if first in SCHEMA_TABLES:
                facts.changes_schema = True
                if action == apsw.SQLITE_UPDATE and second == "type":  # `IF NOT EXISTS` comes here only if it does not
                    facts.schema_rows += 2
                return
            facts.target = facts.target or first
            facts.inserts = facts.inserts or action == apsw.SQLITE_INSERT
            if action == apsw.SQLITE_UPDATE:
                facts.changed.add(second or "")
        elif action in SCHEMA_ROWS:
            facts.schema_rows += 1


def is_open(name: str | None) -> bool:
    """Whether user code may touch what has this name."""
    return name is None or name[:4].lower() != "_cf_"


def _always(_first: str | None, _second: str | None) -> bool:
    return True


def _first_open(first: str | None, _second: str | None) -> bool:
    return is_open(first)


def _both_open(first: str | None, second: str | None) -> bool:
    return is_open(first) and is_open(second)


def _function(_first: str | None, second: str | None) -> bool:
    return second is not None and second.lower() in FUNCTIONS  # `CURRENT_TIMESTAMP` comes in capitals


def _module(first: str | None, second: str | None) -> bool:
    return second is not None and second.lower() in MODULES and is_open(first)


def _pragma(name: str | None, argument: str | None) -> bool:
    name = name and name.lower()  # SQLite hands it over as it was written
    if name == "table_list":
        return True
    if name in WITHOUT_ARGUMENT:
        return argument is None
    if name in SWITCHES:
        return argument is None or SWITCH_VALUE.match(argument) is not None
    if name in OF_AN_OBJECT:
        return argument is not None and is_open(argument)
    if name in ("foreign_key_check", "quick_check"):
        return is_open(argument)
    return name == "optimize" and (argument is None or INTEGER.match(argument) is not None)


_JUDGES: dict[int, Callable[[str | None, str | None], bool]] = {
    apsw.SQLITE_SELECT: _always,
    apsw.SQLITE_RECURSIVE: _always,
    apsw.SQLITE_ANALYZE: _always,  # `PRAGMA optimize` analyses every table
    **dict.fromkeys(
        (
            apsw.SQLITE_READ,
            apsw.SQLITE_INSERT,
            apsw.SQLITE_UPDATE,
            apsw.SQLITE_DELETE,
            apsw.SQLITE_CREATE_TABLE,
            apsw.SQLITE_DROP_TABLE,
            apsw.SQLITE_ALTER_TABLE,
            apsw.SQLITE_CREATE_VIEW,
            apsw.SQLITE_DROP_VIEW,
            apsw.SQLITE_REINDEX,
        ),
        _first_open,
    ),
    **dict.fromkeys(
        (
            apsw.SQLITE_CREATE_INDEX,
            apsw.SQLITE_DROP_INDEX,
            apsw.SQLITE_CREATE_TRIGGER,
            apsw.SQLITE_DROP_TRIGGER,
        ),
        _both_open,
    ),
    apsw.SQLITE_FUNCTION: _function,
    apsw.SQLITE_CREATE_VTABLE: _module,
    apsw.SQLITE_DROP_VTABLE: _module,
    apsw.SQLITE_PRAGMA: _pragma,
}

_CODES = {code: name for code, name in apsw.mapping_result_codes.items() if isinstance(code, int)}
_EXTENDED_CODES = {code: name for code, name in apsw.mapping_extended_result_codes.items() if isinstance(code, int)}


def describe(fault: apsw.Error, shift: int = 0) -> str:
    """`near "x": syntax error at offset 14: SQLITE_ERROR (extended: …)`, as workerd writes what SQLite says. `shift`
    is where the statement begins in the text that SQLite was given; offsets are in bytes."""
    text = str(fault)
    code, extended, offset = _codes(fault)
    if offset >= 0:
        text += f" at offset {max(offset - shift, 0)}"
    text += f": {_CODES.get(code, f'SQLITE_UNKNOWN_ERROR_CODE({code})')}"
    if extended != code and extended in _EXTENDED_CODES:
        text += f" (extended: {_EXTENDED_CODES[extended]})"
    return text


def _codes(fault: apsw.Error) -> tuple[int, int, int]:
    code = getattr(fault, "result", apsw.SQLITE_ERROR)
    return code, getattr(fault, "extendedresult", code), getattr(fault, "error_offset", -1)


def is_busy(fault: apsw.Error) -> bool:
    """Whether another connection stands in the way, and trying again makes sense."""
    return isinstance(fault, (apsw.BusyError, apsw.LockedError))
