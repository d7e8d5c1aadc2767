"""`ctx`: the execution context of one event."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable
from typing import Any, ClassVar

from pyflare.interop import scope
from pyflare.interop.awaiting import as_future
from pyflare.interop.convert import unwrap
from pyflare.interop.proxy import JsProxy


class ExecutionContext(JsProxy):
    """What a handler gets as `ctx` (developers.cloudflare.com/workers/runtime-apis/context/).

    `props` exists only when the binding has some; `exports` are loopback stubs of the worker's own classes.
    """

    js_name: ClassVar[str] = "ExecutionContext"

    def __init__(self, running: scope.Scope, props: Any = None) -> None:
        self._scope = running
        if props is not None:
            self.props = props

    def js_properties(self) -> dict[str, Any]:
        return {"props": self.props} if "props" in self.__dict__ else {}

    @property
    def exports(self) -> Any:
        return self._scope.worker.loopback()

    def waitUntil(self, work: Any) -> None:
        self._scope.background(as_awaitable(work))

    def passThroughOnException(self) -> None:
        """Accepted; there is no origin to pass through to."""

    def abort(self, reason: Any = None) -> None:
        raise asyncio.CancelledError(reason)


def as_awaitable(work: Any) -> Awaitable[Any]:
    """What waitUntil was given, as something to await; plain values are done already."""
    work = unwrap(work)
    return work if inspect.isawaitable(work) else _done(work)


async def _done(value: Any) -> Any:
    return value


class Background:
    """The waitUntil work of one event. `settle()` awaits it and raises the first failure."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Future[Any]] = set()
        self._failed: BaseException | None = None

    def add(self, work: Awaitable[Any]) -> None:
        task = as_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (raised := task.exception()) is not None:
            self._failed = self._failed or raised
            self.failed(raised)
        if not self._tasks:
            self.emptied(self)

    def failed(self, raised: BaseException) -> None:
        """Told once for each piece of work that raises; replaced by who wants to show it."""

    def emptied(self, background: Background) -> None:
        """Told when nothing is left to wait for; replaced by who keeps a list."""

    async def settle(self) -> None:
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        if self._failed is not None:
            raise self._failed

    @property
    def pending(self) -> int:
        return len(self._tasks)
