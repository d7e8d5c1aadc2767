"""`pyflare d1`: the local D1 databases, with wrangler's commands, flags, output and exit codes.

A `pyflare dev` that serves the database is asked, else its file is opened. An export reads the file in any case.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from pyflare.cli.common import PATH, config_options
from pyflare.cli.local_api import LocalApi
from pyflare.cli.results import as_json, as_rows
from pyflare.cli.served import ServedDatabase
from pyflare.cli.table import table
from pyflare.clock import SystemClock
from pyflare.config.diagnostics import Diagnostics
from pyflare.config.find import shown
from pyflare.config.load import read_workers, state_folder
from pyflare.config.model import WorkerConfig
from pyflare.config.options import DevOptions
from pyflare.engines.d1.config import D1Binding, parse
from pyflare.engines.d1.dump import dump
from pyflare.engines.d1.migrations import Database, Migrations
from pyflare.engines.d1.script import Outcome, run_script
from pyflare.engines.d1.store import D1Fault, D1Store, path_of
from pyflare.errors import ConfigError, EngineError
from pyflare.storage.layout import Layout

_Command = TypeVar("_Command", bound=Callable[..., Any])

SQLITE_FILE = b"SQLite format 3"
LONG_TEXT = 1_000_000  # characters, from which on a bar shows how far a script is
SHOWN_SQL = 48  # characters of a statement above its rows

NOT_BOTH = "Error: can't use --local and --remote at the same time"
NO_REMOTE = "pyflare works on local databases only; for the one on Cloudflare use the same command of wrangler."
NO_PERSIST_TO = (
    "Cannot use --persist-to without --local. The --persist-to flag specifies a local persistence directory, which "
    "requires the --local flag. Remove --persist-to or add --local."
)
NO_PREVIEW = (
    "Cannot use --preview without --remote. The --preview flag targets a preview D1 database, which requires the "
    "--remote flag. Remove --preview or add --remote."
)
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


class Target:
    """The database that a command works on."""

    def __init__(self, name: str, given: dict[str, Any]) -> None:
        _check_place(given)
        self._options = DevOptions(
            configs=given["config"],
            env=given["env"],
            env_files=given["env_file"],
            cwd=given["cwd"],
            persist_to=given.get("persist_to"),
        )
        self.name = name
        self.config, self.binding = self._find(name)

    def _find(self, name: str) -> tuple[WorkerConfig, D1Binding]:
        loaded = read_workers(self._options, os.environ)
        for one in loaded:
            diagnostics = Diagnostics(one.config.path)
            found = parse(one.config, diagnostics).find(name)
            diagnostics.check()
            if found is not None:
                return one.config, found
        path = loaded[0].config.path
        file = path.name if path else "configuration"
        raise ConfigError(f"Couldn't find a D1 DB with the name or binding '{name}' in your {file} file.")

    @property
    def layout(self) -> Layout:
        return Layout(state_folder(self._options, self.config))

    @property
    def folder(self) -> str:
        """Where the databases lie, as a person standing here writes it."""
        path = shown(self.layout.root / "d1", self._options.cwd)
        return str(path) if path.is_absolute() or path.parts[0] == ".." else f"./{path}"

    @contextmanager
    def open(self) -> Iterator[D1Store]:
        """The database; what it refuses is an error of the command."""
        store = D1Store(path_of(self.layout, self.binding.database))
        try:
            yield store
        except D1Fault as fault:
            raise EngineError(fault.message) from None
        finally:
            store.close()

    @contextmanager
    def database(self, progress: Callable[[int], None] | None = None) -> Iterator[Database]:
        """The same as something that runs texts, in the server that holds it if there is one."""
        served = ServedDatabase.of(LocalApi.of(self.layout.root), self.binding.database)
        if served is not None:
            yield served
            return
        with self.open() as store:
            yield _File(store, progress)

    def announce(self, doing: str) -> None:
        click.echo(f"🌀 {doing} local database {self.name} ({self.binding.database}) from {self.folder}:")
        what = "export" if doing == "Exporting" else "execute on"
        click.echo(f"🌀 To {what} your remote database, add a --remote flag to your wrangler command.")

    def migrations(self) -> Migrations:
        return Migrations.of(self.binding, self.config.root)

    def relative(self, path: Path) -> Path:
        return self._options.cwd / path


class _File:
    """A database whose file this process has opened."""

    def __init__(self, store: D1Store, progress: Callable[[int], None] | None) -> None:
        self._store, self._progress = store, progress

    def run(self, text: str) -> list[Outcome]:
        try:
            return run_script(self._store, text, self._progress)
        except D1Fault as fault:
            raise EngineError(fault.message) from None


@click.group()
def d1() -> None:
    """Work on local D1 databases."""


@d1.group()
def migrations() -> None:
    """Make, list and apply migrations."""


def _place_options(command: _Command) -> _Command:
    """Flags that say which database is meant."""
    for option in (
        click.option("--local", is_flag=True, help="The local database (always so in pyflare)."),
        click.option("--remote", is_flag=True, help="Refused: use wrangler."),
        click.option("--preview", is_flag=True, hidden=True),
        click.option("--persist-to", type=PATH, help="Folder of the local data; needs --local."),
    ):
        option(command)
    return config_options(command)


def _check_place(given: dict[str, Any]) -> None:
    if given.get("local") and given.get("remote"):
        raise ConfigError(NOT_BOTH)
    if given.get("remote"):
        raise ConfigError(NO_REMOTE)
    if given.get("preview"):
        raise ConfigError(NO_PREVIEW)
    if given.get("persist_to") and not given.get("local"):
        raise ConfigError(NO_PERSIST_TO)


# --- execute ------------------------------------------------------------------------------------------------------


@d1.command()
@click.argument("database")
@click.option("--command", "sql", help="SQL to run, or several statements separated by ';'.")
@click.option("--file", type=PATH, help="An .sql file to run.")
@click.option("-y", "--yes", is_flag=True, help='Answer "yes" to any question.')
@click.option("--json", "json_output", is_flag=True, help="Print JSON only.")
@_place_options
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
    # Looking for garbage among the outcomes of a long script would take as long as SQLite does.
    gc.disable()
    with _bar(text) as progress, target.database(progress) as place:
        outcomes = place.run(text)
    if json_output:
        click.echo(as_json(outcomes))
        return
    _report(len(outcomes))
    if sys.stdout.isatty():
        _show(outcomes)
    else:
        click.echo(as_json(outcomes))


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


def _show(outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        rows = as_rows(outcome)
        if rows:
            sql = outcome.sql.strip()
            click.secho(sql if len(sql) <= SHOWN_SQL else f"{sql[:SHOWN_SQL]}...", dim=True)
            click.echo(table([{name: _cell(cell) for name, cell in row.items()} for row in rows]))


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
        if not _confirmed(f"{_no_folder(target)}\nOk to create {place.folder}?"):
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
@_place_options
def list_(database: str, **given: Any) -> None:
    """Show the migrations that are not applied."""
    target = Target(database, given)
    place = _existing(target)
    with target.database() as served:
        names = place.unapplied(served)
    if not names:
        click.echo("✅ No migrations to apply!")
        return
    click.echo("Migrations to be applied:")
    click.echo(table([{"Name": name} for name in names]))


@migrations.command()
@click.argument("database")
@_place_options
def apply(database: str, **given: Any) -> None:
    """Apply the migrations that are not applied yet, in order. One that fails leaves nothing and ends the command."""
    target = Target(database, given)
    place = _existing(target)
    with target.database() as served:
        names = place.unapplied(served)
        if not names:
            click.echo("✅ No migrations to apply!")
            return
        click.echo("Migrations to be applied:")
        click.echo(table([{"name": name} for name in names]))
        if _confirmed(QUESTION.format(len(names))):
            _apply(target, place, served, names)


def _apply(target: Target, place: Migrations, served: Database, names: list[str]) -> None:
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


def _confirmed(question: str) -> bool:
    """What a person says; anything else says yes."""
    if os.environ.get("CI") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo(f"? {question}")
        click.echo("🤖 Using fallback value in non-interactive context: yes")
        return True
    return click.confirm(question, default=True)


# --- export -------------------------------------------------------------------------------------------------------


@d1.command()
@click.argument("name")
@click.option("--output", type=PATH, required=True, help="The .sql file to write.")
@click.option("--table", "tables", multiple=True, help="Export this table only; repeat for more.")
@click.option("--no-schema", is_flag=True, help="Rows only.")
@click.option("--no-data", is_flag=True, help="Tables only.")
@click.option("-y", "--skip-confirmation", is_flag=True, hidden=True)
@_place_options
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
        lines = dump(store, schema=not no_schema, data=not no_data, tables=tables)
        # Made whole beside the target first: a fault leaves what was there.
        part = path.with_name(f"{path.name}.part")
        try:
            with part.open("w", encoding="utf-8", newline="") as file:
                for number, line in enumerate(lines):
                    file.write(line if number == 0 else f"\n{line}")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    click.echo("Done!")
