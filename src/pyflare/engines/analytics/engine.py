"""The room of Analytics Engine."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.analytics.binding import AnalyticsEngine
from pyflare.engines.analytics.config import MAX_POINTS, RETENTION_SECONDS, AnalyticsConfig, parse
from pyflare.engines.analytics.store import AnalyticsStore, Point
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel, Table
from pyflare.errors import EngineError
from pyflare.interop import scope
from pyflare.interop.arguments import to_string
from pyflare.interop.errors import error

SHOWN_POINTS = 100
ALL = -1  # SQLite's word for no limit
COLUMNS = ("timestamp", "index1", "blobs", "doubles")


class Analytics(Engine):
    keys: ClassVar[Sequence[str]] = ("analytics_engine_datasets",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> AnalyticsConfig:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, AnalyticsConfig], ctx: EngineContext) -> None:
        self._configs = configs
        self._ctx = ctx
        self.store = AnalyticsStore(ctx.storage.own("analytics"), ctx.storage.durability)
        self.store.delete_older(ctx.clock.now() - RETENTION_SECONDS)
        self._event: scope.Scope | None = None  # the event that wrote last, and how many points
        self._count = 0

    def bindings(self, worker: str) -> Mapping[str, Any]:
        config = self._configs[worker]
        count = functools.partial(self._count_point, config.enforce_limits)
        return {
            dataset.binding: AnalyticsEngine.make(count, functools.partial(self._write, dataset.name))
            for dataset in config.datasets
        }

    def _write(self, dataset: str, index: str, blobs: Sequence[str | None], doubles: Sequence[float]) -> None:
        self.store.add(dataset, self._ctx.clock.now(), index, blobs, doubles)

    def _count_point(self, enforce: bool) -> None:
        """Of events that take turns only the last is counted: this may let pass, and never refuses wrongly."""
        event = scope.current.get()
        if event is not self._event:
            self._event, self._count = event, 0
        self._count += 1
        if event is None or self._count <= MAX_POINTS:
            return
        message = (
            f"writeDataPoint(): an invocation may write {MAX_POINTS} data points; see "
            "https://developers.cloudflare.com/analytics/analytics-engine/limits/"
        )
        if enforce:
            raise error(message)
        self._ctx.log.once("warn", message, message)

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(dataset.binding, "Analytics Engine Dataset", dataset.name)
            for dataset in self._configs[worker].datasets
        ]

    def panel(self) -> Panel:
        names = dict.fromkeys(dataset.name for config in self._configs.values() for dataset in config.datasets)
        return Panel("Analytics", [Table(name, COLUMNS, self._rows(name)) for name in names])

    def points(self, name: str) -> list[Point]:
        """Of a dataset, by its name or that of a binding; the oldest first."""
        bound = [dataset for config in self._configs.values() for dataset in config.datasets]
        names = {dataset.name: dataset.name for dataset in bound} | {one.binding: one.name for one in bound}
        if name not in names:
            raise EngineError(f"There is no dataset {name!r}; there are: {', '.join(names) or 'none'}")
        return self.store.latest(names[name], ALL)[::-1]

    def _rows(self, dataset: str) -> Sequence[Sequence[Any]]:
        points = self.store.latest(dataset, SHOWN_POINTS)
        return [(when, index, blobs, [_shown(double) for double in doubles]) for when, index, blobs, doubles in points]

    def close(self) -> None:
        self.store.close()


def _shown(double: float) -> float | str:
    """JSON has no NaN and no infinities."""
    return double if math.isfinite(double) else to_string(double)
