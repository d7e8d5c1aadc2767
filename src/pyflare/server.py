"""The one place where things are put together: configurations, clock, storage, rooms, workers.

server = Server(configs, state=folder, options=options, clock=SystemClock(), log=log)
await server.start()                     # opens the rooms, imports the workers; WorkerError when code is broken
response = await server.fetch(request)   # the primary worker, after its assets
await server.stop()
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from pyflare import engines
from pyflare.clock import Clock
from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.config.options import DevOptions
from pyflare.engines.base import BindingRow, Engine, EngineContext
from pyflare.errors import ConfigError
from pyflare.interop.json import from_plain
from pyflare.interop.proxy import JsObject
from pyflare.interop.web import outbound
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.log import Log
from pyflare.scheduler import Scheduler
from pyflare.storage.layout import Layout
from pyflare.worker import loader
from pyflare.worker.activation import Activation
from pyflare.worker.dispatch import Dispatcher
from pyflare.worker.event import Event, Fetch
from pyflare.worker.portal import Portal, task_factory
from pyflare.worker.worker import Worker

GRACE_SECONDS = 2.0  # real time that work in flight gets when the server stops


class Server:
    """All workers of one `pyflare dev`, their rooms and their storage; the first configuration is the primary one.

    `dedicated`: the process belongs to this server, so that a lone worker needs no swapping (see `activation`).
    """

    def __init__(
        self,
        configs: Sequence[WorkerConfig],
        *,
        state: Path,
        options: DevOptions,
        clock: Clock,
        log: Log,
        dedicated: bool = False,
    ) -> None:
        self.configs, self.options, self.clock, self.log = configs, options, clock, log
        self.primary = configs[0]
        self.layout = Layout(state, options.durability)
        self.workers = {config.name: Worker(config, clock) for config in configs}
        if len(self.workers) < len(configs):
            raise ConfigError(f"Two configurations name their worker {_twice(configs)!r}; give them different names")
        self.engines: dict[str, Any] = {}
        self.scheduler = Scheduler(clock, self.engines.values(), log)
        for worker in self.workers.values():
            worker.path = loader.paths(worker)
        self._activation = Activation(list(self.workers.values()), clock, dedicated)
        self._portal = Portal(*self._activation.hooks)
        self.dispatch = Dispatcher(self.workers, self._portal, clock, log)
        self._spawned: set[asyncio.Task[Any]] = set()
        self._scheduling: asyncio.Task[None] | None = None
        self._configs = self._parse()

    # --- starting and stopping ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the rooms, import the workers, let time pass."""
        loop = asyncio.get_running_loop()
        if loop.get_task_factory() is not task_factory:
            loop.set_task_factory(task_factory)  # type: ignore[arg-type]
        self._ctx = EngineContext(
            clock=self.clock,
            storage=self.layout,
            log=self.log,
            dispatch=self._call,
            spawn=self.spawn,
            poke=self.poke,
            new_id=lambda: secrets.token_hex(16),
            workers=lambda: list(self.workers),
        )
        for name in self._configs:
            self._open(name)
        for worker in self.workers.values():
            worker.portal = self._portal
            worker.caches_of = self._caches
            worker.loopback_of = lambda worker=worker: self._loopback(worker)
            self._fill_env(worker)
        for engine in self.engines.values():
            for name, listener in engine.listeners().items():
                self.workers[name].tail = listener
        for worker in self.workers.values():
            self._load(worker)
        for engine in self.engines.values():
            engine.check({name: worker.exports for name, worker in self.workers.items()})
        self._scheduling = loop.create_task(self.scheduler.run())

    async def pause(self) -> None:
        """Stop firing; leased work goes back uncounted."""
        if self._scheduling is not None:
            self._scheduling.cancel()
            self._scheduling = None
        for engine in self.engines.values():
            await engine.pause()

    async def finish(self, seconds: float) -> None:
        """Let waitUntil work of answered requests end, for so long at most."""
        waiting = [asyncio.ensure_future(group.settle()) for group in self.dispatch.background if group.pending]
        if not waiting:
            return
        done, late = await asyncio.wait(waiting, timeout=seconds)
        for task in late:
            task.cancel()
        for task in done:
            task.exception()  # told already, where it failed

    async def stop(self) -> None:
        """The end: nothing is accepted any more, the files are closed."""
        await self.pause()
        pending = {*self._spawned, *self.dispatch.running}
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending, timeout=GRACE_SECONDS)
        await outbound.close()
        for engine in self.engines.values():
            engine.close()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run in the background, outside of any event."""
        task = asyncio.get_running_loop().create_task(work, context=self.dispatch.base_context())
        self._spawned.add(task)
        task.add_done_callback(self._spawned_done)
        return task

    def _spawned_done(self, task: asyncio.Task[Any]) -> None:
        self._spawned.discard(task)
        if not task.cancelled() and (raised := task.exception()) is not None:
            self.log.error(f"A background task failed: {type(raised).__name__}: {raised}")

    def poke(self) -> None:
        self.scheduler.poke()

    # --- serving --------------------------------------------------------------------------------------------------

    async def fetch(self, request: Request) -> Response:
        """The answer to a request: an asset, or what the primary worker says. Raises what its handler raised."""
        assets = self.engines.get("assets")
        if assets is not None:
            asset: Response | None = await assets.route(self.primary.name, request)
            if asset is not None:
                return asset
        response: Response = await self.dispatch.serve(self.primary.name, Fetch(request))
        return response

    async def _call(self, worker: str, event: Event) -> Any:
        """What an engine gets from a worker. What a service binding sends to no entrypoint by name finds the assets in
        front of the worker, as what comes from outside does (github.com/cloudflare/workers-sdk/pull/8347)."""
        assets = self.engines.get("assets")
        if assets is not None and isinstance(event, Fetch) and event.entrypoint is None:
            asset = await assets.route(worker, event.request)
            if asset is not None:
                return asset
        return await self.dispatch(worker, event)

    async def scheduled(self, cron: str, time_ms: float | None = None) -> tuple[str, bool, BaseException | None]:
        """Run the primary worker's cron handler: (outcome, no retry, what it raised)."""
        moment = int(self.clock.now() * 1000) if time_ms is None else time_ms
        outcome: tuple[str, bool, BaseException | None]
        outcome = await self.room("cron").scheduled(self.primary.name, cron, moment)
        return outcome

    def has_handler(self, name: str) -> bool:
        return name in self.workers[self.primary.name].handler_names()

    def rows(self) -> list[BindingRow]:
        """The table of bindings of all workers."""
        rows = [row for config in self.configs for engine in self.engines.values() for row in engine.rows(config.name)]
        for name, value in self.primary.vars.items():
            shown = "(hidden)" if name in self.primary.secrets else str(value)
            rows.append(BindingRow(name, "Environment Variable", shown))
        return rows

    def busy(self) -> list[str]:
        """What is in flight anywhere; empty at rest."""
        rooms = [f"{name}: {what}" for name, engine in self.engines.items() for what in engine.busy()]
        return rooms + self.dispatch.busy() + ["spawned" for _ in self._spawned]

    # --- putting together -----------------------------------------------------------------------------------------

    def _parse(self) -> dict[str, dict[str, Any]]:
        """room -> worker -> its configuration; raises ConfigError with the faults of all files."""
        found: dict[str, dict[str, Any]] = {}
        faults: list[str] = []
        for name in engines.awake(key for config in self.configs for key in engines.sections(config)):
            engine = engines.load(name)
            found[name] = {}
            for config in self.configs:
                diagnostics = Diagnostics(config.path)
                found[name][config.name] = engine.parse(config, diagnostics)
                faults += diagnostics.located()
                for warning in diagnostics.warnings:
                    self.log.once("warn", warning, warning)
        if faults:
            raise ConfigError(*faults)
        for name, configs in found.items():
            engines.load(name).agree(configs)
        return found

    def _open(self, name: str) -> Engine:
        made: Any = engines.load(name)
        configs = self._configs.get(name)
        if configs is None:  # nothing in the configurations asks for it
            configs = {config.name: made.parse(config, Diagnostics(config.path)) for config in self.configs}
        engine: Engine = made(configs, self._ctx)
        engine.configure(self.options)
        engine.join(self.workers)
        self.engines[name] = engine
        return engine

    def _fill_env(self, worker: Worker) -> None:
        env: dict[str, Any] = {name: from_plain(value) for name, value in worker.config.vars.items()}
        for engine in self.engines.values():
            env.update(engine.bindings(worker.name))
        worker.env.__dict__.update(env)

    def _load(self, worker: Worker) -> None:
        if worker.config.main is None:
            return
        with self.dispatch.importing(worker):
            self._activation.enter(worker)
            try:
                loader.load(worker, self.log)
                for engine in self.engines.values():
                    engine.imported(worker)
            finally:
                self._activation.leave()

    def room(self, name: str) -> Any:
        """A room, opened when it is first asked for."""
        return self.engines.get(name) or self._open(name)

    def mounts(self) -> dict[str, Any]:
        """Prefixes of control paths that rooms answer by themselves -> what loads the ASGI app."""
        return {prefix: load for engine in self.engines.values() for prefix, load in engine.mounts().items()}

    def _caches(self) -> Any:
        return self.room("cache").storage

    def _loopback(self, worker: Worker) -> Any:
        """`ctx.exports`: stubs of the worker's own entrypoints and namespaces of its objects."""
        exports: dict[str, Any] = {}
        self.room("services")  # which gives them also where nothing is bound
        for engine in self.engines.values():
            exports.update(engine.exports(worker))
        return JsObject.make(exports)


def _twice(configs: Sequence[WorkerConfig]) -> str:
    names = [config.name for config in configs]
    return next(name for name in names if names.count(name) > 1)
