"""How a command acts on a room: through the server that holds the state folder, else on the files themselves."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import Any

import click

from pyflare import engines
from pyflare.cli.common import Command, config_options, options_of, persist_option
from pyflare.cli.data_folder import data_folder
from pyflare.cli.local_api import LocalApi
from pyflare.cli.report import show_missing_environments
from pyflare.clock import SystemClock
from pyflare.config.diagnostics import Diagnostics
from pyflare.config.find import NoConfiguration, shown
from pyflare.config.load import check_loaded, read_workers, state_folder
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import EngineContext
from pyflare.errors import ConfigError, EngineError
from pyflare.log import Log
from pyflare.storage.layout import Layout
from pyflare.storage.lock import StateLock


def room_options(command: Command) -> Command:
    """What `Rooms` is made of."""
    return config_options(persist_option(command))


def json_option(command: Command) -> Command:
    """`--json`, given as `json_output`."""
    return click.option("--json", "json_output", is_flag=True, help="Print JSON only.")(command)


class Rooms:
    """The rooms of a project; `given` are the values of `room_options`.

    `guest`: the project's worker, where the running server serves it beside others.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        self.guest: str | None = None
        self._options = options_of(given)
        try:
            loaded = read_workers(self._options, os.environ)
            show_missing_environments(loaded)
            check_loaded(loaded)
            self._configs = [one.config for one in loaded]
            self._state = data_folder(self._options, self._configs[0])
            if self._state != state_folder(self._options, self._configs[0]):
                self.guest = self._configs[0].name
        except NoConfiguration:
            # A lone module that is served keeps its data here, and the server knows the rest.
            self._configs, self._state = [], (self._options.persist_to or Path(".wrangler/state")) / "v3"
            self._state = self._options.cwd / self._state
            if given["config"] or LocalApi.of(self._state) is None:
                raise

    def act(self, room: str, action: str, **fields: Any) -> Any:
        """What the action of a room's panel gives, as JSON; EngineError with what it says against it."""
        server = LocalApi.of(self._state)
        return self._alone(room, action, fields) if server is None else server.do(room, action, **fields)

    def act_on_server(self, room: str, action: str, **fields: Any) -> Any:
        """The same for what only a running server can do."""
        server = LocalApi.of(self._state)
        if server is None:
            folder = shown(self._state, self._options.cwd)
            raise EngineError(f'No server holds {folder}: start "pyflare dev" first, with the same configuration')
        return server.do(room, action, **fields)

    def _alone(self, room: str, action: str, fields: dict[str, Any]) -> Any:
        engine_class = engines.load(room)
        configs, faults = {}, []
        for config in self._configs:
            diagnostics = Diagnostics(config.path)
            configs[config.name] = engine_class.parse(config, diagnostics)
            faults += diagnostics.located()
        if faults:
            raise ConfigError(*faults)
        lock = StateLock.take(self._state)
        engine = engine_class(configs, _context(self._state, self._configs))
        try:
            return engine.panel().actions[action].run(**fields)
        except (ConfigError, EngineError):
            raise
        except Exception as refused:
            raise EngineError(str(refused)) from None
        finally:
            engine.close()
            lock.release()


def _context(state: Path, configs: list[WorkerConfig]) -> EngineContext:
    """For a room without a server: nothing is delivered."""

    async def dispatch(worker: str, event: Any) -> Any:
        raise EngineError("No server runs")

    return EngineContext(
        clock=SystemClock(),
        storage=Layout(state),
        log=Log("warn", out=sys.stderr),
        dispatch=dispatch,
        spawn=lambda work: work.close(),
        poke=lambda: None,
        new_id=lambda: secrets.token_hex(16),
        workers=lambda: [config.name for config in configs],
    )
