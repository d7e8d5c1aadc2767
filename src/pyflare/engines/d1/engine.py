"""The D1 room: databases of all workers, each opened when it is first used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.d1 import panel
from pyflare.engines.d1.binding import Busy, D1Database, Session, patiently
from pyflare.engines.d1.config import D1Binding, D1Config, parse
from pyflare.engines.d1.script import Outcome, run_script
from pyflare.engines.d1.store import D1Fault, D1Store, Query, Result, path_of
from pyflare.errors import EngineError


class D1(Engine):
    keys: ClassVar[Sequence[str]] = ("d1_databases",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> D1Config:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, D1Config], ctx: EngineContext) -> None:
        self._configs = configs
        self._ctx = ctx
        self._stores: dict[str, D1Store] = {}

    def store(self, database: str, enforce_limits: bool = True) -> D1Store:
        """The file of a database id, whether or not a worker is bound to it."""
        store = self._stores.get(database)
        if store is None:
            layout = self._ctx.storage
            store = D1Store(path_of(layout, database), layout.durability, enforce_limits=enforce_limits)
            self._stores[database] = store
        return store

    @property
    def databases(self) -> Mapping[str, str]:
        """Database id -> the name that people know, in the order of the configuration."""
        found: dict[str, str] = {}
        for config in self._configs.values():
            for binding in config.bindings:
                found.setdefault(binding.database, binding.database_name or binding.name)
        return found

    async def query(self, database: str, queries: Sequence[Query]) -> list[Result]:
        """For operators: all or nothing, waiting for other processes. Raises JsException with what SQLite says."""
        results: list[Result] = await Session(self.store(database)).send(queries, list, "")
        return results

    async def execute(self, database: str, sql: str) -> Outcome:
        """For operators: all statements of a text or none. Raises EngineError with what SQLite says."""
        store = self.store(database)

        def attempt() -> Outcome:
            try:
                return run_script(store, sql, busy_ms=0)
            except D1Fault as fault:
                if fault.busy:
                    raise Busy(fault) from None
                raise EngineError(fault.message) from None

        outcome: Outcome = await patiently(attempt)
        return outcome

    def bound(self, worker: str) -> Sequence[D1Binding]:
        return self._configs[worker].bindings

    def bindings(self, worker: str) -> Mapping[str, Any]:
        config = self._configs[worker]
        return {
            binding.name: D1Database.make(self.store(binding.database, config.enforce_limits))
            for binding in config.bindings
        }

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(binding.name, "D1 Database", binding.database_name or binding.database)
            for binding in self._configs[worker].bindings
        ]

    def panel(self) -> Panel:
        return panel.of(self)

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
        self._stores.clear()
