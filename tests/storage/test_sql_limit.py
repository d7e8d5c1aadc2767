"""`DELETE` and `UPDATE` with `ORDER BY` and `LIMIT`."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.storage.database import Database
from pyflare.storage.sql_guard import SqlError
from pyflare.storage.sql_limit import first_end, without_limit
from pyflare.storage.sql_runner import Runner

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
    [
        "SELECT 1 LIMIT 1",
        "DELETE FROM t",
        'DELETE FROM "limit"',
        "DELETE FROM t WHERE a IS DISTINCT FROM 1 LIMIT 1 RETURNING a",
        "UPDATE t LIMIT 1",
        "UPDATE t SET a = 1 FROM u LIMIT 1",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t LIMIT 1; END",
        "LIMIT",
        "DELETE",
        "",
    ],
)
def test_any_other_statement_is_left_alone(sql: str) -> None:
    assert without_limit(apsw.Connection(":memory:"), sql) is None


@pytest.mark.cloudflare("workerd 1.20261117.1")
@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("DELETE FROM t ORDER BY n", "ORDER BY without LIMIT on DELETE: SQLITE_ERROR"),
        ("UPDATE t SET v = 1 ORDER BY n", "ORDER BY without LIMIT on UPDATE: SQLITE_ERROR"),
        ("DELETE FROM nowhere LIMIT 1", "no such table: nowhere: SQLITE_ERROR"),
        ("DELETE FROM t LIMIT 1 RETURNING v", 'near "LIMIT": syntax error at offset 14: SQLITE_ERROR'),
    ],
)
def test_what_is_wrong_with_one_is_said(sql: str, said: str) -> None:
    made = runner()
    with pytest.raises(SqlError) as raised:
        made.run(sql)
    assert (raised.value.message, made.run("SELECT count(*) FROM t").rows) == (said, [(4,)])


def test_a_table_without_rowids_is_limited_by_its_primary_key() -> None:
    made = runner()
    made.run('CREATE TABLE "my ""t" (a, b, v, PRIMARY KEY (b, a)) WITHOUT ROWID')
    made.run("INSERT INTO [my \"t] VALUES (1, 1, 'x'), (1, 2, 'x'), (2, 1, 'x')")
    made.run('DELETE FROM "my ""t" ORDER BY a DESC LIMIT 1')
    made.run("UPDATE main.`my \"t` AS t SET v = 'y' WHERE t.v = 'x' ORDER BY b DESC LIMIT 1")
    assert made.run('SELECT * FROM [my "t]').rows == [(1, 1, "x"), (1, 2, "y")]


@given(st.text("DELETE FROM t WHERE LIMIT ORDER'\"[]`()-/*;\n", max_size=40))
def test_any_text_can_be_looked_at(text: str) -> None:
    without_limit(apsw.Connection(":memory:"), f"DELETE FROM {text} LIMIT 1")
    assert 0 <= first_end(text) <= len(text)
