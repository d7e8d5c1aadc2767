"""`env.DB`: Cloudflare's names, checks and conversions (developers.cloudflare.com/d1/worker-api; workerd
`cloudflare/internal/d1-api.ts`).

What reaches SQLite went through JSON on Cloudflare: every number is a REAL, infinities and not-a-number are NULL, a
list of bytes is a BLOB; and BLOBs come back as lists of numbers.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from pyflare.clock import SystemClock, monotonic
from pyflare.engines.d1.config import BUSY_SECONDS, BUSY_STEP_SECONDS
from pyflare.engines.d1.store import D1Fault, D1Store, Query, Result
from pyflare.interop import sql_values
from pyflare.interop.arguments import promised, to_string
from pyflare.interop.buffers import ArrayBuffer, BufferView, TypedArray
from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.errors import JsException, error, type_error
from pyflare.interop.promise import JsPromise, inside, perform, start
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish, jsnull, new_object

SERVED_BY = "miniflare.db"
BIGINT_FROM = 2**53 - 1  # Python integers from there on are BigInt for JavaScript

# What JavaScript's `trim` takes off; Python's `strip` would also take U+0085, and leave a byte order mark.
BLANK = "\t\n\v\f\r \xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))

FIRST_UNCONSTRAINED, FIRST_PRIMARY = "first-unconstrained", "first-primary"
NO_DUMP = "D1_DUMP_ERROR: Status + 404"
NO_QUERY = (
    "D1_ERROR: D1Database.query() requires the d1_binding_jsrpc compatibility flag. Enable d1_binding_jsrpc before "
    "calling query()."
)


class Busy(Exception):
    """Another process holds the file; `fault` is what to say when it does so for too long."""

    def __init__(self, fault: D1Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class Session:
    """Sends requests to a database. One made by `withSession` keeps a bookmark, which others (`None`) do not."""

    def __init__(self, store: D1Store, bookmark: str | None = None) -> None:
        self._store, self._bookmark = store, bookmark

    def send(self, queries: Sequence[Query], shape: Callable[[list[Result]], Any], prefix: str) -> JsPromise:
        """A promise of `shape(results)`. A locked file is tried again from the loop, which goes on meanwhile."""

        def attempt() -> Any:
            return shape(self._run(queries, prefix))

        promise = perform(attempt)
        if promise.settled and not isinstance(promise._value, Busy):
            return promise
        return start(_patiently(promise, attempt, prefix))

    def _run(self, queries: Sequence[Query], prefix: str) -> list[Result]:
        try:
            results = self._store.run(queries)
            if self._bookmark is not None:
                self._advance(self._store.bookmark(any(result.meta.changed_db for result in results)))
        except D1Fault as fault:
            if fault.busy:
                raise Busy(fault) from None
            raise failure(prefix, fault.message) from None
        return results

    def _advance(self, bookmark: str) -> None:
        if self.bookmark is None or self.bookmark < bookmark:
            self._bookmark = bookmark

    @property
    def bookmark(self) -> str | None:
        """The latest; None before the first answer."""
        return None if self._bookmark in (FIRST_UNCONSTRAINED, FIRST_PRIMARY) else self._bookmark


async def patiently(attempt: Callable[[], Any]) -> Any:
    """What `attempt` gives, tried again from the loop while it raises `Busy`."""
    return await _patiently(perform(attempt), attempt, "")


async def _patiently(promise: JsPromise, attempt: Callable[[], Any], prefix: str) -> Any:
    ends, clock = monotonic() + BUSY_SECONDS, SystemClock()
    while True:
        try:
            return await promise
        except Busy as busy:
            if monotonic() > ends:
                raise failure(prefix, busy.fault.message) from None
        await clock.wait(asyncio.Event(), clock.now() + BUSY_STEP_SECONDS)
        promise = inside(attempt)


def failure(prefix: str, message: str) -> JsException:
    """`D1_ERROR: no such table: …`, with the text behind the code as its cause."""
    raised = error(f"{prefix}{message}")
    raised.__dict__["cause"] = error(prefix.partition(" ")[2] + message)
    return raised


def trimmed(value: Any, name: str) -> str:
    """`value.trim()`; `name` is what the runtime calls the value."""
    if isinstance(value, str):
        return to_string(value).strip(BLANK)
    raise no_method(value, name, "trim")


def no_method(value: Any, name: str, method: str) -> JsException:
    """The TypeError of a method that is called where there is none."""
    if is_nullish(value):
        return type_error(f"Cannot read properties of {to_text(value)} (reading '{method}')")
    return type_error(f"{name}.{method} is not a function")


class _Statements(JsProxy):
    """What a database and a session share: statements to prepare, and batches of them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def js_properties(self) -> dict[str, Any]:
        return {}

    def prepare(self, query: Any = None) -> D1PreparedStatement:
        made: D1PreparedStatement = D1PreparedStatement.make(self._session, Query(to_string(query)))
        return made

    @promised
    def batch(self, statements: Any = None) -> JsPromise:
        if not isinstance(statements, JsArray):
            raise no_method(statements, "statements", "map")
        if not all(isinstance(statement, D1PreparedStatement) for statement in statements):
            raise type_error("batch() takes prepared statements")
        queries = [statement._query for statement in statements]
        return self._session.send(
            queries, lambda results: JsArray.make([_answer(result) for result in results]), "D1_ERROR: "
        )


class D1Database(_Statements):
    js_name: ClassVar[str] = "D1Database"

    def __init__(self, store: D1Store) -> None:
        super().__init__(Session(store))
        self._store = store

    @promised
    def exec(self, query: Any = None) -> JsPromise:
        lines = trimmed(query, "query").split("\n")
        prefix = f"D1_EXEC_ERROR: Error in line 1: {lines[0]}: "
        return self._session.send([Query(line) for line in lines], _exec_result, prefix)

    def withSession(self, constraint: Any = None) -> D1DatabaseSession:
        given = "" if is_nullish(constraint) else trimmed(constraint, "constraintOrBookmark?")
        made: D1DatabaseSession = D1DatabaseSession.make(Session(self._store, given or FIRST_UNCONSTRAINED))
        return made

    def dump(self) -> JsPromise:
        raised = error(NO_DUMP)
        raised.__dict__["cause"] = error("Status 404")
        return JsPromise.reject(raised)

    def query(self, _request: Any = None) -> JsPromise:
        return JsPromise.reject(error(NO_QUERY))


class D1DatabaseSession(_Statements):
    js_name: ClassVar[str] = "D1DatabaseSession"

    def getBookmark(self) -> Any:
        return self._session.bookmark or jsnull


class D1PreparedStatement(JsProxy):
    """A text and its parameters; `bind` gives another one."""

    js_name: ClassVar[str] = "D1PreparedStatement"

    def __init__(self, session: Session, query: Query) -> None:
        self._session, self._query = session, query

    def js_properties(self) -> dict[str, Any]:
        return {"statement": self.statement, "params": self.params}

    @property
    def statement(self) -> str:
        return self._query.sql

    @property
    def params(self) -> JsArray:
        made: JsArray = JsArray.make([_cell(value) for value in self._query.params])
        return made

    def bind(self, *values: Any) -> D1PreparedStatement:
        bound_query = Query(self._query.sql, tuple([bound(value) for value in values]))
        made: D1PreparedStatement = D1PreparedStatement.make(self._session, bound_query)
        return made

    def _send(self, shape: Callable[[list[Result]], Any]) -> JsPromise:
        return self._session.send((self._query,), shape, "D1_ERROR: ")

    @promised
    def all(self) -> JsPromise:
        return self._send(_result)

    @promised
    def run(self) -> JsPromise:
        return self._send(_result)

    @promised
    def first(self, column: Any = None) -> JsPromise:
        return self._send(lambda results: _first(results[0], None if column is None else to_text(column)))

    @promised
    def raw(self, options: Any = None) -> JsPromise:
        with_names = bool(get(options, "columnNames", False))
        return self._send(lambda results: _raw(results[0], with_names))


# --- values in ----------------------------------------------------------------------------------------------------


def bound(value: Any) -> Any:
    """A JavaScript value as a parameter. Raises `D1_TYPE_ERROR`."""
    kind = type(value)
    if kind is str:
        return to_string(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is int and -BIGINT_FROM < value < BIGINT_FROM:
        return float(value)
    if kind is bool:
        return float(value)
    if value is jsnull:
        return None
    if isinstance(value, (BufferView, ArrayBuffer)):
        return _bytes_of(value)
    if isinstance(value, JsArray) and all(_is_byte(item) for item in value):
        return bytes([int(item) for item in value])
    text = f"Type '{_typeof(value)}' not supported for value '{to_text(value)}'"
    raise failure("D1_TYPE_ERROR: ", text)


def _bytes_of(value: BufferView | ArrayBuffer) -> bytes:
    if isinstance(value, ArrayBuffer):
        return value.to_bytes()
    if isinstance(value, TypedArray):
        return value.to_bytes() if value.size == 1 else bytes([int(item) & 0xFF for item in value])
    return b""  # a DataView has no elements


def _is_byte(item: Any) -> bool:
    return isinstance(item, (int, float)) and not isinstance(item, bool) and 0 <= item < 256


def _typeof(value: Any) -> str:
    if value is None:
        return "undefined"
    if isinstance(value, int):
        return "bigint"
    typeof: str = getattr(value, "typeof", "object")
    return typeof


# --- values out ---------------------------------------------------------------------------------------------------


def _cell(cell: Any) -> Any:
    if type(cell) is float and not math.isfinite(cell):
        return jsnull  # JSON has no infinities
    return sql_values.value(cell, _numbers)


def _numbers(blob: bytes) -> JsArray:
    made: JsArray = JsArray.make(list(blob))
    return made


def _answer(result: Result) -> JsObject:
    meta = result.meta
    return new_object(
        {
            "success": True,
            "meta": new_object(
                {
                    "served_by": SERVED_BY,
                    "duration": meta.duration,
                    "changes": meta.changes,
                    "last_row_id": sql_values.value(meta.last_row_id),
                    "changed_db": meta.changed_db,
                    "size_after": meta.size_after,
                    "rows_read": meta.rows_read,
                    "rows_written": meta.rows_written,
                }
            ),
            "results": JsArray.make(sql_values.objects(result.columns, result.rows, _cell)),
        }
    )


def _result(results: list[Result]) -> JsObject:
    return _answer(results[0])


def _exec_result(results: list[Result]) -> JsObject:
    duration = sum(result.meta.duration for result in results)
    return new_object({"count": len(results), "duration": duration})


def _first(result: Result, column: str | None) -> Any:
    if not result.rows:
        return jsnull
    row = sql_values.objects(result.columns, result.rows[:1], _cell)[0]
    if column is None:
        return row
    if column not in result.columns:
        raised = error(f"D1_COLUMN_NOTFOUND: Column not found ({column})")
        raised.__dict__["cause"] = error("Column not found")
        raise raised
    return row.js_properties()[column]


def _raw(result: Result, with_names: bool) -> JsArray:
    rows: list[list[Any]] = [list(result.columns)] if with_names else []
    rows += sql_values.arrays(result.rows, _cell)
    made: JsArray = JsArray.make([JsArray.make(row) for row in rows])
    return made
