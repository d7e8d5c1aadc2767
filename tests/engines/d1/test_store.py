"""The file of a D1 database, without a loop."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from pyflare.engines.d1.dump import dump
from pyflare.engines.d1.script import run_script
from pyflare.engines.d1.store import D1Fault, D1Store, Query, path_of
from pyflare.storage.layout import Layout

SPIN = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def store(tmp_path: Path) -> D1Store:
    return D1Store(tmp_path / "a.sqlite")


def run(store: D1Store, *texts: str) -> list[tuple[object, ...]]:
    return list(store.run([Query(text) for text in texts])[-1].rows)


@pytest.mark.cloudflare("parity/storage/NOTES.md, parity/state-sample")
def test_the_file_has_the_name_that_wrangler_gives_it(tmp_path: Path) -> None:
    path = path_of(Layout(tmp_path), "sample-db")
    assert path.relative_to(tmp_path).as_posix() == (
        "d1/miniflare-D1DatabaseObject/58e4d4328056c7017745b5b2ed0bdf1a1c1e93f7c30d21b75c38eda85ec14605.sqlite"
    )


@pytest.mark.cloudflare("parity/state-sample")
def test_a_database_of_the_runtime_is_read_from_its_write_ahead_log(tmp_path: Path) -> None:
    for suffix in ("", "-wal"):
        shutil.copyfile(Path(__file__).parent / "data" / f"users.sqlite{suffix}", tmp_path / f"a.sqlite{suffix}")
    assert run(D1Store(tmp_path / "a.sqlite"), "SELECT * FROM users") == [(1, "Ada", b"\x01"), (2, "Grace", None)]


def test_nothing_is_made_before_the_first_request(store: D1Store) -> None:
    assert (store.tables(), store.path.exists()) == ([], False)
    run(store, "CREATE TABLE t (a)")
    assert (store.tables(), store.path.exists()) == ([("t", 0)], True)


@pytest.mark.cloudflare("parity/storage/NOTES.md")
def test_the_table_of_the_runtime_is_in_every_database(store: D1Store) -> None:
    assert run(store, "SELECT name FROM sqlite_schema") == [("_cf_METADATA",)]


def test_a_request_is_all_or_nothing(store: D1Store) -> None:
    run(store, "CREATE TABLE t (a UNIQUE)")
    with pytest.raises(D1Fault, match="UNIQUE constraint failed"):
        run(store, "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)")
    with pytest.raises(D1Fault, match="no such table"):
        run(store, "INSERT INTO t VALUES (2); SELECT * FROM nowhere")
    assert run(store, "SELECT count(*) FROM t") == [(0,)]


def test_foreign_keys_are_enforced_and_can_be_deferred_within_a_request(store: D1Store) -> None:
    run(store, "CREATE TABLE parent (id INTEGER PRIMARY KEY)", "CREATE TABLE child (p REFERENCES parent (id))")
    with pytest.raises(D1Fault, match="FOREIGN KEY constraint failed: SQLITE_CONSTRAINT"):
        run(store, "INSERT INTO child VALUES (9)")
    run(store, "PRAGMA defer_foreign_keys = on", "INSERT INTO child VALUES (9)", "INSERT INTO parent VALUES (9)")
    with pytest.raises(D1Fault, match="FOREIGN KEY constraint failed: SQLITE_CONSTRAINT"):
        run(store, "PRAGMA defer_foreign_keys = on", "INSERT INTO child VALUES (8)")
    assert run(store, "SELECT p FROM child") == [(9,)]


@pytest.mark.cloudflare("parity/storage d1_meta_of_an_insert, d1_meta_rows_read_and_written")
def test_what_is_told_of_an_insert(store: D1Store) -> None:
    run(store, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT UNIQUE)")
    meta = store.run([Query("INSERT INTO t (v) VALUES ('a'), ('b')")])[0].meta
    assert (meta.changes, meta.last_row_id, meta.changed_db, meta.rows_written) == (2, 2, True, 4)
    assert meta.size_after % 4096 == 0
    meta = store.run([Query("SELECT * FROM t")])[0].meta
    assert (meta.changes, meta.last_row_id, meta.changed_db, meta.rows_read) == (0, 2, False, 2)


@pytest.mark.cloudflare("miniflare workers/d1/database.worker.ts")
def test_texts_that_are_only_comments_are_left_out(store: D1Store) -> None:
    assert run(store, " -- first\n  ", "SELECT 1") == [(1,)]
    with pytest.raises(D1Fault, match="No SQL statements detected"):
        store.run([])
    with pytest.raises(D1Fault, match="No SQL statements detected"):
        run(store, "", "  ", "\t-- first\r\n-- second")


@pytest.mark.cloudflare("d1/platform/limits")
def test_a_query_that_takes_too_long_is_ended_and_rolled_back(tmp_path: Path) -> None:
    store = D1Store(tmp_path / "a.sqlite", seconds=0.02)
    run(store, "CREATE TABLE t (a)")
    with pytest.raises(D1Fault, match="exceeded timeout"):
        run(store, "INSERT INTO t VALUES (1)", SPIN)
    assert run(store, "SELECT count(*) FROM t") == [(0,)]


def test_another_process_may_write_between_requests(store: D1Store) -> None:
    run(store, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    assert store.run([Query("SELECT * FROM t")])[0].columns == ("a",)
    other = apsw.Connection(str(store.path))
    other.execute("ALTER TABLE t ADD COLUMN b; INSERT INTO t VALUES (2, 3)")
    result = store.run([Query("SELECT * FROM t")])[0]
    assert (result.columns, result.rows) == (("a", "b"), [(1, None), (2, 3)])


def test_what_another_process_adds_is_in_the_size(store: D1Store) -> None:
    run(store, "CREATE TABLE t (a)")
    before = store.run([Query("SELECT 1 FROM t")])[0].meta.size_after
    other = apsw.Connection(str(store.path))
    other.execute("INSERT INTO t VALUES (zeroblob(40960))")
    assert store.run([Query("SELECT 1 FROM t")])[0].meta.size_after == before + 10 * 4096


def test_the_size_follows_each_statement(store: D1Store) -> None:
    run(store, "CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    large, small = "INSERT INTO t VALUES (1, zeroblob(40960))", "INSERT INTO t VALUES (2, 'a')"
    metas = [store.run([Query(sql)])[0].meta for sql in (small, large, "DELETE FROM t WHERE id = 1")]
    assert [meta.size_after - metas[0].size_after for meta in metas] == [0, 10 * 4096, 0]
    metas = [result.meta for result in store.run([Query(large), Query("DELETE FROM t WHERE id = 1")])]
    assert metas[0].size_after - metas[1].size_after == 10 * 4096


def test_columns_follow_a_script_and_a_request_that_is_undone(store: D1Store) -> None:
    run(store, "CREATE TABLE t (a)")
    select = Query("SELECT * FROM t")
    assert store.run([select])[0].columns == ("a",)
    run_script(store, "ALTER TABLE t ADD COLUMN b")
    assert store.run([select])[0].columns == ("a", "b")
    with pytest.raises(D1Fault, match="no such table"):
        store.run([Query("ALTER TABLE t ADD COLUMN c"), select, Query("SELECT * FROM nowhere")])
    assert store.run([select])[0].columns == ("a", "b")


def test_a_script_tells_of_each_statement(store: D1Store) -> None:
    outcome = run_script(
        store, "CREATE TABLE t (a); -- one\nINSERT INTO t VALUES (1), (2);\nSELECT a FROM t; SELECT 3 AS b\n"
    )
    assert (len(outcome), outcome.last, min(outcome.durations) > 0) == (4, [(3,)], True)
    assert [(at, answer.columns, answer.rows) for at, answer in outcome.answers.items()] == [
        (2, ("a",), [(1,), (2,)]),
        (3, ("b",), [(3,)]),
    ]
    assert run_script(store, "SELECT a FROM t WHERE a = 9").last == []


def test_rows_to_delete_or_update_may_be_limited_in_a_script(store: D1Store) -> None:
    outcome = run_script(
        store,
        "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3);\nDELETE FROM t ORDER BY a DESC LIMIT 1; -- one\n"
        "UPDATE t SET a = ';' WHERE a <> ';' LIMIT 1; SELECT a FROM t",
    )
    assert (len(outcome), outcome.last) == (5, [(";",), (2,)])
    with pytest.raises(D1Fault, match=r'near "LIMIT": syntax error at offset 14: SQLITE_ERROR\nin line 2: SELECT 1'):
        run_script(store, "DELETE FROM t LIMIT 1;\nSELECT 1 FROM LIMIT")


def test_a_script_is_judged_as_a_request_is(store: D1Store) -> None:
    for sql, said in (("PRAGMA journal_mode", "not authorized"), ("SAVEPOINT a", "To execute a transaction")):
        for _ in range(2):
            with pytest.raises(D1Fault, match=said):
                run_script(store, f"CREATE TABLE t (a); {sql}")
            with pytest.raises(D1Fault, match=said):
                run(store, sql)
    assert store.tables() == []


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT 1;\n\nSELECT *\n FROM zz;\nSELECT 2", "no such table: zz: SQLITE_ERROR\nin line 3: SELECT *"),
        (
            "SELECT 1; -- a\r\n/* b\n;*/ SELECT\r\n FROM",
            'near "FROM": syntax error at offset 24: SQLITE_ERROR\nin line 3: SELECT',
        ),
        (
            "SELECT 1;\nSELECT json('{');\nSELECT * FROM zz",
            "malformed JSON: SQLITE_ERROR\nin line 2: SELECT json('{');",
        ),
        ("SELECT 1;\nPRAGMA journal_mode;", "not authorized: SQLITE_AUTH\nin line 2: PRAGMA journal_mode;"),
        (
            "BEGIN TRANSACTION;\nSELECT ?;\nCOMMIT;",
            "Wrong number of parameter bindings for SQL query.\nin line 2: SELECT ?;",
        ),
        ("SELECT 1;\nSELECT 'é", "unrecognized token: \"'é\" at offset 7: SQLITE_ERROR\nin line 2: SELECT 'é"),
        (
            f"SELECT 1;\nSELECT '{'x' * 100_000}';",
            f"statement too long: SQLITE_TOOBIG\nin line 2: SELECT '{'x' * 92}...",
        ),
        ("-- nothing", "No SQL statements detected."),
    ],
)
def test_a_script_that_fails_says_at_which_statement(store: D1Store, sql: str, said: str) -> None:
    with pytest.raises(D1Fault) as caught:
        run_script(store, sql)
    assert caught.value.message == said


def test_a_script_and_an_export_refuse_text_that_is_not_utf8(store: D1Store) -> None:
    run(store, "CREATE TABLE t (a)", "INSERT INTO t VALUES (CAST(x'ff' AS TEXT))")
    for work in (lambda: run_script(store, "SELECT * FROM t"), lambda: list(dump(store))):
        with pytest.raises(D1Fault, match="a text value is not valid UTF-8"):
            work()


def test_a_script_with_a_nul_is_refused(store: D1Store) -> None:
    with pytest.raises(D1Fault, match="NUL"):
        run_script(store, "CREATE TABLE t (a);\0")


def test_a_script_that_fails_at_its_end_blames_no_statement(store: D1Store) -> None:
    run(store, "CREATE TABLE parent (id INTEGER PRIMARY KEY)", "CREATE TABLE child (p REFERENCES parent (id))")
    with pytest.raises(D1Fault) as caught:
        run_script(store, "PRAGMA defer_foreign_keys = on;\nINSERT INTO child VALUES (9);")
    assert caught.value.message.startswith("FOREIGN KEY constraint failed") and "\n" not in caught.value.message


def test_rows_are_counted_after_a_script(store: D1Store) -> None:
    run_script(store, "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2); SELECT * FROM t")
    assert store.run([Query("SELECT * FROM t")])[0].meta.rows_read == 2


def test_a_file_that_another_process_holds_is_busy_and_free_again_later(store: D1Store) -> None:
    run(store, "CREATE TABLE t (a)")
    other = apsw.Connection(str(store.path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(D1Fault) as caught:
        run(store, "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    assert caught.value.busy
    assert run(store, "SELECT count(*) FROM t") == [(0,)]
    other.execute("COMMIT")
    run(store, "INSERT INTO t VALUES (1)")


def test_reading_the_bookmark_does_not_write(store: D1Store) -> None:
    run(store, "CREATE TABLE t (a)")
    first = store.bookmark(wrote=False)
    assert store.bookmark(wrote=False) == first
    second = store.bookmark(wrote=True)
    assert first < second < store.bookmark(wrote=True)
    assert store.tables() == [("t", 0)]


@pytest.mark.cloudflare("d1/best-practices/read-replication, a bookmark is a version of the database")
def test_a_write_of_anyone_gives_a_later_bookmark(store: D1Store) -> None:
    run(store, "CREATE TABLE t (a)")
    first = store.bookmark(wrote=False)
    run(store, "INSERT INTO t VALUES (1)")
    second = store.bookmark(wrote=False)
    apsw.Connection(str(store.path)).execute("INSERT INTO t VALUES (2)")
    run(store, "SELECT 1 FROM t")
    third = store.bookmark(wrote=False)
    assert first < second < third == store.bookmark(wrote=False)


KILLED = """
import os, sys
from pyflare.engines.d1.store import D1Store, Query
from pathlib import Path
store = D1Store(Path(sys.argv[1]))
store.run([Query("CREATE TABLE t (a)"), Query("INSERT INTO t VALUES (1)")])
print("acknowledged", flush=True)
database = store.database
database.raw.create_scalar_function("kill", lambda: os.kill(os.getpid(), 9), 0)
store.run([Query("INSERT INTO t VALUES (2)"), Query("INSERT INTO t VALUES (3)")])
database.execute("BEGIN")
database.execute("INSERT INTO t VALUES (4)")
database.execute("SELECT kill()")
"""


def test_a_killed_process_leaves_whole_requests(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (-9, "acknowledged\n")
    assert run(D1Store(path), "SELECT a FROM t") == [(1,), (2,), (3,)]
    assert os.path.exists(path)
