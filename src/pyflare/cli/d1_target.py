"""Which local D1 database a command works on, and how it is reached: through a server that serves it, else its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyflare.cli.common import PATH, Command, config_options, options_of
from pyflare.cli.data_folder import data_folder
from pyflare.cli.report import show_missing_environments
from pyflare.config.diagnostics import Diagnostics
from pyflare.config.find import shown
from pyflare.config.load import read_workers
from pyflare.config.model import WorkerConfig
from pyflare.engines.d1.config import D1Binding, parse
from pyflare.engines.d1.migrations import Database, DatabaseFile, Migrations
from pyflare.engines.d1.script import Answer, Outcome
from pyflare.engines.d1.store import D1Fault, D1Store, path_of
from pyflare.errors import ConfigError, EngineError
from pyflare.storage.layout import Layout
from pyflare.storage.lock import is_locked

if TYPE_CHECKING:
    from pyflare.cli.local_api import LocalApi

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


def place_options(command: Command) -> Command:
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


class ServedDatabase:
    """A database that a server holds."""

    def __init__(self, api: LocalApi, id: str) -> None:
        self._api, self._id = api, id

    def run(self, text: str) -> Outcome:
        """All statements of a text or none. Raises EngineError."""
        durations, answers = self._api.do("d1", "execute", database=self._id, sql=text)
        return Outcome(durations, {at: Answer(sql, tuple(columns), rows) for at, sql, columns, rows in answers})


class Target:
    """The database that a command works on."""

    def __init__(self, name: str, given: dict[str, Any]) -> None:
        _check_place(given)
        self._options = options_of(given)
        self.name = name
        self.config, self.binding = self._find(name)

    def _find(self, name: str) -> tuple[WorkerConfig, D1Binding]:
        loaded = read_workers(self._options, os.environ)
        show_missing_environments(loaded)
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
        return Layout(data_folder(self._options, self.config))

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
        api = self._server()
        if api is not None:
            yield ServedDatabase(api, self.binding.database)
            return
        with self.open() as store:
            yield DatabaseFile(store, progress)

    def _server(self) -> LocalApi | None:
        """The server that serves the database, if there is one."""
        if not is_locked(self.layout.root):
            return None
        from pyflare.cli.local_api import LocalApi  # noqa: PLC0415  (HTTP and TLS take a fifth of the start)

        api = LocalApi.of(self.layout.root)
        found = api is not None and any(one["uuid"] == self.binding.database for one in api.ask("/d1/database"))
        return api if found else None

    def announce(self, doing: str) -> None:
        click.echo(f"🌀 {doing} local database {self.name} ({self.binding.database}) from {self.folder}:")
        what = "export" if doing == "Exporting" else "execute on"
        click.echo(f"🌀 To {what} your remote database, give the same command and a --remote flag to wrangler.")

    def migrations(self) -> Migrations:
        return Migrations.of(self.binding, self.config.root)

    def relative(self, path: Path) -> Path:
        return self._options.cwd / path
