"""`pyflare d1`: the local D1 databases, with wrangler's commands, flags, output and exit codes.

A `pyflare dev` that serves the database is asked, else its file is opened. An export reads the file in any case.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from pyflare.cli.common import PATH, config_options
from pyflare.cli.d1_target import Target, place_options
from pyflare.cli.question import confirmed
from pyflare.cli.report import show_warnings
from pyflare.cli.results import as_json, as_rows
from pyflare.cli.table import table
from pyflare.clock import SystemClock
from pyflare.engines.d1.dump import dump, missing
from pyflare.engines.d1.migrations import Database, Migrations
from pyflare.engines.d1.script import Answer
from pyflare.errors import ConfigError, EngineError

SQLITE_FILE = b"SQLite format 3"
LONG_TEXT = 1_000_000  # characters, from which on a bar shows how far a script is
SHOWN_SQL = 48  # characters of a statement above its rows

NO_SQL = (
    'Missing required option --command or --file. Provide a SQL command inline with --command="<SQL>", or a path to a '
    "SQL file with --file=<path>."
)
TWO_SOURCES = "Error: can't provide both --command and --file."
NOT_TEXT = (
    "Provided file is a binary SQLite database file instead of an SQL text file. The execute command can only process "
    "SQL text files. Please export an SQL file from your SQLite database and try again."
)
QUESTION = (
    "About to apply {} migration(s)\n"
    "Your database may not be available to serve requests during the migration, continue?"
)


@click.group()
def d1() -> None:
    """Work on local D1 databases."""


@d1.group()
def migrations() -> None:
    """Make, list and apply migrations."""


# --- execute ------------------------------------------------------------------------------------------------------


@d1.command()
@click.argument("database")
@click.option("--command", "sql", help="SQL to run, or several statements separated by ';'.")
@click.option("--file", type=PATH, help="An .sql file to run.")
@click.option("-y", "--yes", is_flag=True, help='Answer "yes" to any question.')
@click.option("--json", "json_output", is_flag=True, help="Print JSON only.")
@place_options
def execute(database: str, sql: str | None, file: Path | None, json_output: bool, **given: Any) -> None:
    """Run SQL on a database."""
    try:
        _execute(database, sql, file, json_output, given)
    except (ConfigError, EngineError) as fault:
        if not json_output:
            raise
        click.echo(as_json({"error": {"text": str(fault)}}))
        sys.exit(1)


def _execute(database: str, sql: str | None, file: Path | None, json_output: bool, given: dict[str, Any]) -> None:
    if file and sql:
        raise ConfigError(TWO_SOURCES)
    if not file and not sql:
        raise ConfigError(NO_SQL)
    target = Target(database, given)
    text = sql or _read(target.relative(file or Path()), file)
    if not json_output:
        target.announce("Executing on")
    # Looking for garbage among the rows of a long script would take as long as SQLite does.
    gc.disable()
    with _bar(text) as progress, target.database(progress) as place:
        outcome = place.run(text)
    if not json_output:
        _report(len(outcome))
    if sys.stdout.isatty() and not json_output:
        _show(outcome.answers.values())
    else:
        click.echo(as_json(outcome).encode())  # in text that is not for a terminal it would look for colours


def _read(path: Path, given: Path | None) -> str:
    try:
        data = path.read_bytes()
    except OSError:
        raise ConfigError(
            f'Unable to read SQL text file "{given}". Please check the file path and try again.'
        ) from None
    if data.startswith(SQLITE_FILE):
        raise ConfigError(NOT_TEXT)
    return data.decode("utf-8", "replace")


@contextmanager
def _bar(text: str) -> Iterator[Callable[[int], None] | None]:
    """A progress bar for a long text, on a terminal."""
    if len(text) < LONG_TEXT or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=len(text), label="Executing", file=sys.stderr) as bar:
        yield lambda done: bar.update(done - bar.pos)
        bar.update(len(text) - bar.pos)


def _report(count: int) -> None:
    click.echo(f"🚣 {count} command{'' if count == 1 else 's'} executed successfully.")


def _show(answers: Iterable[Answer]) -> None:
    for answer in answers:
        sql = answer.sql.strip()
        click.secho(sql if len(sql) <= SHOWN_SQL else f"{sql[:SHOWN_SQL]}...", dim=True)
        click.echo(table([{name: _cell(cell) for name, cell in row.items()} for row in as_rows(answer)]))


def _cell(cell: Any) -> str:
    return "null" if cell is None else str(cell)


# --- migrations ---------------------------------------------------------------------------------------------------


@migrations.command()
@click.argument("database")
@click.argument("message")
@config_options
def create(database: str, message: str, **given: Any) -> None:
    """Make a new, empty migration."""
    target = Target(database, given)
    place = target.migrations()
    name = place.next_name(message)
    if not place.folder.is_dir():
        if not confirmed(f"{_no_folder(target)}\nOk to create {place.folder}?"):
            raise ConfigError(f"No migrations present at {place.folder}.")
        place.folder.mkdir(parents=True)
    number = name.partition("_")[0]
    moment = datetime.fromtimestamp(SystemClock().now(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    (place.folder / name).write_text(f"-- Migration number: {number} \t {moment}\n", encoding="utf-8")
    click.echo(f"✅ Successfully created Migration '{name}'!\n")
    click.echo("The migration is available for editing here")
    click.echo(place.folder / name)


@migrations.command("list")
@click.argument("database")
@place_options
def list_(database: str, **given: Any) -> None:
    """Show the migrations that are not applied."""
    target = Target(database, given)
    place = _existing(target)
    with target.database() as served:
        _unapplied(place, served, "Name")


@migrations.command()
@click.argument("database")
@place_options
def apply(database: str, **given: Any) -> None:
    """Apply the migrations that are not applied yet, in order. One that fails leaves nothing and ends the command."""
    target = Target(database, given)
    place = _existing(target)
    with target.database() as served:
        names = _unapplied(place, served, "name")
        if names and confirmed(QUESTION.format(len(names))):
            _apply(target, place, served, names)


def _unapplied(place: Migrations, served: Database, heading: str) -> Sequence[str]:
    """The migrations that are not applied, shown in a table with this heading."""
    names = place.unapplied(served)
    if names:
        click.echo("Migrations to be applied:")
        click.echo(table([{heading: name} for name in names]))
    else:
        click.echo("✅ No migrations to apply!")
    return names


def _apply(target: Target, place: Migrations, served: Database, names: Sequence[str]) -> None:
    states = dict.fromkeys(names, "🕒️")
    for name in names:
        target.announce("Executing on")
        try:
            count = place.apply(served, name)
        except EngineError as fault:
            states[name] = "❌"
            click.echo(_states(states))
            raise EngineError(f"Migration {name} failed with the following errors:\n{fault}") from None
        _report(count)
        states[name] = "✅"
        click.echo(_states(states))


def _states(states: dict[str, str]) -> str:
    return table([{"name": name, "status": state} for name, state in states.items()])


def _existing(target: Target) -> Migrations:
    place = target.migrations()
    if not place.folder.is_dir():
        click.secho(_no_folder(target), fg="yellow", err=True)
        raise ConfigError(f"No migrations present at {place.folder}.")
    return place


def _no_folder(target: Target) -> str:
    if target.binding.migrations_dir is not None:
        return "No migrations folder found."
    path = target.config.path
    file = path.name if path else "configuration"
    return f"No migrations folder found. Set `migrations_dir` in your {file} file to choose a different path."


# --- export -------------------------------------------------------------------------------------------------------


@d1.command()
@click.argument("name")
@click.option("--output", type=PATH, required=True, help="The .sql file to write.")
@click.option("--table", "tables", multiple=True, help="Export this table only; repeat for more.")
@click.option("--no-schema", is_flag=True, help="Rows only.")
@click.option("--no-data", is_flag=True, help="Tables only.")
@click.option("-y", "--skip-confirmation", is_flag=True, hidden=True)
@place_options
def export(name: str, output: Path, tables: tuple[str, ...], no_schema: bool, no_data: bool, **given: Any) -> None:
    """Write a database as SQL."""
    if no_schema and no_data:
        raise ConfigError(
            "Cannot use --no-schema and --no-data together. At least one of schema or data must be included in the "
            "export. Remove one of the flags."
        )
    given["local"] = given["local"] or bool(given["persist_to"])
    target = Target(name, given)
    path = target.relative(output)
    if path.is_dir():
        raise ConfigError("Please specify a file path for --output, not a directory.")
    target.announce("Exporting")
    click.echo(f"🌀 Exporting SQL to {output}...")
    with target.open() as store:
        show_warnings(f'{name} has no table "{table}".' for table in missing(store, tables))
        lines = dump(store, schema=not no_schema, data=not no_data, tables=tables)
        # Made whole beside the target first: a fault leaves what was there.
        part = path.with_name(f"{path.name}.part")
        try:
            with part.open("w", encoding="utf-8", newline="") as file:
                for number, line in enumerate(lines):
                    file.write(line if number == 0 else f"\n{line}")
            part.replace(path)
        except OSError as fault:
            raise ConfigError(f'Unable to write "{output}": {fault.strerror}.') from None
        finally:
            part.unlink(missing_ok=True)
    click.echo("Done!")
