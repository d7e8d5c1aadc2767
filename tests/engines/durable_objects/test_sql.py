"""`ctx.storage.sql` as JavaScript sees it. Values are those that workerd 1.20260822.1 gave."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from pyflare.engines.durable_objects.sql import SqlCursor, SqlStorage
from pyflare.engines.durable_objects.store import ObjectStore
from pyflare.interop.buffers import ArrayBuffer
from pyflare.interop.convert import to_js, to_py
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import jsnull

MANY = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1500) SELECT x FROM n"


@pytest.fixture
def sql(tmp_path: Path) -> Any:
    return SqlStorage.make(ObjectStore(tmp_path / "object.sqlite"))


def rows(cursor: SqlCursor) -> Any:
    return to_py(cursor.toArray())


def test_the_sdk_knows_the_classes_by_their_names(sql: Any) -> None:
    assert (sql.constructor.name, sql.exec("SELECT 1").constructor.name) == ("SqlStorage", "Cursor")


@pytest.mark.cloudflare("parity/durable-objects sql_column_types_in_python")
def test_columns_become_javascript_values(sql: Any) -> None:
    row = sql.exec("SELECT 1 AS i, 1.5 AS r, 'x' AS t, NULL AS n, x'6162' AS b, 3.0 AS w, 9007199254740993 AS h").one()
    assert (row.i, row.r, row.t, row.n, row.w) == (1, 1.5, "x", jsnull, 3)
    assert isinstance(row.b, ArrayBuffer)
    assert row.b.to_bytes() == b"ab"
    assert (type(row.w), type(row.h), row.h) == (int, float, 2.0**53)


@pytest.mark.cloudflare("parity/durable-objects sql_bound_types, NOTES.md")
@pytest.mark.parametrize(
    ("value", "kind", "stored"),
    [
        (1, "real", 1),
        (1.5, "real", 1.5),
        ("s", "text", "s"),
        (None, "null", jsnull),
        (jsnull, "null", jsnull),
        (True, "text", "true"),
        (False, "text", "false"),
        ([1, 2], "text", "1,2"),
        ({"a": 1}, "text", "[object Object]"),
        (2**53 - 2, "real", 2**53 - 2),
    ],
)
def test_bound_values_get_the_types_of_javascript(sql: Any, value: Any, kind: str, stored: Any) -> None:
    row = sql.exec("SELECT typeof(?1) AS kind, ?1 AS v", to_js(value)).one()
    assert (row.kind, row.v) == (kind, stored)


def test_bytes_are_bound_as_a_blob(sql: Any) -> None:
    row = sql.exec("SELECT typeof(?1) AS kind, ?1 AS v", to_js(b"\x01\x02")).one()
    assert (row.kind, row.v.to_bytes()) == ("blob", b"\x01\x02")


@pytest.mark.cloudflare("parity/durable-objects sql_bound_big_int_is_refused")
def test_integers_from_2_53_minus_1_are_bigints_and_refused(sql: Any) -> None:
    for value in (2**53 - 1, -(2**53), 2**70):
        with pytest.raises(JsException, match=r"^TypeError: Cannot convert a BigInt value to a number$"):
            sql.exec("SELECT ?", value)


def test_an_integer_column_keeps_integers(sql: Any) -> None:
    sql.exec("CREATE TABLE t (a INTEGER, b TEXT, c)")
    sql.exec("INSERT INTO t VALUES (?1, ?1, ?1)", 7)
    assert rows(sql.exec("SELECT typeof(a) AS a, b, typeof(c) AS c FROM t")) == [
        {"a": "integer", "b": "7.0", "c": "real"}
    ]


def test_a_fault_is_an_error_of_javascript(sql: Any) -> None:
    with pytest.raises(JsException, match=r"^Error: no such table: nowhere: SQLITE_ERROR$"):
        sql.exec("SELECT * FROM nowhere")


@pytest.mark.cloudflare("parity/durable-objects sql_one_without_row, sql_one_with_two_rows")
def test_one_wants_exactly_one_row(sql: Any) -> None:
    with pytest.raises(JsException, match="but got no results"):
        sql.exec("SELECT 1 WHERE 0").one()
    with pytest.raises(JsException, match="but got multiple results"):
        sql.exec("SELECT 1 UNION SELECT 2").one()


@pytest.mark.cloudflare("parity/durable-objects sql_cursor_is_used_up, sql_next_by_hand")
def test_a_cursor_gives_each_row_once(sql: Any) -> None:
    cursor = sql.exec("SELECT 1 AS a UNION SELECT 2 UNION SELECT 3")
    assert to_py(cursor.next()) == {"done": False, "value": {"a": 1}}
    assert rows(cursor) == [{"a": 2}, {"a": 3}]
    assert rows(cursor) == []
    assert to_py(cursor.next()) == {"done": True, "value": None}


def test_a_cursor_can_be_iterated_in_part_and_then_read_on(sql: Any) -> None:
    cursor = sql.exec("SELECT 1 AS a UNION SELECT 2 UNION SELECT 3")
    assert next(iter(cursor)).a == 1
    assert [row.a for row in cursor] == [2, 3]


def test_raw_keeps_columns_of_one_name(sql: Any) -> None:
    cursor = sql.exec("SELECT 1 AS a, 2 AS a")
    assert list(cursor.columnNames) == ["a", "a"]
    assert to_py(cursor.raw().toArray()) == [[1, 2]]
    assert rows(sql.exec("SELECT 1 AS a, 2 AS a")) == [{"a": 2}]


def test_raw_and_its_cursor_share_the_rows(sql: Any) -> None:
    cursor = sql.exec("SELECT 1 AS a UNION SELECT 2")
    raw = cursor.raw()
    assert to_py(raw.next()) == {"done": False, "value": [1]}
    assert [list(row) for row in raw] == [[2]]
    assert (rows(cursor), to_py(raw.next())) == ([], {"done": True, "value": None})


def test_names_that_look_like_indexes_come_first(sql: Any) -> None:
    assert list(to_py(sql.exec('SELECT 1 AS b, 2 AS "10", 3 AS "9", 4 AS "010"').one())) == ["9", "10", "b", "010"]


def test_a_large_result_is_read_lazily_and_counted(sql: Any) -> None:
    cursor = sql.exec(MANY)
    first = [cursor.next().value.x for _ in range(700)]
    assert (first[-1], len(rows(cursor))) == (700, 800)
    assert cursor.rowsRead >= 1500 - 512


def test_row_counts_are_properties_of_the_cursor(sql: Any) -> None:
    sql.exec("CREATE TABLE t (a)")
    assert sql.exec("INSERT INTO t VALUES (1), (2), (3)").rowsWritten == 3
    assert sql.exec("SELECT * FROM t").rowsRead == 3


def test_the_size_is_a_number_of_pages(sql: Any) -> None:
    sql.exec("CREATE TABLE t (a)")
    assert (type(sql.databaseSize), sql.databaseSize % 4096, sql.databaseSize > 0) == (int, 0, True)


def test_dates_are_bound_as_text(sql: Any) -> None:
    moment = dt.datetime(2024, 5, 6, tzinfo=dt.UTC)
    from pyflare.interop.dates import JsDate

    text = sql.exec("SELECT ? AS v", JsDate.make(moment.timestamp() * 1000)).one().v
    assert text.startswith("Mon May 06 2024")
