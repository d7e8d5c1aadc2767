"""`secrets_store_secrets` of the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import entries
from pyflare.config.model import WorkerConfig

FIELDS = {"binding": str, "store_id": str, "secret_name": str}


@dataclass(frozen=True)
class Secret:
    binding: str
    store: str
    name: str


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[Secret]:
    found = entries(config, "secrets_store_secrets", diagnostics, required=FIELDS)
    return [Secret(entry["binding"], entry["store_id"], entry["secret_name"]) for _, entry in found]
