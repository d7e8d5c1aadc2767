"""`kv_namespaces` of the configuration, and KV's limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import enforces_limits, entries
from pyflare.config.model import WorkerConfig

# developers.cloudflare.com/kv/platform/limits
MAX_KEY_BYTES = 512
MAX_VALUE_BYTES = 25 * 1024 * 1024
MAX_METADATA_BYTES = 1024
MAX_LIST_KEYS = 1000
MAX_BULK_KEYS = 100
MAX_BULK_BYTES = 25 * 1024 * 1024
MIN_TTL_SECONDS = 60
MIN_CACHE_TTL_SECONDS = 30
WRITE_INTERVAL_SECONDS = 1.0  # writes to one key may not follow faster


@dataclass(frozen=True)
class KvBinding:
    name: str
    namespace: str  # the id that names the storage


@dataclass(frozen=True)
class KvConfig:
    bindings: Sequence[KvBinding] = ()
    enforce_limits: bool = True


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> KvConfig:
    found = entries(
        config,
        "kv_namespaces",
        diagnostics,
        required={"binding": str},
        optional={"id": str, "preview_id": str},
    )
    bindings = [
        KvBinding(entry["binding"], entry.get("preview_id") or entry.get("id") or entry["binding"])
        for _, entry in found
    ]
    return KvConfig(bindings, enforces_limits(config))
