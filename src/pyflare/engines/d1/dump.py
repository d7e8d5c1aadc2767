"""A database as SQL text, in the order and shape of `wrangler d1 export`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import Any

from pyflare.engines.d1.store import D1Fault, D1Store, quoted
from pyflare.storage.database import Database
from pyflare.storage.sql_runner import NOT_UTF8

TABLES = """
    SELECT name, sql FROM sqlite_schema
    WHERE type = 'table' AND sql NOT NULL
    ORDER BY tbl_name = 'sqlite_sequence', rowid
"""
REST = """
    SELECT name, sql FROM sqlite_schema
    WHERE sql NOT NULL AND type IN ('index', 'trigger', 'view')
    ORDER BY type COLLATE NOCASE
"""
NAMES = "SELECT name FROM sqlite_schema"
COLUMNS = "SELECT name FROM pragma_table_info(?)"

VIRTUAL_TABLES = "D1 Export error: cannot export databases with Virtual Tables (fts5)"
QUOTED_TABLE = re.compile(r"CREATE TABLE ['\"]")


def dump(store: D1Store, *, schema: bool = True, data: bool = True, tables: Collection[str] = ()) -> Iterator[str]:
    """The statements, one by one; of all tables, or of those that are named. Raises `D1Fault`."""
    database = store.database
    yield "PRAGMA defer_foreign_keys=TRUE;"
    for name, sql in database.execute(TABLES):
        if tables and name not in tables:
            continue
        opening = _opening(name, sql)
        if opening is None:
            continue
        if schema:
            yield opening
        if data:
            yield from _rows(database, name)
    if schema:
        for name, sql in database.execute(REST):
            if not tables or name in tables:
                yield f"{sql};"


def missing(store: D1Store, tables: Collection[str]) -> list[str]:
    """Those of the names that nothing in the database has."""
    known = {name for (name,) in store.database.execute(NAMES)}
    return [name for name in tables if name not in known]


def _opening(name: str, sql: str) -> str | None:
    """What stands before the rows of a table; None: the table is not exported."""
    if name == "sqlite_sequence":
        return "DELETE FROM sqlite_sequence;"
    if re.match(r"sqlite_stat.", name):
        return "ANALYZE sqlite_schema;"
    if sql.startswith("CREATE VIRTUAL TABLE"):
        raise D1Fault(VIRTUAL_TABLES)
    if name.startswith(("_cf_", "sqlite_")):
        return None
    if QUOTED_TABLE.match(sql):
        return f"CREATE TABLE IF NOT EXISTS {sql[13:]};"
    return f"{sql};"


def _rows(database: Database, table: str) -> Iterator[str]:
    names = [quoted(name) for (name,) in database.execute(COLUMNS, (table,))]
    head = f"INSERT INTO {quoted(table)} ({','.join(names)}) VALUES("
    try:
        for row in database.raw.execute(f"SELECT {', '.join(names)} FROM {quoted(table)}"):
            yield f"{head}{','.join([literal(cell) for cell in row])});"
    except UnicodeDecodeError:
        raise D1Fault(f"{table}: {NOT_UTF8}") from None


def literal(cell: Any) -> str:
    """A value as SQL."""
    if cell is None:
        return "NULL"
    if isinstance(cell, str):
        return _text(cell)
    if isinstance(cell, bytes):
        return f"X'{cell.hex()}'"
    if isinstance(cell, float) and math.isinf(cell):
        return "9e999" if cell > 0 else "-9e999"
    return repr(cell)


def _text(text: str) -> str:
    """Text on one line: line ends are put in by `replace`, for a mark that the text does not hold."""
    marks = [(end, code, _mark(text, name)) for end, code, name in (("\r", 13, "r"), ("\n", 10, "n")) if end in text]
    text = text.replace("'", "''")
    for end, _, mark in marks:
        text = text.replace(end, mark)
    sql = f"'{text}'"
    for _, code, mark in marks:
        sql = f"replace({sql},'{mark}',char({code}))"
    return sql


def _mark(text: str, name: str) -> str:
    mark, number = f"\\{name}", 0
    while mark in text:
        number += 1
        mark = f"\\{name}{number}"
    return mark
