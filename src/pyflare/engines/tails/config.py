"""`tail_consumers` and `streaming_tail_consumers`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import entries
from pyflare.config.model import WorkerConfig

KEYS = ("streaming_tail_consumers", "tail_consumers")


@dataclass(frozen=True)
class Consumer:
    """A worker that hears what ours does, by name."""

    service: str


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[Consumer]:
    return [
        Consumer(entry["service"])
        for key in KEYS
        for _, entry in entries(
            config, key, diagnostics, required={"service": str}, optional={"environment": str, "entrypoint": str}
        )
    ]
