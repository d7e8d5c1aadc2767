"""`pipelines` of the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import entries
from pyflare.config.model import WorkerConfig

OPTIONAL = {"pipeline": str, "stream": str}


@dataclass(frozen=True)
class PipelineBinding:
    binding: str
    name: str


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[PipelineBinding]:
    bindings = []
    for path, entry in entries(config, "pipelines", diagnostics, required={"binding": str}, optional=OPTIONAL):
        name = entry.get("pipeline") or entry.get("stream")
        if not name:
            diagnostics.fault(path, 'bindings should have a string "pipeline" or "stream" field.')
            continue
        bindings.append(PipelineBinding(entry["binding"], name))
    return bindings
