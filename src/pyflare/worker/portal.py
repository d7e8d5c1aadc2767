"""Greenlets under tasks, so that synchronous code can wait for a promise.

Every task that worker code runs in is driven from within a pooled greenlet. `run_sync(awaitable)`, deep in a
synchronous call, switches out of it and hands the future to the task; when the task is resumed it switches back in.
Other requests go on meanwhile; one thread stays one thread. It is also the one place that every resumption of worker
code passes: a Durable Object's input gate and the activation of a worker sit here.
"""

from __future__ import annotations

import asyncio
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context
from typing import Any

from greenlet import getcurrent, greenlet

from pyflare.interop import scope
from pyflare.interop.awaiting import as_future

SEND, THROW = "send", "throw"
YIELDED, RETURNED, RAISED = "yielded", "returned", "raised"

MAX_IDLE = 64  # greenlets kept for reuse; a greenlet costs a few kilobytes


class Portal:
    """The pool of one event loop. `drive(coroutine)` awaits it inside a greenlet."""

    def __init__(self, enter: Callable[[Any], None], leave: Callable[[], None]) -> None:
        self._idle: list[greenlet] = []
        self._enter, self._leave = enter, leave

    @types.coroutine
    def drive(self, work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        running = scope.current.get()
        gate = running.gate if running is not None else None
        worker = running.worker if running is not None else None
        inside = self._idle.pop() if self._idle else _start()
        caller = getcurrent()
        inside.gr_context = caller.gr_context
        message: tuple[Any, ...] = (work, SEND, None)
        try:
            while True:
                if gate is not None:
                    message = yield from _pass(gate, message)
                inside.parent = getcurrent()
                self._enter(worker)
                try:
                    kind, value = inside.switch(message)
                finally:
                    self._leave()
                if kind is YIELDED:
                    try:
                        message = (None, SEND, (yield value))
                    except BaseException as raised:
                        message = (None, THROW, raised)
                elif kind is RETURNED:
                    return value
                else:
                    raise value
        finally:
            inside.gr_context = None
            if not inside.dead and len(self._idle) < MAX_IDLE:
                self._idle.append(inside)


def task_factory(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], context: Context | None = None, **rest: Any
) -> asyncio.Task[Any]:
    """Tasks of worker code run in the worker's portal; all others as usual."""
    running = scope.current.get() if context is None else context.get(scope.current)
    if running is None or _is_portal(work):
        task = asyncio.Task(work, loop=loop, context=context, **rest)
    else:
        task = asyncio.Task(_in_portal(running.worker.portal, work), loop=loop, context=context, **rest)
        # Of a task that is cancelled before its first step the work was never entered.
        task.add_done_callback(lambda _: work.close())
    if running is not None and running.gate is not None:
        running.gate.began(task)
    return task


async def _in_portal(portal: Portal, work: Coroutine[Any, Any, Any]) -> Any:
    return await portal.drive(work)


def _is_portal(work: Any) -> bool:
    return getattr(work, "cr_code", None) is _in_portal.__code__


def _pass(gate: scope.Gate, message: tuple[Any, ...]) -> Generator[Any, Any, tuple[Any, ...]]:
    """Wait while the gate is closed; a cancellation meanwhile is thrown into the code behind it."""
    while (closed := gate.waits()) is not None:
        try:
            yield from asyncio.shield(closed).__await__()
        except BaseException as raised:
            return (message[0], THROW, raised)
    return message


def _start() -> greenlet:
    fresh = greenlet(_serve)
    fresh.switch()  # runs to its first wait
    return fresh


def _serve() -> None:
    """The body of a greenlet: steps one coroutine after another."""
    me = getcurrent()
    message = me.parent.switch()
    work: Any = None
    while True:
        fresh, how, value = message
        work = fresh if fresh is not None else work
        try:
            yielded = work.send(value) if how is SEND else work.throw(value)
            answer = (YIELDED, yielded)
        except StopIteration as stop:
            answer, work = (RETURNED, stop.value), None
        except SystemExit as left:
            answer, work = (RAISED, WorkerLeft(left).with_traceback(left.__traceback__)), None
        except BaseException as raised:
            answer, work = (RAISED, raised), None
        value = message = fresh = None
        message = me.parent.switch(answer)


class WorkerLeft(RuntimeError):
    """Worker code called `sys.exit`: an event ends there, the process, where asyncio would let it through, does not."""

    def __init__(self, left: SystemExit) -> None:
        super().__init__(f"SystemExit: {left}")


class NoSuspender(RuntimeError):
    """`run_sync` where nothing can be suspended: outside of an event."""

    def __init__(self) -> None:
        super().__init__("No suspender")


def can_run_sync() -> bool:
    return getcurrent().parent is not None


def run_sync(awaitable: Awaitable[Any]) -> Any:
    """The result of an awaitable, from synchronous code; other events go on meanwhile."""
    me = getcurrent()
    if me.parent is None:
        if inspect.iscoroutine(awaitable):
            awaitable.close()
        raise NoSuspender
    settled = getattr(awaitable, "settled", None)
    if settled is True:
        return awaitable.result()  # type: ignore[attr-defined]
    future = as_future(awaitable)
    while not future.done():
        future._asyncio_future_blocking = True  # as `Future.__await__` does
        _, how, value = me.parent.switch((YIELDED, future))
        if how is THROW:
            future.cancel()
            raise value
    return future.result()
