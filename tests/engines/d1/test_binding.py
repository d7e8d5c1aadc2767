"""`env.DB` as the SDK calls it: JavaScript values in, promises out. Texts are those that workerd 1.20260822.1 gave."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyflare.engines.d1.engine import D1
from pyflare.interop.buffers import ArrayBuffer, DataView, Float64Array, Uint8Array
from pyflare.interop.convert import to_py
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import jsnull
from tests.support.rooms import Bench, js, refusal, run, settle

SECTIONS = {"d1_databases": [{"binding": "DB", "database_id": "notes"}]}


@pytest.fixture
def room(tmp_path: Path) -> Iterator[D1]:
    room = Bench(tmp_path).open(D1, SECTIONS)
    yield room
    room.close()


@pytest.fixture
def db(room: D1) -> Any:
    return room.bindings("w")["DB"]


def first(db: Any, sql: str, *values: Any) -> Any:
    return settle(db.prepare(sql).bind(*values).first())


def test_the_sdk_knows_the_classes_by_their_names(db: Any) -> None:
    assert (db.constructor.name, db.prepare("SELECT 1").constructor.name) == ("D1Database", "D1PreparedStatement")


@pytest.mark.cloudflare("parity/storage d1_all_gives_results_success_and_meta, d1_meta_fields")
def test_all_gives_rows_and_meta(db: Any) -> None:
    answer = to_py(settle(db.prepare("SELECT 1 AS one, 'x' AS letter").all()))
    assert (answer["success"], answer["results"]) == (True, [{"one": 1, "letter": "x"}])
    assert list(answer["meta"]) == [
        "served_by", "duration", "changes", "last_row_id", "changed_db", "size_after", "rows_read", "rows_written",
    ]  # fmt: skip


def test_run_gives_the_rows_of_returning(db: Any) -> None:
    settle(db.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)"))
    answer = settle(db.prepare("INSERT INTO t (v) VALUES (?) RETURNING id, v").bind("a").run())
    assert to_py(answer.results) == [{"id": 1, "v": "a"}]


@pytest.mark.cloudflare("parity/storage d1_first_of_unknown_column_raises, d1_first_without_rows_is_none")
def test_first_gives_a_row_a_cell_or_null(db: Any) -> None:
    statement = db.prepare("SELECT 7 AS n, NULL AS s")
    assert to_py(settle(statement.first())) == {"n": 7, "s": jsnull}
    assert (settle(statement.first("n")), settle(statement.first("s"))) == (7, jsnull)
    assert settle(db.prepare("SELECT 1 AS n WHERE 0").first()) is jsnull
    assert refusal(statement.first("missing")) == "Error: D1_COLUMN_NOTFOUND: Column not found (missing)"


@pytest.mark.cloudflare("parity/storage d1_duplicate_columns_are_kept_in_raw, d1_raw_with_column_names")
def test_raw_keeps_columns_of_one_name(db: Any) -> None:
    statement = db.prepare("SELECT 1 AS a, 2 AS a")
    assert to_py(settle(statement.raw())) == [[1, 2]]
    assert to_py(settle(statement.raw(columnNames=True))) == [["a", "a"], [1, 2]]
    assert to_py(settle(statement.all()).results) == [{"a": 2}]


@pytest.mark.cloudflare("parity/storage d1_integer_is_bound_as_real and its neighbours")
@pytest.mark.parametrize(
    ("value", "kind", "back"),
    [
        (7, "real", 7),
        (2.5, "real", 2.5),
        (True, "real", 1),
        (False, "real", 0),
        ("7", "text", "7"),
        ('it\'s "é" 😀 \x00 end', "text", 'it\'s "é" 😀 \x00 end'),
        (jsnull, "null", jsnull),
        (math.inf, "null", jsnull),
        (math.nan, "null", jsnull),
        (b"\x00\xff", "blob", [0, 255]),
        ([1, 2.0, 255], "blob", [1, 2, 255]),
        ([], "blob", []),
    ],
)
def test_parameters_travel_as_json(db: Any, value: Any, kind: str, back: Any) -> None:
    row = to_py(first(db, "SELECT typeof(?1) AS kind, ?1 AS v", js(value)))
    assert row == {"kind": kind, "v": back}


def test_views_are_bound_by_their_elements(db: Any) -> None:
    buffer = ArrayBuffer.make(b"\x01\x02\x03")
    for value, bound in (
        (buffer, [1, 2, 3]),
        (Uint8Array.make(buffer, 1, 2), [2, 3]),
        (Float64Array.of(1.0, 300.0), [1, 44]),
        (DataView.make(buffer), []),
    ):
        assert to_py(first(db, "SELECT ? AS v", value)) == {"v": bound}


@pytest.mark.cloudflare("parity/storage d1_dict_cannot_be_bound, d1_huge_integer_cannot_be_bound")
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": 1}, "Type 'object' not supported for value '[object Object]'"),
        (2**53 + 1, "Type 'bigint' not supported for value '9007199254740993'"),
        (2**53 - 1, "Type 'bigint' not supported for value '9007199254740991'"),
        (None, "Type 'undefined' not supported for value 'undefined'"),
        ([256], "Type 'object' not supported for value '256'"),
        (["a"], "Type 'object' not supported for value 'a'"),
    ],
)
def test_what_cannot_be_bound_is_refused_at_once(db: Any, value: Any, said: str) -> None:
    with pytest.raises(JsException) as raised:
        db.prepare("SELECT ?").bind(js(value))
    assert str(raised.value) == f"Error: D1_TYPE_ERROR: {said}"
    assert raised.value.cause.message == said


@pytest.mark.cloudflare("parity/storage d1_column_value_types, d1_huge_integer_column_becomes_a_float")
def test_columns_become_javascript_values(db: Any) -> None:
    row = first(db, "SELECT 1 AS i, 2.5 AS f, 3.0 AS w, 9007199254740993 AS h, 9e999 AS inf, x'01' AS b")
    assert [(type(value), value) for value in (row.i, row.f, row.w, row.h)] == [
        (int, 1), (float, 2.5), (int, 3), (float, 2.0**53),
    ]  # fmt: skip
    assert (row.inf, to_py(row.b)) == (jsnull, [1])


def test_bind_leaves_the_statement_alone(db: Any) -> None:
    statement = db.prepare("SELECT ? AS v")
    one, two = statement.bind("one"), statement.bind("two")
    assert [settle(one.first("v")), settle(two.first("v"))] == ["one", "two"]
    assert refusal(statement.first()) == "Error: D1_ERROR: Wrong number of parameter bindings for SQL query."
    assert (one.statement, list(one.params)) == ("SELECT ? AS v", ["one"])


@pytest.mark.cloudflare("parity/storage d1_error_is_a_js_exception")
def test_a_fault_is_an_error_with_a_cause(db: Any) -> None:
    with pytest.raises(JsException) as raised:
        settle(db.prepare("SELECT * FROM nowhere").all())
    assert raised.value.message == "D1_ERROR: no such table: nowhere: SQLITE_ERROR"
    assert raised.value.cause.message == "no such table: nowhere: SQLITE_ERROR"


def test_a_batch_is_one_transaction(db: Any) -> None:
    settle(db.exec("CREATE TABLE t (v TEXT UNIQUE)"))
    insert, select = db.prepare("INSERT INTO t VALUES (?)"), db.prepare("SELECT v FROM t")
    answers = settle(db.batch(js([insert.bind("a"), insert.bind("b"), select])))
    assert [to_py(answer.results) for answer in answers] == [[], [], [{"v": "a"}, {"v": "b"}]]
    said = refusal(db.batch(js([insert.bind("c"), insert.bind("c")])))
    assert said.startswith("Error: D1_ERROR: UNIQUE constraint failed: t.v: SQLITE_CONSTRAINT (extended:")
    assert to_py(settle(select.raw())) == [["a"], ["b"]]


@pytest.mark.cloudflare("parity/storage d1_empty_batch_raises")
def test_a_batch_wants_statements(db: Any) -> None:
    assert refusal(db.batch(js([]))) == "Error: D1_ERROR: No SQL statements detected."
    assert refusal(db.batch(db.prepare("SELECT 1"))).startswith("TypeError: ")


@pytest.mark.cloudflare("parity/storage d1_exec_counts_lines, d1_exec_error")
def test_exec_takes_a_statement_a_line_and_blames_the_first(db: Any) -> None:
    answer = to_py(settle(db.exec("CREATE TABLE t (a)\r\nINSERT INTO t VALUES (1)\n  -- done\n")))
    assert (answer["count"], list(answer)) == (2, ["count", "duration"])
    said = refusal(db.exec("INSERT INTO t VALUES (2)\nSELECT * FROM nowhere"))
    assert said == (
        "Error: D1_EXEC_ERROR: Error in line 1: INSERT INTO t VALUES (2): no such table: nowhere: SQLITE_ERROR"
    )
    assert settle(db.prepare("SELECT count(*) AS n FROM t").first("n")) == 1


@pytest.mark.cloudflare("workerd cloudflare/internal/d1-api.ts")
def test_the_cause_of_a_fault_in_exec_names_the_line_too(db: Any) -> None:
    with pytest.raises(JsException) as raised:
        settle(db.exec("\ufeffSELEC\ufeff"))
    said = 'Error in line 1: SELEC: near "SELEC": syntax error at offset 0: SQLITE_ERROR'
    assert (raised.value.message, raised.value.cause.message) == (f"D1_EXEC_ERROR: {said}", said)


@pytest.mark.cloudflare("workerd cloudflare/internal/d1-api.ts")
def test_what_is_no_text_has_no_trim(db: Any) -> None:
    assert refusal(db.exec(1)) == "TypeError: query.trim is not a function"
    assert refusal(db.exec(jsnull)) == "TypeError: Cannot read properties of null (reading 'trim')"
    assert refusal(db.batch()) == "TypeError: Cannot read properties of undefined (reading 'map')"
    with pytest.raises(JsException, match=r"constraintOrBookmark\?\.trim is not a function"):
        db.withSession(1)


def test_columns_that_look_like_array_indexes_come_first(db: Any) -> None:
    row = first(db, 'SELECT 1 AS a, 1 AS "4294967294", 1 AS "01", 1 AS "4294967295", 1 AS "2"')
    assert list(to_py(row)) == ["2", "4294967294", "a", "01", "4294967295"]


@pytest.mark.cloudflare("workerd cloudflare/internal/d1-api.ts")
def test_a_session_keeps_the_latest_bookmark(db: Any) -> None:
    session = db.withSession()
    assert session.getBookmark() is jsnull
    settle(session.prepare("CREATE TABLE t (a)").run())
    before = session.getBookmark()
    settle(session.batch(js([session.prepare("INSERT INTO t VALUES (1)")])))
    assert session.getBookmark() > before
    assert db.withSession(before).getBookmark() == before
    assert db.withSession(" first-primary ").getBookmark() is jsnull


def test_dump_and_query_are_not_served(db: Any) -> None:
    with pytest.raises(JsException) as raised:
        settle(db.dump())
    assert (str(raised.value), raised.value.cause.message) == ("Error: D1_DUMP_ERROR: Status + 404", "Status 404")
    assert "requires the d1_binding_jsrpc compatibility flag" in refusal(db.query())


def test_a_file_that_another_process_holds_is_waited_for_without_blocking(room: D1, db: Any) -> None:
    settle(db.exec("CREATE TABLE t (a)"))
    other = apsw.Connection(str(room.store("notes").path))

    async def main() -> list[str]:
        log = []
        other.execute("BEGIN IMMEDIATE")
        writing = db.prepare("INSERT INTO t VALUES (1)").run()

        def let_go() -> None:
            log.append("free")
            other.execute("COMMIT")

        asyncio.get_running_loop().call_later(0.05, let_go)
        answer = await writing
        log.append(str(answer.meta.changes))
        return log

    assert run(main()) == ["free", "1"]


def test_data_survives_a_restart(tmp_path: Path) -> None:
    room = Bench(tmp_path).open(D1, SECTIONS)
    settle(room.bindings("w")["DB"].exec("CREATE TABLE t (a)\nINSERT INTO t VALUES (1)"))
    room.close()
    room = Bench(tmp_path).open(D1, SECTIONS)
    assert settle(room.bindings("w")["DB"].prepare("SELECT a FROM t").first("a")) == 1
    room.close()


def test_limits_can_be_lifted(tmp_path: Path, db: Any) -> None:
    marks = ", ".join("?" * 101)
    assert "too many SQL variables" in refusal(db.prepare(f"SELECT {marks}").bind(*range(101)).raw())
    room = Bench(tmp_path).open(D1, SECTIONS, tool={"limits": "warn"})
    lifted = room.bindings("w")["DB"]
    assert len(settle(lifted.prepare(f"SELECT {marks}").bind(*range(101)).raw())[0]) == 101
    room.close()


def test_the_panel_shows_tables_and_runs_sql(room: D1, db: Any) -> None:
    settle(db.exec("CREATE TABLE t (a)\nINSERT INTO t VALUES (x'ff')"))
    panel = room.panel()
    assert [(table.title, table.rows) for table in panel.tables] == [("DB (notes)", [["t", 1]])]
    assert panel.actions["query"].run("notes", "SELECT a FROM t") == [{"a": "ff"}]


# --- conversions, against a model ---------------------------------------------------------------------------------

safe = st.integers(-(2**53) + 2, 2**53 - 2)
cells = (
    st.just(jsnull)
    | st.booleans()
    | safe
    | st.floats(allow_nan=True)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    | st.binary(max_size=5)
)


def expected(value: Any) -> Any:
    """What comes back for a bound value."""
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return jsnull
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(cells, min_size=1, max_size=4))
def test_every_value_comes_back_as_json_would_bring_it(db: Any, values: list[Any]) -> None:
    marks = ", ".join("?" * len(values))
    row = to_py(settle(db.prepare(f"SELECT {marks}").bind(*[js(value) for value in values]).raw()))[0]
    assert [(type(cell), cell) for cell in row] == [(type(expected(value)), expected(value)) for value in values]
