"""setTimeout, setInterval, queueMicrotask and scheduler.wait.

A timer belongs to the event that set it: its callback runs as a task of that event, which ends with the event. Times
are milliseconds.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any, ClassVar

from pyflare.interop.errors import type_error
from pyflare.interop.global_scope import check_not_global
from pyflare.interop.promise import JsPromise, start
from pyflare.interop.proxy import JsProxy, get, is_nullish, options
from pyflare.interop.web.callback import call, fulfil, is_function
from pyflare.interop.web.console import report

MAX_DELAY_MS = 2**31 - 1  # a longer one counts as 0 in browsers


def _seconds(delay: Any) -> float:
    try:
        milliseconds = 0.0 if is_nullish(delay) else float(delay)
    except (TypeError, ValueError):
        milliseconds = 0.0
    if not 0 < milliseconds <= MAX_DELAY_MS or math.isnan(milliseconds):
        return 0.0
    return milliseconds / 1000


async def pause(seconds: float) -> None:
    """Wait as `asyncio.sleep` does in the worker's own code: on the loop's clock, at least one turn of it."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    timer = loop.call_later(seconds, event.set) if seconds > 0 else loop.call_soon(event.set)
    try:
        await event.wait()
    finally:
        timer.cancel()


def after(delay: Any, act: Callable[[], Any]) -> asyncio.Task[None]:
    """Call a function of ours after `delay` milliseconds."""

    async def run() -> None:
        await pause(_seconds(delay))
        act()

    return asyncio.get_running_loop().create_task(run())


class Timers(JsProxy):
    """The timers of one worker: the numbers that `setTimeout` gives and what they stand for."""

    js_name: ClassVar[str] = "Timers"

    def __init__(self) -> None:
        self._next = 1
        self._running: dict[int, asyncio.Task[None]] = {}

    def set_timeout(self, callback: Any = None, delay: Any = None, *args: Any) -> int:
        return self._start("setTimeout", callback, delay, args, repeat=False)

    def set_interval(self, callback: Any = None, delay: Any = None, *args: Any) -> int:
        return self._start("setInterval", callback, delay, args, repeat=True)

    def clear(self, number: Any = None) -> None:
        task = self._running.pop(number, None) if isinstance(number, int) else None
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def _start(self, name: str, callback: Any, delay: Any, args: tuple[Any, ...], repeat: bool) -> int:
        if not is_function(callback):
            raise type_error(
                f"Failed to execute '{name}' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'function'."
            )
        seconds = _seconds(delay)
        if seconds > 0:
            check_not_global()
        number, self._next = self._next, self._next + 1
        work = self._run(number, callback, seconds, args, repeat)
        self._running[number] = asyncio.get_running_loop().create_task(work)
        return number

    async def _run(self, number: int, callback: Any, seconds: float, args: tuple[Any, ...], repeat: bool) -> None:
        try:
            while True:
                await pause(max(seconds, 0.001) if repeat else seconds)
                if not repeat:
                    self._running.pop(number, None)
                try:
                    await call(callback, args)
                except Exception as raised:
                    report(raised)
                if not repeat or number not in self._running:
                    return
        finally:
            self._running.pop(number, None)


class Scheduler(JsProxy):
    """The object `js.scheduler`."""

    js_name: ClassVar[str] = "Scheduler"

    @options
    def wait(self, delay: Any = None, settings: Any = None) -> JsPromise:
        check_not_global()
        promise: JsPromise = JsPromise.make()
        signal = get(settings, "signal")
        if not is_nullish(signal):
            signal.when_aborted(promise._reject)
        promise._task = after(delay, lambda: fulfil(promise))
        return promise


def queueMicrotask(callback: Any = None) -> None:
    """Run `callback` before the next await comes back."""
    if not is_function(callback):
        raise type_error(
            "Failed to execute 'queueMicrotask' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'function'."
        )

    async def run() -> None:
        try:
            await call(callback, ())
        except Exception as raised:
            report(raised)

    start(run())


_timers: Timers = Timers.make()
scheduler: Scheduler = Scheduler.make()


def setTimeout(callback: Any = None, delay: Any = None, *args: Any) -> int:
    return _timers.set_timeout(callback, delay, *args)


def setInterval(callback: Any = None, delay: Any = None, *args: Any) -> int:
    return _timers.set_interval(callback, delay, *args)


def clearTimeout(number: Any = None) -> None:
    _timers.clear(number)


def clearInterval(number: Any = None) -> None:
    _timers.clear(number)


__all__ = [
    "Scheduler", "Timers", "after", "check_not_global", "clearInterval", "clearTimeout", "pause", "queueMicrotask",
    "scheduler", "setInterval", "setTimeout",
]  # fmt: skip
