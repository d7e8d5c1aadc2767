"""`ratelimits` of the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import check, entries
from pyflare.config.model import WorkerConfig

PERIODS_SECONDS = (10, 60)


@dataclass(frozen=True)
class Limiter:
    name: str
    namespace: str
    limit: int
    period: int  # seconds


@dataclass(frozen=True)
class RatelimitConfig:
    limiters: Sequence[Limiter] = ()


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> RatelimitConfig:
    limiters = []
    fields = {"name": str, "namespace_id": str, "simple": dict}
    for path, entry in entries(config, "ratelimits", diagnostics, required=fields):
        simple, where = entry["simple"], f"{path}.simple"
        if not check(where, simple, diagnostics, required={"limit": int, "period": int}, optional={}):
            continue
        if simple["period"] not in PERIODS_SECONDS:
            diagnostics.fault(where, f"The period must be 10 or 60 seconds, got {simple['period']}.")
            continue
        limiters.append(Limiter(entry["name"], entry["namespace_id"], int(simple["limit"]), int(simple["period"])))
    return RatelimitConfig(limiters)
