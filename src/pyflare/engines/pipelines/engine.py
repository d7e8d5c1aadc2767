"""The room of pipelines."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel, Table
from pyflare.engines.pipelines.binding import Pipeline
from pyflare.engines.pipelines.config import PipelineBinding, parse
from pyflare.engines.pipelines.store import append, file_of, latest

SHOWN_RECORDS = 100


class Pipelines(Engine):
    keys: ClassVar[Sequence[str]] = ("pipelines",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[PipelineBinding]:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, Sequence[PipelineBinding]], ctx: EngineContext) -> None:
        self._configs = configs
        self._ctx = ctx

    def file(self, name: str) -> Path:
        return file_of(self._ctx.storage.folder("pyflare", "pipelines"), name)

    def bindings(self, worker: str) -> Mapping[str, Any]:
        return {
            pipeline.binding: Pipeline.make(functools.partial(append, self.file(pipeline.name)))
            for pipeline in self._configs[worker]
        }

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [BindingRow(pipeline.binding, "Pipeline", pipeline.name) for pipeline in self._configs[worker]]

    def panel(self) -> Panel:
        names = dict.fromkeys(pipeline.name for config in self._configs.values() for pipeline in config)
        return Panel(
            "Pipelines",
            [Table(name, ("record",), [[line] for line in latest(self.file(name), SHOWN_RECORDS)]) for name in names],
        )
