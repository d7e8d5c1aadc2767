"""The room with the real dispatcher and portal, classes that a test writes, and a clock that it moves.

Values are JavaScript's: the stand-in for the SDK converts nothing.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from pyflare.clock import FakeClock
from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import Compat, WorkerConfig
from pyflare.engines.base import EngineContext
from pyflare.engines.durable_objects import ENGINE
from pyflare.engines.durable_objects.actor import Actor
from pyflare.engines.durable_objects.engine import DurableObjects
from pyflare.interop.errors import JsException
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.log import Log
from pyflare.storage.layout import Layout
from pyflare.worker.dispatch import Dispatcher
from pyflare.worker.portal import Portal, task_factory
from pyflare.worker.worker import Worker

T = TypeVar("T")
NOW = 1_700_000_000.0
MAX_TURNS = 2_000


class DurableObject:
    """As the SDK's, without its wrappers."""

    def __init__(self, ctx: Any, env: Any) -> None:
        self.ctx, self.env = ctx, env


class DurableObjectAbort(BaseException):
    """What the SDK raises where user code calls `ctx.abort()`."""


def sdk() -> Any:
    def same(value: Any) -> Any:
        return value

    return SimpleNamespace(
        python_from_rpc=same, python_to_rpc=same, Request=same, wrap_env=same, DurableObject=DurableObject
    )


class World:
    """`world.stub("Room", "lobby")`; `await world.advance(5)`; `world.restart()` opens the same folder again."""

    def __init__(self, folder: Path, *classes: type, sections: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.classes = {cls.__qualname__.rpartition(".")[2]: cls for cls in classes}
        self.sections = dict(sections) if sections is not None else self._sections()
        self.clock = FakeClock(NOW)
        self.terminal = io.StringIO()
        self.compat = Compat("2026-08-01")
        self.tool: Mapping[str, Any] = {}
        self.durability = "normal"
        self.spawned: set[asyncio.Task[Any]] = set()
        self.pokes = 0
        self.faults: Callable[[], None] | None = None

    def _sections(self) -> dict[str, Any]:
        bindings = [{"name": name.upper(), "class_name": name} for name in self.classes]
        migrations = [{"tag": "v1", "new_sqlite_classes": list(self.classes)}]
        return {"durable_objects": {"bindings": bindings}, "migrations": migrations}

    def open(self) -> None:
        """Within a running loop."""
        config = WorkerConfig(name="w", root=self.folder, sections=self.sections, compat=self.compat, tool=self.tool)
        worker = Worker(config, self.clock, sdk=sdk(), exports=self.classes)
        worker.portal = Portal(lambda worker: None, lambda: None)
        workers = {"w": worker}
        self.log = Log(out=self.terminal)
        self.dispatcher = Dispatcher(workers, worker.portal, self.clock, self.log)
        asyncio.get_running_loop().set_task_factory(task_factory)  # type: ignore[arg-type]
        diagnostics = Diagnostics()
        parsed = ENGINE.parse(config, diagnostics)
        diagnostics.check()
        self.engine: DurableObjects = ENGINE(
            {"w": parsed},
            EngineContext(
                clock=self.clock,
                storage=Layout(self.folder / "v3", self.durability),
                log=self.log,
                dispatch=self.dispatcher,
                spawn=self._spawn,
                poke=self._poke,
                new_id=lambda: "0" * 32,
                workers=lambda: list(workers),
            ),
        )
        worker.env.__dict__.update(self.engine.bindings("w"))
        self.env = worker.env

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work, context=self.dispatcher.base_context())
        self.spawned.add(task)
        task.add_done_callback(self.spawned.discard)
        return task

    def _poke(self) -> None:
        self.pokes += 1

    def restart(self) -> None:
        """As after a kill: nothing is closed in order."""
        self.engine.close()
        self.open()

    @property
    def said(self) -> str:
        return self.terminal.getvalue()

    @property
    def seconds(self) -> float:
        """Since the test began."""
        return self.clock.now() - NOW

    @property
    def ms(self) -> int:
        """Now, as JavaScript counts."""
        return round(self.clock.now() * 1000)

    # --- acting ---------------------------------------------------------------------------------------------------

    def namespace(self, class_name: str) -> Any:
        return self.engine.bindings("w")[class_name.upper()]

    def stub(self, class_name: str, name: str = "a") -> Any:
        return self.namespace(class_name).getByName(name)

    def actor(self, class_name: str, name: str = "a") -> Actor:
        namespace = self.engine.namespace("w", class_name)
        return namespace.actors[namespace.id_of(name, None)]

    def awake(self, class_name: str, name: str = "a") -> bool:
        namespace = self.engine.namespace("w", class_name)
        actor = namespace.actors.get(namespace.id_of(name, None))
        return actor is not None and actor.instance is not None

    async def settle(self) -> None:
        """Let everything run that needs no time to pass."""
        for _ in range(MAX_TURNS):
            due = self.engine.next_due()
            if due is not None and due <= self.clock.now():
                self.engine.run_due(self.clock.now())
            await turns(5)
            due = self.engine.next_due()
            if not self.engine.busy() and not self.spawned and (due is None or due > self.clock.now()):
                return

    async def advance(self, seconds: float) -> None:
        """Step from deadline to deadline."""
        target = self.clock.now() + seconds
        await self._idle()
        while (due := self.engine.next_due()) is not None and due <= target:
            self.clock.set(due)
            self.engine.run_due(self.clock.now())
            await self._idle()
        self.clock.set(target)
        await self._idle()

    async def _idle(self) -> None:
        await turns(30)


async def turns(count: int = 20) -> None:
    """Give the loop so many turns."""
    for _ in range(count):
        await asyncio.sleep(0)


async def failure(awaitable: Any) -> JsException:
    """The error that awaiting it raises."""
    try:
        await awaitable
    except JsException as raised:
        return raised
    raise AssertionError("nothing was raised")


def play(
    folder: Path,
    classes: Sequence[type],
    scene: Callable[[World], Coroutine[Any, Any, T]],
    sections: Mapping[str, Any] | None = None,
    durability: str = "normal",
) -> T:
    """Run a scene in a world of its own."""

    async def main() -> T:
        world = World(folder, *classes, sections=sections)
        world.durability = durability
        world.open()
        try:
            return await scene(world)
        finally:
            world.engine.close()
            for task in list(world.spawned):
                task.cancel()
            await turns(5)

    return asyncio.run(main())


def request(url: str = "http://object/", method: str = "GET") -> Request:
    made: Request = Request.make(method, url, Headers.make([]), None)
    return made
