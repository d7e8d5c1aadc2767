"""`ctx.storage.sql`: SQL on the object's own file (developers.cloudflare.com, Durable Objects, "SQL storage API")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pyflare.engines.durable_objects.store import ObjectStore
from pyflare.interop import sql_values
from pyflare.interop.buffers import ArrayBuffer, BufferView
from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.errors import error, type_error
from pyflare.interop.proxy import JsObject, JsProxy, is_nullish
from pyflare.storage.sql_guard import SqlError
from pyflare.storage.sql_runner import Row, Rows

BIGINT_FROM = 2**53 - 1  # Python integers from there on are BigInt for JavaScript

NO_RESULT = "Expected exactly one result from SQL query, but got no results."
SEVERAL_RESULTS = "Expected exactly one result from SQL query, but got multiple results."


class SqlStorage(JsProxy):
    """`exec` runs a text of one or more statements; the rows are those of the last."""

    js_name: ClassVar[str] = "SqlStorage"

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def exec(self, query: Any, *bindings: Any) -> SqlCursor:
        values = [bound(value) for value in bindings]
        try:
            rows = self._store.runner.run(query if type(query) is str else to_text(query), values)
        except SqlError as fault:
            raise error(fault.message) from None
        made: SqlCursor = SqlCursor.make(rows)
        return made

    @property
    def databaseSize(self) -> int:
        """Bytes."""
        return self._store.size


def bound(value: Any) -> Any:
    """A JavaScript value as SQLite gets it: numbers are REAL, what has no type of its own is text."""
    kind = type(value)
    if kind is str or kind is float:
        return value
    if kind is int:
        if -BIGINT_FROM < value < BIGINT_FROM:
            return float(value)
        raise type_error("Cannot convert a BigInt value to a number")
    if is_nullish(value):
        return None
    if isinstance(value, (BufferView, ArrayBuffer)):
        return value.to_bytes()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (int, float)) and kind is not bool:
        return bound(int(value) if isinstance(value, int) else float(value))
    return to_text(value)


class SqlCursor(JsProxy):
    """The rows of one `exec`, each given once."""

    js_name: ClassVar[str] = "Cursor"

    def __init__(self, rows: Rows) -> None:
        self._source = rows
        self._ahead: Iterator[Row] = iter(rows.rows)
        self._begun = False
        self._further = 0  # rows that came after the first ones

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def columnNames(self) -> JsArray:
        made: JsArray = JsArray.make(list(self._source.columns))
        return made

    @property
    def rowsRead(self) -> int:
        return self._source.read + self._further

    @property
    def rowsWritten(self) -> int:
        return self._source.written

    def _step(self) -> Row | None:
        self._begun = True
        row = next(self._ahead, None)
        if row is None and self._source.more is not None:
            self._ahead, self._source.more = self._counted(self._source.more), None
            row = next(self._ahead, None)
        return row

    def _counted(self, more: Iterator[Row]) -> Iterator[Row]:
        try:
            for row in more:
                self._further += 1
                yield row
        except SqlError as fault:
            raise error(fault.message) from None

    def _remaining(self) -> list[Row]:
        if not self._begun and self._source.more is None:
            self._begun, self._ahead = True, iter(())
            return self._source.rows
        return list(iter(self._step, None))

    def _object(self, row: Row) -> JsObject:
        return sql_values.objects(self._source.columns, (row,))[0]

    def next(self) -> JsObject:
        row = self._step()
        made: JsObject = JsObject.make({"done": row is None, "value": None if row is None else self._object(row)})
        return made

    def toArray(self) -> JsArray:
        made: JsArray = JsArray.make(sql_values.objects(self._source.columns, self._remaining()))
        return made

    def one(self) -> JsObject:
        row = self._step()
        if row is None:
            raise error(NO_RESULT)
        if self._step() is not None:
            self._ahead, self._source.more = iter(()), None
            raise error(SEVERAL_RESULTS)
        return self._object(row)

    def raw(self) -> RawIterator:
        made: RawIterator = RawIterator.make(self)
        return made

    def __iter__(self) -> Iterator[JsObject]:
        while (row := self._step()) is not None:
            yield self._object(row)


class RawIterator(JsProxy):
    """The same rows as arrays, in which columns of one name are kept."""

    js_name: ClassVar[str] = "RawIterator"

    def __init__(self, cursor: SqlCursor) -> None:
        self._cursor = cursor

    def js_properties(self) -> dict[str, Any]:
        return {}

    def __iter__(self) -> Iterator[JsArray]:
        while (row := self._cursor._step()) is not None:
            yield JsArray.make([sql_values.value(cell) for cell in row])

    def next(self) -> JsObject:
        row = next(iter(self), None)
        made: JsObject = JsObject.make({"done": row is None, "value": row})
        return made

    def toArray(self) -> JsArray:
        made: JsArray = JsArray.make([JsArray.make(row) for row in sql_values.arrays(self._cursor._remaining())])
        return made
