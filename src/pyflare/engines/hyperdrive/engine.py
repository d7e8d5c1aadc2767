"""The room of Hyperdrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.hyperdrive.binding import Hyperdrive
from pyflare.engines.hyperdrive.config import Connection, parse


class Hyperdrives(Engine):
    keys: ClassVar[Sequence[str]] = ("hyperdrive",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[Connection]:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, Sequence[Connection]], ctx: EngineContext) -> None:
        self._configs = configs

    def bindings(self, worker: str) -> Mapping[str, Any]:
        return {connection.name: Hyperdrive.make(connection) for connection in self._configs[worker]}

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(connection.name, "Hyperdrive Config", f"{connection.host}:{connection.port}")
            for connection in self._configs[worker]
        ]

    def panel(self) -> Panel:
        return Panel("Hyperdrive")
