"""Running SQL of user code: several statements in a text, laziness, row counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyflare.storage.database import Database
from pyflare.storage.sql_guard import SqlError
from pyflare.storage.sql_runner import CHUNK, Rows, Runner

MANY = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 2000) SELECT x FROM n"


def runner(*schema: str) -> Runner:
    made = Runner(Database(":memory:").raw, lambda: None)
    for sql in schema:
        made.run(sql)
    return made


PEOPLE = (
    "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT UNIQUE, age INTEGER)",
    "INSERT INTO people (name, age) VALUES ('Ada', 36), ('Bob', 20), ('Cyd', 51)",
)


def test_the_rows_are_those_of_the_last_statement() -> None:
    rows = runner().run("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2); SELECT 7; SELECT sum(a) AS total FROM t")
    assert (rows.columns, rows.all()) == (("total",), [(3,)])


def test_parameters_go_to_the_last_statement() -> None:
    made = runner()
    made.run("CREATE TABLE t (a); INSERT INTO t VALUES (?)", ["bound"])
    assert made.run("SELECT a FROM t").rows == [("bound",)]


def test_only_the_last_statement_may_have_parameters() -> None:
    with pytest.raises(SqlError, match="only the last statement can have parameters"):
        runner().run("SELECT ? AS a; SELECT ? AS b", [1])


@pytest.mark.cloudflare("workerd 1.20261117.1")
def test_empty_statements_are_passed_over_but_at_the_end() -> None:
    assert runner().run("; SELECT 1;; SELECT 2; ;; SELECT 3;").rows == [(3,)]
    with pytest.raises(SqlError, match="did not contain a statement"):
        runner().run("SELECT 1; SELECT 2; ;")


def test_statements_before_the_fault_stay() -> None:
    made = runner("CREATE TABLE t (a)")
    with pytest.raises(SqlError):
        made.run("INSERT INTO t VALUES (1); SELECT * FROM nowhere")
    assert made.run("SELECT a FROM t").rows == [(1,)]


def test_column_names_are_known_without_rows() -> None:
    assert runner().run("SELECT 1 AS a, 2 AS a, 3 WHERE 0").columns == ("a", "a", "3")


def test_column_names_follow_a_changed_schema() -> None:
    made = runner("CREATE TABLE t (a)")
    assert made.run("SELECT * FROM t").columns == ("a",)
    made.run("ALTER TABLE t ADD COLUMN b")
    assert made.run("SELECT * FROM t").columns == ("a", "b")


def test_many_rows_are_read_as_they_are_asked_for() -> None:
    made = runner()
    rows = made.run(MANY)
    assert (len(rows.rows), rows.more is None) == (CHUNK, False)
    assert made.run("SELECT 1").rows == [(1,)]
    assert len(rows.all()) == 2000


def test_a_statement_that_writes_is_read_to_its_end() -> None:
    rows = runner("CREATE TABLE t (a)").run(f"INSERT INTO t {MANY} RETURNING a")
    assert (len(rows.rows), rows.more) == (2000, None)


def test_every_statement_that_writes_is_announced() -> None:
    told: list[int] = []
    made = Runner(Database(":memory:").raw, lambda: told.append(1))
    made.run("CREATE TABLE t (a); INSERT INTO t VALUES (1); SELECT 1")
    made.run("SELECT a FROM t")
    assert len(told) == 2


def test_the_announcement_may_open_a_transaction() -> None:
    database = Database(":memory:")

    def begin() -> None:
        if not database.raw.in_transaction:
            database.execute("BEGIN")

    made = Runner(database.raw, begin)
    made.run("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    database.execute("ROLLBACK")
    assert database.execute("SELECT name FROM sqlite_schema") == []


def test_a_statement_that_is_known_is_announced_each_time() -> None:
    told: list[int] = []
    made = Runner(Database(":memory:").raw, lambda: told.append(1))
    made.run("CREATE TABLE t (a)")
    for number in range(3):
        made.run("INSERT INTO t VALUES (?)", [number])
    assert (len(told), made.run("SELECT a FROM t").rows) == (4, [(0,), (1,), (2,)])


def test_a_statement_that_is_known_takes_as_many_parameters_as_ever() -> None:
    made = runner()
    assert made.run("SELECT ? AS a", [1]).rows == made.run("SELECT ? AS a", [1]).rows == [(1,)]
    with pytest.raises(SqlError, match="Wrong number of parameter bindings"):
        made.run("SELECT ? AS a")


def test_lone_surrogates_are_replaced() -> None:
    assert runner().run("SELECT ?", ["\ud83d"]).rows == [("\ufffd",)]


@pytest.mark.cloudflare("workerd 1.20261117.1")
def test_text_that_is_not_utf8_is_read_as_javascript_reads_it() -> None:
    made = runner("CREATE TABLE t (a, b)", "INSERT INTO t VALUES (CAST(x'61ff62' AS TEXT), x'ff'), (char(55296), NULL)")
    for _ in range(2):
        rows = made.run("SELECT a, b AS a, 1.5 FROM t WHERE b IS NOT ? -- all", ["none"])
        assert rows.columns == ("a", "a", "1.5")
        assert rows.rows == [("a\ufffdb", b"\xff", 1.5), ("\ufffd" * 3, None, 1.5)]
    for sql in (f"{MANY} UNION ALL SELECT a FROM t", "DELETE FROM t RETURNING a"):
        with pytest.raises(SqlError, match="not valid UTF-8"):
            made.run(sql).all()


def test_a_statement_that_takes_too_long_is_ended() -> None:
    made = Runner(Database(":memory:").raw, lambda: None, overtime=lambda: True)
    with pytest.raises(SqlError) as caught:
        made.run("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")
    assert caught.value.timed_out


def test_a_file_that_another_process_writes_is_busy(tmp_path: Path) -> None:
    other = Database(tmp_path / "a.sqlite", schema="CREATE TABLE t (a)")
    other.execute("BEGIN IMMEDIATE")
    database = Database(tmp_path / "a.sqlite")
    database.raw.set_busy_timeout(0)
    with pytest.raises(SqlError) as caught:
        Runner(database.raw, lambda: None).run("INSERT INTO t VALUES (1)")
    assert (caught.value.busy, str(caught.value)) == (True, "database is locked: SQLITE_BUSY")


def counts(rows: Rows) -> tuple[int, int]:
    return rows.read, rows.written


@pytest.mark.cloudflare("parity/storage d1_meta_rows_read_and_written, workerd test/d1/d1-api-test-common.js")
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("CREATE TABLE abc (a INT, b INT, c INT)", (1, 2)),
        ("INSERT INTO people (name) VALUES ('Dan'), ('Eve')", (0, 4)),
        ("SELECT * FROM people", (3, 0)),
        ("SELECT * FROM people WHERE age = 20", (3, 0)),
        ("SELECT * FROM people WHERE id = 2", (1, 0)),
        ("SELECT * FROM people WHERE name = 'Ada'", (1, 0)),
        ("SELECT * FROM people ORDER BY age", (6, 0)),
        ("SELECT count(*) FROM people", (3, 0)),
        ("SELECT 1", (0, 0)),
        ("UPDATE people SET age = 1 WHERE id = 1", (1, 1)),
        ("UPDATE people SET name = 'Eve' WHERE id = 1", (1, 2)),
        ("DELETE FROM people WHERE id = 1", (1, 1)),
        ("DROP TABLE people", (0, 0)),
    ],
)
def test_rows_are_counted_as_workerd_counts_them(sql: str, expected: tuple[int, int]) -> None:
    read, written = counts(runner(*PEOPLE).run(sql))
    if sql.startswith("DROP"):
        read = 0  # not recorded
    assert (read, written) == expected


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT * FROM people", 3),
        ("SELECT * FROM people WHERE age = 20", 3),
        ("SELECT * FROM people WHERE id = 2", 1),
        ("SELECT * FROM people WHERE id = 9", 1),
        ("SELECT * FROM people ORDER BY age", 6),
        ("SELECT count(*) FROM people", 3),
        ("EXPLAIN QUERY PLAN SELECT 1", 0),
    ],
)
def test_rows_are_counted_alike_each_time(sql: str, read: int) -> None:
    made = runner(*PEOPLE)
    assert [counts(made.run(sql)) for _ in range(3)] == [(read, 0)] * 3


def test_rows_of_a_table_without_rowids_count_once() -> None:
    made = runner("CREATE TABLE t (k TEXT PRIMARY KEY, v) WITHOUT ROWID")
    assert made.run("INSERT INTO t VALUES ('a', 1), ('b', 2)").written == 2


def test_rows_that_a_trigger_changes_count_too() -> None:
    made = runner(
        "CREATE TABLE t (a)",
        "CREATE TABLE log (a)",
        "CREATE TRIGGER logged AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); end",
    )
    assert made.run("INSERT INTO t VALUES (1), (2)").written == 4


def test_only_the_rows_of_the_last_statement_are_counted() -> None:
    assert counts(runner(*PEOPLE).run("DELETE FROM people WHERE id = 1; INSERT INTO people VALUES (9, 'Eve', 1)")) == (
        0,
        2,
    )


def test_a_table_that_is_there_is_not_written_again() -> None:
    made = runner("CREATE TABLE t (a)")
    assert [made.run(f"CREATE TABLE IF NOT EXISTS {name} (a)").written for name in "tu"] == [0, 2]


def test_an_update_reads_what_it_changes() -> None:
    assert counts(runner(*PEOPLE).run("UPDATE people SET age = 1")) == (3, 3)
    assert counts(runner(*PEOPLE).run("UPDATE people SET age = 1 WHERE 0")) == (0, 0)


def test_a_new_index_is_counted_by_the_next_insert() -> None:
    made = runner("CREATE TABLE t (a, b)")
    assert made.run("INSERT INTO t VALUES (1, 2)").written == 1
    made.run("CREATE INDEX by_b ON t (b)")
    assert made.run("INSERT INTO t VALUES (1, 2)").written == 2
