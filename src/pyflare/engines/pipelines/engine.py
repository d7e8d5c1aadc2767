"""The room of pipelines."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import entries
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel, Table
from pyflare.engines.pipelines.binding import Pipeline
from pyflare.engines.pipelines.store import append, file_of, latest

SHOWN_RECORDS = 100


@dataclass(frozen=True)
class PipelineBinding:
    binding: str
    name: str


class Pipelines(Engine):
    keys: ClassVar[Sequence[str]] = ("pipelines",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[PipelineBinding]:
        optional = {"pipeline": str, "stream": str}
        bindings = []
        for path, entry in entries(config, "pipelines", diagnostics, required={"binding": str}, optional=optional):
            name = entry.get("pipeline") or entry.get("stream")
            if not name:
                diagnostics.fault(path, 'bindings should have a string "pipeline" or "stream" field.')
                continue
            bindings.append(PipelineBinding(entry["binding"], name))
        return bindings

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
