"""What SQL of user code may do. Texts are those that workerd 1.20260822.1 gave."""

from __future__ import annotations

import pytest

from pyflare.storage.database import Database
from pyflare.storage.sql_guard import MAX_VALUE_BYTES, NO_TRANSACTIONS, SqlError
from pyflare.storage.sql_runner import Runner

OPEN_PRAGMAS = """table_list table_info(people) table_xinfo(people) index_list(people) foreign_key_list(people)
foreign_keys foreign_key_check defer_foreign_keys recursive_triggers case_sensitive_like=on legacy_alter_table
ignore_check_constraints reverse_unordered_selects quick_check optimize optimize=0x10002 data_version
page_size TABLE_INFO(people) Foreign_Keys=ON"""
CLOSED_PRAGMAS = """integrity_check page_count encoding synchronous cache_size database_list compile_options auto_vacuum
secure_delete journal_mode page_size=512 table_info(_cf_KV) foreign_keys=maybe optimize(x) user_version
writable_schema"""


def runner(*schema: str) -> Runner:
    database = Database(":memory:")
    database.execute("PRAGMA foreign_keys = ON")
    database.execute("CREATE TABLE _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
    made = Runner(database.raw, lambda: None)
    for sql in schema:
        made.run(sql)
    return made


def refusal(sql: str, *params: object) -> str:
    with pytest.raises(SqlError) as caught:
        runner("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT UNIQUE, age CHECK (age > 0))").run(sql, params)
    return str(caught.value)


@pytest.mark.cloudflare("parity/durable-objects sql_pragma_allow_list")
@pytest.mark.parametrize("pragma", OPEN_PRAGMAS.split())
def test_a_pragma_of_the_list_works(pragma: str) -> None:
    runner("CREATE TABLE people (id INTEGER PRIMARY KEY)").run(f"PRAGMA {pragma}")


@pytest.mark.cloudflare("parity/durable-objects sql_pragma_allow_list")
@pytest.mark.parametrize("pragma", CLOSED_PRAGMAS.split())
def test_any_other_pragma_is_not_authorized(pragma: str) -> None:
    assert refusal(f"PRAGMA {pragma}") == "not authorized: SQLITE_AUTH"


@pytest.mark.cloudflare("parity/durable-objects/src/sql.py")
@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM nowhere", "no such table: nowhere: SQLITE_ERROR"),
        ("SELECT FROM", 'near "FROM": syntax error at offset 7: SQLITE_ERROR'),
        ("SELEC 1", 'near "SELEC": syntax error at offset 0: SQLITE_ERROR'),
        ("CREATE TEMP TABLE t (a)", "not authorized: SQLITE_AUTH"),
        ("CREATE TABLE _cf_mine (a)", "not authorized: SQLITE_AUTH"),
        ("CREATE TABLE _CF_mine (a)", "not authorized: SQLITE_AUTH"),
        ("ALTER TABLE people RENAME TO _cf_people", "not authorized: SQLITE_AUTH"),
        ("ATTACH 'x.sqlite' AS x", "not authorized: SQLITE_AUTH"),
        ("SELECT * FROM _cf_KV", "access to _cf_KV.key is prohibited: SQLITE_AUTH"),
        ("DELETE FROM _cf_KV", "not authorized: SQLITE_AUTH"),
        ("BEGIN TRANSACTION", NO_TRANSACTIONS),
        ("SAVEPOINT a", NO_TRANSACTIONS),
        ("COMMIT", NO_TRANSACTIONS),
        ("", "SQL code did not contain a statement."),
        ("   ", "SQL code did not contain a statement."),
        ("SELECT 1; -- done", "SQL code did not contain a statement."),
        ("SELECT ?", "Wrong number of parameter bindings for SQL query."),
        ("CREATE VIRTUAL TABLE v USING dbstat", "not authorized: SQLITE_AUTH"),
        ("SELECT * FROM dbstat", "no such table: dbstat: SQLITE_ERROR"),
        ("SELECT 1;;", "SQL code did not contain a statement."),
        ("SELECT 1\0", "SQL code did not contain a statement."),
        ("SELECT 'a\0b'", 'unrecognized token: "\'a" at offset 7: SQLITE_ERROR'),
    ],
)
def test_what_is_refused_says_why(sql: str, message: str) -> None:
    assert refusal(sql) == message


@pytest.mark.cloudflare("parity/durable-objects/src/sql.py")
def test_constraints_are_named_with_their_extended_code() -> None:
    made = runner(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER CHECK (age > 0))",
        "CREATE TABLE child (parent INTEGER REFERENCES people (id))",
        "INSERT INTO people VALUES (1, 1)",
    )
    said = []
    for sql in ("INSERT INTO people VALUES (1, 1)", "INSERT INTO people VALUES (2, 0)", "INSERT INTO child VALUES (9)"):
        with pytest.raises(SqlError) as caught:
            made.run(sql)
        said.append(str(caught.value))
    assert said == [
        "UNIQUE constraint failed: people.id: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)",
        "CHECK constraint failed: age > 0: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_CHECK)",
        "FOREIGN KEY constraint failed: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_FOREIGNKEY)",
    ]


@pytest.mark.cloudflare("d1/platform/limits")
def test_a_statement_may_have_100_parameters_and_no_more() -> None:
    marks = ", ".join("?" * 100)
    assert len(runner().run(f"SELECT {marks}", range(100)).columns) == 100
    assert refusal(f"SELECT {marks}, ?", *range(101)) == "too many SQL variables at offset 307: SQLITE_ERROR"


@pytest.mark.cloudflare("d1/platform/limits")
def test_a_function_may_have_32_arguments_and_no_more() -> None:
    runner().run(f"SELECT max({', '.join('1' * 32)})")
    assert refusal(f"SELECT max({', '.join('1' * 33)})").startswith("too many arguments on function max")


@pytest.mark.cloudflare("d1/platform/limits")
def test_a_value_of_2_mb_is_too_big() -> None:
    assert runner().run("SELECT length(?)", ["x" * (MAX_VALUE_BYTES - 1)]).rows == [(MAX_VALUE_BYTES - 1,)]
    assert refusal("SELECT length(?)", "x" * (MAX_VALUE_BYTES + 1)) == "string or blob too big: SQLITE_TOOBIG"


@pytest.mark.cloudflare("d1/platform/limits")
def test_a_pattern_of_more_than_50_bytes_is_too_complex() -> None:
    assert refusal("SELECT 1 WHERE 'a' LIKE ?", "%a" * 26) == "LIKE or GLOB pattern too complex: SQLITE_ERROR"


@pytest.mark.cloudflare("d1/platform/limits; workerd issue 3049 has the words")
@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_statement_of_100_000_bytes_works_and_a_longer_one_does_not(letter: str) -> None:
    made = runner(*(f"CREATE TABLE t{number} (a)" for number in range(9)))
    full = f"SELECT  '{letter * (99_990 // len(letter.encode()))}'"
    assert len(full.encode()) == 100_000 and len(made.run(full).rows) == 1
    assert refusal(f"{full};") == "statement too long: SQLITE_TOOBIG"


def test_without_limits_a_statement_may_be_longer() -> None:
    made = Runner(Database(":memory:").raw, lambda: None, enforce_limits=False)
    assert len(made.run(f"SELECT '{'x' * 200_000}'").rows) == 1


def test_the_words_of_a_fault_are_the_same_whatever_the_schema_was() -> None:
    said = """unrecognized token: "'a" at offset 7: SQLITE_ERROR"""
    assert refusal("SELECT 'a") == said
    made = runner(*(f"CREATE TABLE t{number} (a)" for number in range(9)))
    with pytest.raises(SqlError) as caught:
        made.run("SELECT 'a")
    assert str(caught.value) == said


@pytest.mark.cloudflare("workerd util/sqlite.c++")
def test_functions_that_tell_of_the_build_are_closed() -> None:
    assert refusal("SELECT sqlite_version()").startswith("not authorized to use function: sqlite_version")


def test_full_text_search_works() -> None:
    made = runner("CREATE VIRTUAL TABLE notes USING fts5(body)", "INSERT INTO notes VALUES ('hello world')")
    assert made.run("SELECT body FROM notes('hello')").rows == [("hello world",)]


def test_what_the_store_runs_itself_is_not_judged() -> None:
    database = Database(":memory:")
    made = Runner(database.raw, lambda: None)
    database.execute("CREATE TABLE _cf_KV (key TEXT)")
    made.run("CREATE TABLE t (a)")
    assert database.value("SELECT count(*) FROM _cf_KV") == 0
    with pytest.raises(SqlError):
        made.run("SELECT count(*) FROM _cf_KV")
