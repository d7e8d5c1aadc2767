"""The room of tail workers: hears of events that have ended, and tells their consumers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import Engine, EngineContext, Panel, Table
from pyflare.engines.tails.config import KEYS, Consumer, parse
from pyflare.engines.tails.items import TraceItem
from pyflare.interop import traces
from pyflare.interop.containers import JsArray
from pyflare.worker.event import Handler
from pyflare.worker.trace import Trace


class Tails(Engine):
    keys: ClassVar[Sequence[str]] = KEYS

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[Consumer]:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, Sequence[Consumer]], ctx: EngineContext) -> None:
        self._configs, self._ctx = configs, ctx

    def listeners(self) -> Mapping[str, Callable[[Trace], None]]:
        """Producer -> what hears of each of its events, for those with a consumer in this server."""
        return {worker: partial(self._heard, names) for worker in self._configs if (names := self._consumers(worker))}

    def check(self, exports: Mapping[str, Mapping[str, type]]) -> None:
        for name in dict.fromkeys(name for worker in self._configs for name in self._consumers(worker)):
            if not callable(getattr(exports[name].get("Default"), "tail", None)):
                self._ctx.log.warn(f'Worker "{name}" is a tail consumer, but has no `tail(self, events, env, ctx)`')

    def _consumers(self, worker: str) -> Sequence[str]:
        """Each of them once; those that run elsewhere hear nothing."""
        names = dict.fromkeys(consumer.service for consumer in self._configs[worker])
        return [name for name in names if name in self._ctx.workers()]

    def _heard(self, consumers: Sequence[str], trace: Trace) -> None:
        for consumer in consumers:
            self._ctx.spawn(self._tell(consumer, trace))

    async def _tell(self, consumer: str, trace: Trace) -> None:
        try:
            await self._ctx.dispatch(consumer, Handler("tail", JsArray.make([TraceItem.make(trace)])))
        except Exception as raised:
            self._ctx.log.error(f"Uncaught (in {consumer}.tail)\n{traces.render(raised)}")

    def _connected(self, consumer: Consumer) -> str:
        return "local [connected]" if consumer.service in self._ctx.workers() else "local [not connected]"

    def panel(self) -> Panel:
        rows = [
            (worker, consumer.service, self._connected(consumer))
            for worker, consumers in self._configs.items()
            for consumer in consumers
        ]
        return Panel("Tail workers", [Table("Consumers", ("Producer", "Consumer", "State"), rows)])
