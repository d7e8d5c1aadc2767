"""`analytics_engine_datasets` of the configuration, and the limits of a data point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import enforces_limits, entries
from pyflare.config.model import WorkerConfig

# developers.cloudflare.com/analytics/analytics-engine/limits and workerd `api/analytics-engine-impl.h`
MAX_BLOBS = 20
MAX_DOUBLES = 20
MAX_INDEXES = 1
MAX_BLOB_BYTES = 16_000  # of all blobs of a point
MAX_INDEX_BYTES = 96
MAX_POINTS = 250  # of one invocation
RETENTION_SECONDS = 90 * 86_400.0


@dataclass(frozen=True)
class Dataset:
    binding: str
    name: str


@dataclass(frozen=True)
class AnalyticsConfig:
    datasets: Sequence[Dataset] = ()
    enforce_limits: bool = True


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> AnalyticsConfig:
    fields = {"binding": str}
    found = entries(config, "analytics_engine_datasets", diagnostics, required=fields, optional={"dataset": str})
    datasets = [Dataset(entry["binding"], entry.get("dataset") or entry["binding"]) for _, entry in found]
    return AnalyticsConfig(datasets, enforces_limits(config))
