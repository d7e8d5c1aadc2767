"""The room of rate limits: one store per namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel, Table
from pyflare.engines.ratelimit.binding import Ratelimit
from pyflare.engines.ratelimit.config import Limiter, RatelimitConfig, parse
from pyflare.engines.ratelimit.store import UNIQUE_KEY, RatelimitStore

SHOWN_KEYS = 100


class Ratelimits(Engine):
    keys: ClassVar[Sequence[str]] = ("ratelimits",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> RatelimitConfig:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, RatelimitConfig], ctx: EngineContext) -> None:
        self._configs = configs
        self._ctx = ctx
        self._stores: dict[str, RatelimitStore] = {}

    def _store(self, namespace: str) -> RatelimitStore:
        store = self._stores.get(namespace)
        if store is None:
            layout = self._ctx.storage
            path = layout.simulator("ratelimit", UNIQUE_KEY, namespace)
            store = self._stores[namespace] = RatelimitStore(path, layout.durability)
        return store

    def bindings(self, worker: str) -> Mapping[str, Any]:
        return {limiter.name: self._binding(limiter) for limiter in self._configs[worker].limiters}

    def _binding(self, limiter: Limiter) -> Ratelimit:
        def take(key: str, limit: int, period: int) -> bool:
            return self._store(limiter.namespace).take(key, limit, period, self._ctx.clock.now())

        binding: Ratelimit = Ratelimit.make(limiter, take)
        return binding

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(limiter.name, "Rate Limit", f"{limiter.limit} requests/{limiter.period}s")
            for limiter in self._configs[worker].limiters
        ]

    def panel(self) -> Panel:
        namespaces = {limiter.namespace for config in self._configs.values() for limiter in config.limiters}
        columns = ("key", "period", "since", "count")
        return Panel(
            "Rate limits",
            [Table(namespace, columns, self._store(namespace).list(SHOWN_KEYS)) for namespace in sorted(namespaces)],
        )

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
        self._stores.clear()
