"""Statements that apsw's SQLite reads otherwise than workerd's."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.storage.database import Database
from pyflare.storage.sql_runner import Runner
from pyflare.storage.sql_text import first_end, has_empty_end, without_limit

ROWS = [(1, 3, "a"), (2, 1, "b"), (3, 2, "a"), (4, None, "c")]


def runner() -> Runner:
    made = Runner(Database(":memory:").raw, lambda: None)
    made.run("CREATE TABLE t (id INTEGER PRIMARY KEY, n, v)")
    for row in ROWS:
        made.run("INSERT INTO t VALUES (?, ?, ?)", row)
    return made


def left(sql: str, *params: object) -> list[int]:
    made = runner()
    made.run(sql, params)
    return [row[0] for row in made.run("SELECT id FROM t WHERE v <> 'new'").rows]


def test_apsw_needs_the_help() -> None:
    with pytest.raises(apsw.SQLError, match='near "LIMIT": syntax error'):
        apsw.Connection(":memory:").execute("CREATE TABLE t (a); DELETE FROM t LIMIT 1")


@pytest.mark.parametrize(
    ("sql", "params", "rows"),
    [
        ("DELETE FROM t LIMIT 3", (), [4]),
        ("DELETE FROM t ORDER BY n DESC LIMIT 1", (), [2, 3, 4]),
        ("delete from t as x where x.v = ? order by x.n limit ?, ?; ", ("a", 1, 5), [2, 3, 4]),
        ("DELETE FROM t WHERE n = 3 OR n = 1 LIMIT -1 OFFSET 1", (), [1, 3, 4]),
        ("DELETE FROM t WHERE v IN (SELECT v FROM t ORDER BY n LIMIT 1) LIMIT 1 -- some", (), [1, 2, 3]),
        ("WITH few AS (SELECT 2 AS id LIMIT 1) DELETE FROM t WHERE id IN few LIMIT 9", (), [1, 3, 4]),
        ("UPDATE t SET v = ? WHERE v = 'a' OR v = 'b' ORDER BY id DESC LIMIT ?", ("new", 2), [1, 4]),
        ("UPDATE OR IGNORE t SET v = (SELECT 'new' LIMIT 1) /* ; LIMIT 9 */ LIMIT 1", (), [2, 3, 4]),
        ("UPDATE t SET v = 'new' WHERE n IS DISTINCT FROM 'LIMIT' LIMIT 1", (), [2, 3, 4]),
    ],
)
def test_rows_to_delete_or_update_may_be_ordered_and_limited(
    sql: str, params: tuple[object, ...], rows: list[int]
) -> None:
    assert left(sql, *params) == rows


def test_such_a_statement_gives_the_rows_of_returning() -> None:
    rows = runner().run("DELETE FROM t WHERE v = 'a' RETURNING id, v ORDER BY n LIMIT 1")
    assert (rows.columns, rows.rows) == (("id", "v"), [(3, "a")])


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1 LIMIT 1", "DELETE FROM t", 'DELETE FROM "limit"', "UPDATE t SET a = 1 FROM u LIMIT 1", "LIMIT", ""],
)
def test_any_other_statement_is_left_alone(sql: str) -> None:
    assert without_limit(sql) is None


@given(st.text("DELETE FROM t WHERE LIMIT ORDER'\"[]`()-/*;\n", max_size=40))
def test_any_text_can_be_looked_at(text: str) -> None:
    without_limit(f"DELETE FROM {text} LIMIT 1")
    assert 0 <= first_end(text) <= len(text)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1;", False),
        ("SELECT 1;;", True),
        ("SELECT 1; \n ;", True),
        ("; SELECT 1;", False),
        ("SELECT ';;'", False),
        ("SELECT 1 -- ;;", False),
    ],
)
def test_an_empty_statement_at_the_end_is_seen(sql: str, expected: bool) -> None:
    assert has_empty_end(sql) is expected
