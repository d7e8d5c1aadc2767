"""The tasks of an instance, and whether all they do is to wait for the engine.

Only then may it be dropped from memory: on a replay, code outside of steps runs again, so a task that waits for
something else (a timer, a request) must come to its end first. The tasks are those that the portal told of; each waits
for one future (`_fut_waiter`), which is the engine's, another task, a `gather` of tasks, or one of asyncio's own
meeting points.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection
from contextvars import Context, ContextVar
from typing import Any

_FOLDER = os.path.dirname(asyncio.__file__)
_MEETING_POINTS = tuple(os.path.join(_FOLDER, name) for name in ("taskgroups.py", "locks.py", "queues.py"))
_TASKS = os.path.join(_FOLDER, "tasks.py")


inside_step: ContextVar[bool] = ContextVar("pyflare_inside_step", default=False)


class Tasks:
    """The tasks of one run; as a `scope.Gate` it is told of each, and holds nothing back."""

    def __init__(self) -> None:
        self.futures: set[asyncio.Future[Any]] = set()  # what the engine will settle and a task waits for
        self._outside: set[asyncio.Task[Any]] = set()  # of the code outside of steps
        self._steps: set[asyncio.Task[Any]] = set()
        self._starting = False

    def step(self, work: Any, context: Context) -> asyncio.Task[Any]:
        """Begin a task of a step."""
        context.run(inside_step.set, True)
        self._starting = True
        try:
            return asyncio.get_running_loop().create_task(work, context=context)
        finally:
            self._starting = False

    @property
    def steps_run(self) -> bool:
        return any(not task.done() for task in self._steps)

    def outside_waits(self, but: asyncio.Task[Any] | None = None) -> bool:
        """Whether the code outside of steps (`but` for one task) can do nothing before the engine settles something."""
        return only_wait(self._outside - {but} if but else self._outside, self.futures)

    def cancel(self) -> None:
        for task in (*self._outside, *self._steps):
            task.cancel()

    # --- the gate ---------------------------------------------------------------------------------------------------

    def began(self, task: asyncio.Task[Any]) -> None:
        tasks = self._steps if self._starting or inside_step.get() else self._outside
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def waits(self) -> None:
        return None

    def unconfirmed(self) -> None:
        return None

    def hold(self, action: Callable[[], None]) -> bool:
        return False

    def keep(self, channel: Any) -> None:
        """Sockets do not keep a workflow awake."""


def only_wait(tasks: Collection[asyncio.Task[Any]], futures: Collection[asyncio.Future[Any]]) -> bool:
    """`futures` are those that the engine will settle."""
    return all(task.done() or _waits(task, tasks, futures) for task in tasks)


def _waits(
    task: asyncio.Task[Any], tasks: Collection[asyncio.Task[Any]], futures: Collection[asyncio.Future[Any]]
) -> bool:
    waiter = getattr(task, "_fut_waiter", None)
    if waiter is None:
        return False
    if waiter in futures or waiter in tasks:
        return True
    children = getattr(waiter, "_children", None)
    if children is not None:
        return all(child.done() or child in tasks or child in futures for child in children)
    return _at_a_meeting_point(task)


def _at_a_meeting_point(task: asyncio.Task[Any]) -> bool:
    """Whether the innermost coroutine is a TaskGroup, a Queue, `asyncio.wait` …, which others of these tasks end."""
    coroutine = task.get_coro()
    portal = getattr(coroutine, "cr_frame", None)
    if portal is not None and "work" in portal.f_locals:  # the coroutine that the portal drives
        coroutine = portal.f_locals["work"]
    innermost: Any = coroutine
    while (deeper := getattr(innermost, "cr_await", None)) is not None and hasattr(deeper, "cr_code"):
        innermost = deeper
    code = getattr(innermost, "cr_code", None)
    if code is None:
        return False
    return code.co_filename in _MEETING_POINTS or (code.co_filename == _TASKS and code.co_name == "_wait")
