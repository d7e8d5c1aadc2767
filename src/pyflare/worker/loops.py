"""Event loops for workers: nested `run_until_complete` and executors, as Pyodide's loop allows them.

Inside an event, `loop.run_until_complete(x)` waits through the portal, and `run_in_executor` runs inline: there is one
thread, as on Cloudflare.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from pyflare.interop import scope
from pyflare.worker.portal import can_run_sync, run_sync


class WorkerLoop:
    """A mixin before a loop class."""

    def run_until_complete(self, future: Any) -> Any:
        if can_run_sync():
            return run_sync(future)
        return super().run_until_complete(future)  # type: ignore[misc]

    def run_in_executor(self, executor: Any, function: Callable[..., Any], *args: Any) -> Any:
        if scope.current.get() is None:
            return super().run_in_executor(executor, function, *args)  # type: ignore[misc]
        done = self.create_future()  # type: ignore[attr-defined]
        try:
            done.set_result(function(*args))
        except Exception as raised:
            done.set_exception(raised)
        return done


class WebLoop(asyncio.AbstractEventLoop):
    """What `asyncio.new_event_loop()` gives inside an event: the running loop, which nobody may close or stop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def run_until_complete(self, future: Any) -> Any:
        return run_sync(future)

    def close(self) -> None:
        """The loop is the server's."""

    def stop(self) -> None:
        """The loop is the server's."""

    def is_closed(self) -> bool:
        return False

    async def shutdown_asyncgens(self) -> None:
        """The loop is the server's."""

    async def shutdown_default_executor(self, *_: float | None) -> None:
        """The loop is the server's."""


def _delegate(name: str) -> None:
    def call(self: WebLoop, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._loop, name)(*args, **kwargs)

    setattr(WebLoop, name, call)


for _name in vars(asyncio.AbstractEventLoop):
    if not _name.startswith("_") and _name not in vars(WebLoop):
        _delegate(_name)


def _web_loop(loop: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
    make: Callable[[asyncio.AbstractEventLoop], asyncio.AbstractEventLoop] = WebLoop
    return make(loop)


class _Policy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        with contextlib.suppress(RuntimeError):
            return _web_loop(asyncio.get_running_loop())
        return super().new_event_loop()

    def set_event_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
        if scope.current.get() is None:
            super().set_event_loop(loop)


def new_event_loop(fast: bool = True) -> asyncio.AbstractEventLoop:
    """A loop for a runtime: uvloop's, or the plain one."""
    base: type[asyncio.AbstractEventLoop] = asyncio.SelectorEventLoop
    if fast:
        with contextlib.suppress(ImportError):
            import uvloop  # noqa: PLC0415  (not on every platform)

            base = uvloop.Loop
    return type("Loop", (WorkerLoop, base), {})()  # type: ignore[no-any-return]


def install_policy() -> None:
    """In a runtime process: `asyncio.new_event_loop()` within an event gives the running loop."""
    asyncio.set_event_loop_policy(_Policy())
