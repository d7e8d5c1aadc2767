"""The room of loaded workers: each is one more worker of the server, in the surroundings of the one that loads it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel, Table
from pyflare.engines.loaders.binding import Deliver, WorkerLoader
from pyflare.engines.loaders.config import Code, parse
from pyflare.engines.loaders.namespace import Namespace
from pyflare.interop import scope
from pyflare.interop.proxy import JsObject
from pyflare.worker.context import Background
from pyflare.worker.event import Event
from pyflare.worker.loader import exported_classes, module_handlers
from pyflare.worker.worker import Worker


class Loaders(Engine):
    keys: ClassVar[Sequence[str]] = ("worker_loaders",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[str]:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, Sequence[str]], ctx: EngineContext) -> None:
        self._configs, self._ctx = configs, ctx
        self._workers: dict[str, Worker] = {}
        self._known: dict[str, asyncio.Future[str]] = {}  # label -> the name of the worker, when it is loaded
        self._numbers = itertools.count(1)

    def join(self, workers: dict[str, Worker]) -> None:
        """The server's table of workers, for ours to be added to."""
        self._workers = workers

    def bindings(self, worker: str) -> Mapping[str, Any]:
        return {name: WorkerLoader.make(partial(self._open, worker, name)) for name in self._configs[worker]}

    def _open(self, host: str, binding: str, id: str | None, code: Callable[[], Awaitable[Code]]) -> Deliver:
        label = f"{binding}:{id}" if id is not None else f"{binding}#{next(self._numbers)}"

        async def deliver(event: Event) -> Any:
            return await self._ctx.dispatch(await self._loaded(host, label, code), event)

        return deliver

    async def _loaded(self, host: str, label: str, code: Callable[[], Awaitable[Code]]) -> str:
        key = f"{host}/{label}"
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = asyncio.ensure_future(self._load(host, key, code))
            found.add_done_callback(partial(self._settled, key))
        return await asyncio.shield(found)

    def _settled(self, key: str, loading: asyncio.Future[str]) -> None:
        """What failed is tried again by the next who asks."""
        if loading.cancelled() or loading.exception() is not None:
            del self._known[key]

    async def _load(self, host: str, name: str, code: Callable[[], Awaitable[Code]]) -> str:
        given = await code()
        parent = self._workers[host]
        config = WorkerConfig(name=name, root=Path(), compat=given.compat)
        worker = Worker(
            config, self._ctx.clock, JsObject.make(given.env), parent.sdk, portal=parent.portal, host=parent
        )
        worker.caches_of = parent.caches_of
        worker.outbound = parent.outbound if given.outbound is None else given.outbound
        module = _imported(worker, Namespace(name, given.modules), given.main)
        worker.exports = exported_classes(module, parent.sdk)
        worker.handlers = module_handlers(module)
        self._workers[name] = worker
        return name

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [BindingRow(name, "Worker Loader") for name in self._configs[worker]]

    def panel(self) -> Panel:
        return Panel("Worker loaders", [Table("Loaded workers", ("name",), [[name] for name in self._known])])

    def close(self) -> None:
        for name in self._known:
            self._workers.pop(name, None)
        self._known.clear()


def _imported(worker: Worker, namespace: Namespace, main: str) -> Any:
    """The main module, run in the global scope of its worker."""
    running = scope.Scope(worker, worker.clock, Background().add, None, "global scope")
    running.global_scope = True
    token = scope.current.set(running)
    try:
        return namespace.load(main)
    finally:
        scope.current.reset(token)
