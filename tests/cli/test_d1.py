"""`pyflare d1`: wrangler's commands on local databases. Shapes are wrangler 4.125's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner, Result

from pyflare.cli import main
from pyflare.engines.d1.store import D1Store, Query, path_of
from pyflare.storage.layout import Layout
from tests.support.project import Project

DATABASE = {"binding": "DB", "database_name": "notes", "database_id": "notes-id"}


@pytest.fixture
def site(project: Project) -> Project:
    project.configure(d1_databases=[DATABASE])
    return project


def d1(project: Project, *args: str, cwd: Path | None = None) -> Result:
    return CliRunner().invoke(main, ["d1", *args, "--cwd", str(cwd or project.root)])


def store_of(project: Project, folder: Path | None = None) -> D1Store:
    root = (folder or project.root / ".wrangler/state") / "v3"
    return D1Store(path_of(Layout(root), "notes-id"))


def rows(project: Project, sql: str) -> list[Any]:
    store = store_of(project)
    try:
        return list(store.run([Query(sql)])[0].rows)
    finally:
        store.close()


def migrate(project: Project, name: str, text: str, folder: str = "migrations") -> None:
    path = project.root / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


# --- execute ------------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("wrangler d1/execute.ts")
def test_a_command_prints_where_it_ran_and_what_it_gave(site: Project) -> None:
    result = d1(site, "execute", "DB", "--command", "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, x'0102')")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "🌀 Executing on local database DB (notes-id) from ./.wrangler/state/v3/d1:",
        "🌀 To execute on your remote database, give the same command and a --remote flag to wrangler.",
        "🚣 2 commands executed successfully.",
    ]
    assert [outcome["results"] for outcome in json.loads("\n".join(lines[3:]))] == [[], []]


def test_json_prints_nothing_else(site: Project) -> None:
    sql = "SELECT 1 AS a, 2.5 AS f, 3.0 AS w, NULL AS n, x'0102' AS b, 'é\"' AS t; SELECT 2 AS c WHERE 0"
    result = d1(site, "execute", "notes", "--command", sql, "--json")
    first, second = json.loads(result.stdout)
    row = {"a": 1, "f": 2.5, "w": 3, "n": None, "b": "[1, 2]", "t": 'é"'}
    assert (first["results"], first["success"], second["results"]) == ([row], True, [])
    assert list(first["meta"]) == ["duration"]
    durations = [outcome["meta"].pop("duration") for outcome in (first, second)]
    assert all(0 <= duration < 10_000 for duration in durations)
    shape = [{**outcome, "meta": {"duration": 0}} for outcome in (first, second)]
    expected = json.dumps(shape, indent=2, ensure_ascii=False)
    assert re.sub(r'(?<="duration": )[\d.]+', "0", result.stdout) == f"{expected}\n"


def test_a_fault_rolls_everything_back_and_exits_with_1(site: Project) -> None:
    result = d1(site, "execute", "DB", "--command", "CREATE TABLE t (a); SELECT * FROM nowhere")
    said = "error: no such table: nowhere: SQLITE_ERROR\n  in line 1: SELECT * FROM nowhere\n"
    assert (result.exit_code, result.stderr) == (1, said)
    assert store_of(site).tables() == []


def test_a_fault_is_json_where_json_was_asked_for(site: Project) -> None:
    result = d1(site, "execute", "DB", "--command", "SELECT 1;\n  SELEC 2", "--json")
    said = {"error": {"text": 'near "SELEC": syntax error at offset 0: SQLITE_ERROR\nin line 2: SELEC 2'}}
    assert (result.exit_code, json.loads(result.stdout)) == (1, said)


def test_a_file_may_hold_triggers_comments_and_any_line_ends(site: Project) -> None:
    text = (
        "\ufeff-- a table; with a comment\r\nCREATE TABLE t (a);\r\n/* and ; a log */ CREATE TABLE log (a);\r\n"
        "create trigger logged after insert on t begin\r\n"
        "  insert into log values (case new.a when 1 then 'one; end' else new.a end);\r\nend;\r\n"
        "INSERT INTO t VALUES (1);\r\n-- done"
    )
    (site.root / "all.sql").write_bytes(text.encode())
    result = d1(site, "execute", "DB", "--file", "all.sql")
    assert "🚣 4 commands executed successfully." in result.stdout
    assert rows(site, "SELECT a FROM log") == [("one; end",)]


@pytest.mark.cloudflare("wrangler d1/trimmer.ts")
def test_the_transaction_of_a_dump_is_taken_off(site: Project) -> None:
    (site.root / "dump.sql").write_text("BEGIN TRANSACTION;\nCREATE TABLE t (a);\nCOMMIT;\n")
    assert d1(site, "execute", "DB", "--file", "dump.sql").exit_code == 0
    (site.root / "dump.sql").write_text("BEGIN TRANSACTION;\nCOMMIT;\nBEGIN TRANSACTION;\nCOMMIT;\n")
    result = d1(site, "execute", "DB", "--file", "dump.sql")
    assert (result.exit_code, "contains several transactions" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["DB"], "Missing required option --command or --file."),
        (["DB", "--command", "SELECT 1", "--file", "a.sql"], "can't provide both --command and --file."),
        (["DB", "--command", "SELECT 1", "--local", "--remote"], "can't use --local and --remote at the same time"),
        (["DB", "--command", "SELECT 1", "--remote"], "pyflare works on local databases only"),
        (["DB", "--command", "SELECT 1", "--persist-to", "x"], "Cannot use --persist-to without --local."),
        (["DB", "--command", "SELECT 1", "--preview"], "Cannot use --preview without --remote."),
        (["DB", "--file", "gone.sql"], 'Unable to read SQL text file "gone.sql".'),
        (["DB", "--file", "binary.sql"], "Provided file is a binary SQLite database file"),
        (["DB", "--command", "-"], 'near "-": syntax error'),
        (["DB", "--command", " ; "], "No SQL statements detected."),
        (["DB", "--command", "SELECT ?"], "Wrong number of parameter bindings"),
        (["DB", "--command", "SAVEPOINT a"], "To execute a transaction, please use"),
        (["other", "--command", "SELECT 1"], "Couldn't find a D1 DB with the name or binding 'other' in your wrangler"),
    ],
)
def test_what_cannot_be_done_is_said_and_exits_with_1(site: Project, args: list[str], said: str) -> None:
    apsw.Connection(str(site.root / "binary.sql")).execute("CREATE TABLE t (a)")
    result = d1(site, "execute", *args)
    assert (result.exit_code, said in result.stderr) == (1, True)


def test_a_statement_over_the_limit_is_refused_though_the_file_may_be_longer(site: Project) -> None:
    line = f"SELECT '{'x' * 60_000}';\n"
    (site.root / "long.sql").write_text(line * 3)
    assert d1(site, "execute", "DB", "--file", "long.sql").exit_code == 0
    (site.root / "long.sql").write_text(f"SELECT '{'x' * 100_000}';\n")
    result = d1(site, "execute", "DB", "--file", "long.sql")
    assert (result.exit_code, "SQLITE_TOOBIG" in result.stderr) == (1, True)


def test_the_file_is_the_same_from_a_folder_below(site: Project) -> None:
    below = site.root / "src" / "deep"
    below.mkdir(parents=True, exist_ok=True)
    result = d1(site, "execute", "DB", "--command", "CREATE TABLE t (a)", cwd=below)
    assert (result.exit_code, rows(site, "SELECT * FROM t")) == (0, [])
    assert "from ../../.wrangler/state/v3/d1:" in result.stdout


def test_persist_to_names_another_folder(site: Project) -> None:
    d1(site, "execute", "DB", "--command", "CREATE TABLE t (a)", "--local", "--persist-to", "elsewhere")
    assert store_of(site, site.root / "elsewhere").tables() == [("t", 0)]


def test_an_environment_has_its_own_database(site: Project) -> None:
    other = {**DATABASE, "database_id": "staging-id"}
    site.configure(d1_databases=[DATABASE], env={"staging": {"d1_databases": [other]}})
    result = d1(site, "execute", "DB", "--command", "SELECT 1", "--env", "staging")
    assert "database DB (staging-id) from" in result.stdout


# --- migrations ---------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("wrangler d1/migrations/create.ts")
def test_a_new_migration_gets_the_next_number(site: Project) -> None:
    result = d1(site, "migrations", "create", "DB", "add users table")
    path = site.root / "migrations" / "0001_add_users_table.sql"
    assert result.exit_code == 0
    assert "✅ Successfully created Migration '0001_add_users_table.sql'!" in result.stdout
    assert str(path) in result.stdout.splitlines()
    assert path.read_text().startswith("-- Migration number: 0001 \t 20")
    migrate(site, "9_b.sql", "")
    d1(site, "migrations", "create", "DB", "next")
    assert (site.root / "migrations" / "0010_next.sql").exists()


def test_a_name_with_a_slash_is_refused(site: Project) -> None:
    result = d1(site, "migrations", "create", "DB", "a/b")
    assert (result.exit_code, "contains a path separator" in result.stderr) == (1, True)


def test_migrations_are_listed_and_applied_in_the_order_of_their_numbers(site: Project) -> None:
    migrate(site, "10_c.sql", "INSERT INTO t VALUES (3);\n")
    migrate(site, "1_a.sql", "CREATE TABLE t (a);")
    migrate(site, "9_b.sql", "INSERT INTO t VALUES (2); -- no line end follows")
    listed = d1(site, "migrations", "list", "DB")
    names = [line.strip("│ ") for line in listed.stdout.splitlines() if ".sql" in line]
    assert (listed.exit_code, names) == (0, ["1_a.sql", "9_b.sql", "10_c.sql"])
    applied = d1(site, "migrations", "apply", "DB", "--local")
    assert (applied.exit_code, applied.stdout.count("✅"), rows(site, "SELECT a FROM t")) == (0, 6, [(2,), (3,)])
    assert "🤖 Using fallback value in non-interactive context: yes" in applied.stdout
    assert [name for _, name, _ in rows(site, "SELECT * FROM d1_migrations")] == ["1_a.sql", "9_b.sql", "10_c.sql"]
    assert d1(site, "migrations", "apply", "DB").stdout == "✅ No migrations to apply!\n"
    assert d1(site, "migrations", "list", "DB").stdout == "✅ No migrations to apply!\n"


def test_a_migration_that_fails_is_named_and_not_recorded(site: Project) -> None:
    migrate(site, "1_a.sql", "CREATE TABLE t (a);")
    migrate(site, "2_b.sql", "INSERT INTO t VALUES (1);\nINSERT INTO nowhere VALUES (1);")
    migrate(site, "3_c.sql", "INSERT INTO t VALUES (3);")
    result = d1(site, "migrations", "apply", "DB")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: Migration 2_b.sql failed with the following errors:\n  no such table: nowhere: SQLITE_ERROR\n"
        "  in line 2: INSERT INTO nowhere VALUES (1);\n"
    )
    assert rows(site, "SELECT name FROM d1_migrations") == [("1_a.sql",)]
    assert rows(site, "SELECT a FROM t") == []


@pytest.mark.parametrize("text", ["INSERT INTO t VALUES ('a);", "CREATE TRIGGER b AFTER INSERT ON t BEGIN SELECT 1;"])
def test_a_migration_that_is_left_open_shows_its_own_text_only(site: Project, text: str) -> None:
    migrate(site, "1_a.sql", f"CREATE TABLE t (a);\n{text}")
    result = d1(site, "migrations", "apply", "DB")
    assert (result.exit_code, "d1_migrations" in result.stderr, "(name)" in result.stderr) == (1, False, False)
    assert f"  in line 2: {text}\n" in result.stderr
    assert rows(site, "SELECT name FROM d1_migrations") == []


@pytest.mark.cloudflare("wrangler d1/migrations/helpers.ts")
@pytest.mark.parametrize("text", ["CREATE TABLE t (a)", "CREATE TABLE t (a) -- ;"])
def test_a_migration_needs_a_semicolon_at_its_end(site: Project, text: str) -> None:
    migrate(site, "1_a.sql", text)
    result = d1(site, "migrations", "apply", "DB")
    assert (result.exit_code, 'near "INSERT": syntax error' in result.stderr) == (1, True)
    assert rows(site, "SELECT name FROM d1_migrations") == []


def test_line_ends_and_foreign_bytes_within_a_string_are_kept(site: Project) -> None:
    migrate(site, "1_a.sql", "\ufeffCREATE TABLE t (a);\r\nINSERT INTO t VALUES ('x\r\ny');\r\n")
    path = site.root / "migrations/2_b.sql"
    path.write_bytes(b"INSERT INTO t VALUES ('\xe9');")
    assert d1(site, "migrations", "apply", "DB").exit_code == 0
    assert rows(site, "SELECT a FROM t") == [("x\r\ny",), ("\ufffd",)]


@pytest.mark.parametrize("text", ["", "-- nothing to do", "/* left open"])
def test_a_migration_without_a_statement_is_recorded(site: Project, text: str) -> None:
    migrate(site, "1_it's.sql", text)
    assert d1(site, "migrations", "apply", "DB").exit_code == 0
    assert rows(site, "SELECT name FROM d1_migrations") == [("1_it's.sql",)]


def test_begin_in_a_migration_is_refused_as_on_cloudflare(site: Project) -> None:
    migrate(site, "1_a.sql", "BEGIN;\nCREATE TABLE t (a);\nCOMMIT;")
    result = d1(site, "migrations", "apply", "DB")
    assert (result.exit_code, "To execute a transaction, please use" in result.stderr) == (1, True)


def test_folder_table_and_pattern_can_be_chosen(site: Project) -> None:
    site.configure(
        d1_databases=[
            {**DATABASE, "migrations_dir": "sql", "migrations_table": "done", "migrations_pattern": "sql/*/m.sql"}
        ]
    )
    migrate(site, "0001_a/m.sql", "CREATE TABLE t (a);", "sql")
    migrate(site, "0002_b.sql", "CREATE TABLE u (a);", "sql")
    assert d1(site, "migrations", "apply", "DB").exit_code == 0
    assert store_of(site).tables() == [("done", 1), ("t", 0)]


def test_without_a_folder_there_is_nothing_to_apply(site: Project) -> None:
    result = d1(site, "migrations", "apply", "DB")
    assert result.exit_code == 1
    assert "No migrations folder found. Set `migrations_dir` in your wrangler.jsonc file" in result.stderr
    assert f"No migrations present at {site.root / 'migrations'}." in result.stderr


# --- export -------------------------------------------------------------------------------------------------------

FULL = """
CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT, n REAL, b BLOB);
CREATE TABLE "odd ""name" ("a'b");
INSERT INTO t (v, n, b) VALUES ('it''s' || char(10) || 'é' || char(13), 1.5, x'00ff'), (NULL, 3, NULL);
INSERT INTO "odd ""name" VALUES ('\\n' || char(10));
CREATE INDEX by_v ON t (v);
CREATE VIEW seen AS SELECT v FROM t;
CREATE TRIGGER logged AFTER INSERT ON t BEGIN SELECT 1; END;
"""


def test_an_export_makes_the_same_database_again(site: Project) -> None:
    (site.root / "full.sql").write_text(FULL)
    assert d1(site, "execute", "DB", "--file", "full.sql").exit_code == 0
    result = d1(site, "export", "DB", "--output", "out.sql")
    assert result.stdout.splitlines()[-2:] == ["🌀 Exporting SQL to out.sql...", "Done!"]
    text = (site.root / "out.sql").read_text()
    assert text.startswith("PRAGMA defer_foreign_keys=TRUE;\nCREATE TABLE t (")
    assert 'CREATE TABLE IF NOT EXISTS "odd ""name" ("a\'b");' in text
    place = ["--local", "--persist-to", "copy"]
    assert d1(site, "execute", "DB", "--file", "out.sql", *place).exit_code == 0
    again = d1(site, "export", "DB", "--output", "again.sql", *place)
    assert (again.exit_code, (site.root / "again.sql").read_text()) == (0, text)
    copy = store_of(site, site.root / "copy")
    assert copy.run([Query('SELECT "a\'b" FROM "odd ""name"')])[0].rows == [("\\n\n",)]
    assert copy.run([Query("SELECT v FROM t WHERE id = 1")])[0].rows == [("it's\né\r",)]


def test_an_export_can_be_of_parts(site: Project) -> None:
    (site.root / "full.sql").write_text(FULL)
    d1(site, "execute", "DB", "--file", "full.sql")
    d1(site, "export", "DB", "--output", "data.sql", "--no-schema", "--table", "t")
    data = (site.root / "data.sql").read_text().splitlines()
    assert [line.split(" VALUES")[0] for line in data[1:]] == ['INSERT INTO "t" ("id","v","n","b")'] * 2
    d1(site, "export", "DB", "--output", "schema.sql", "--no-data")
    schema = (site.root / "schema.sql").read_text()
    assert ("INSERT INTO" in schema, "CREATE INDEX by_v" in schema) == (False, True)


def test_an_export_of_virtual_tables_fails_and_leaves_no_file(site: Project) -> None:
    d1(site, "execute", "DB", "--command", "CREATE VIRTUAL TABLE f USING fts5(a)")
    result = d1(site, "export", "DB", "--output", "out.sql")
    assert (result.exit_code, "cannot export databases with Virtual Tables" in result.stderr) == (1, True)
    assert list(site.root.glob("out.sql*")) == []


def test_an_export_of_a_table_that_is_not_there_warns(site: Project) -> None:
    d1(site, "execute", "DB", "--command", "CREATE TABLE t (a)")
    result = d1(site, "export", "DB", "--output", "out.sql", "--table", "nope", "--table", "t")
    assert (result.exit_code, result.stderr) == (0, 'warning: DB has no table "nope".\n')
    assert (site.root / "out.sql").read_text().endswith("CREATE TABLE t (a);")


def test_an_export_to_a_folder_that_is_not_there_says_so(site: Project) -> None:
    result = d1(site, "export", "DB", "--output", "nowhere/out.sql")
    assert (result.exit_code, result.stderr) == (
        1,
        'error: Unable to write "nowhere/out.sql": No such file or directory.\n',
    )
