"""The room of the version: one object per worker."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import single
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel, Table
from pyflare.interop.proxy import JsObject


class VersionMetadata(Engine):
    keys: ClassVar[Sequence[str]] = ("version_metadata",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> str | None:
        """The name of the binding."""
        return single(config, "version_metadata", diagnostics)

    def __init__(self, configs: Mapping[str, str | None], ctx: EngineContext) -> None:
        self._names = configs
        started = dt.datetime.fromtimestamp(ctx.clock.now(), dt.UTC).isoformat(timespec="milliseconds")
        self._timestamp = started.replace("+00:00", "Z")
        self._ids = {worker: str(uuid.UUID(hex=ctx.new_id(), version=4)) for worker in configs}

    def bindings(self, worker: str) -> Mapping[str, Any]:
        name = self._names.get(worker)
        if name is None:
            return {}
        return {name: JsObject.make({"id": self._ids[worker], "tag": "", "timestamp": self._timestamp})}

    def rows(self, worker: str) -> Sequence[BindingRow]:
        name = self._names.get(worker)
        return () if name is None else (BindingRow(name, "Worker Version Metadata"),)

    def panel(self) -> Panel:
        rows = [[worker, self._ids[worker], self._timestamp] for worker in self._names]
        return Panel("Versions", [Table("Versions", ("worker", "id", "timestamp"), rows)])
