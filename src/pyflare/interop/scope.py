"""The event that runs now.

Each event of user code (a request, a batch, an alarm, an RPC call) runs with a `Scope` in a context variable, which the
tasks it creates inherit. The layer asks it for the clock, for where background work goes, and for the gate.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio

    from pyflare.clock import Clock


class Gate(Protocol):
    """What holds back an event of a Durable Object; no other event has one."""

    def waits(self) -> asyncio.Future[None] | None:
        """A future to await before user code of this context may go on; None: go on. Asked at every resumption."""
        ...

    def unconfirmed(self) -> asyncio.Future[None] | None:
        """A future that is done when the turn's writes are committed (it raises when that fails); None: nothing is
        written."""
        ...

    def hold(self, action: Callable[[], None]) -> bool:
        """Run `action` right after that commit, in line with others; False: nothing is written, do it now."""
        ...

    def began(self, task: asyncio.Task[Any]) -> None:
        """User code made a task: the object stays awake for it."""
        ...

    def keep(self, channel: Any) -> None:
        """The object called `accept()` on this end of a WebSocket: it stays awake for it, and takes it along when it is
        reset."""
        ...


class Scope:
    """What an event carries with it."""

    __slots__ = ("background", "clock", "compat", "gate", "global_scope", "label", "trace", "worker")

    def __init__(
        self,
        worker: Any,
        clock: Clock,
        background: Callable[[Awaitable[Any]], None],
        gate: Gate | None = None,
        label: str = "",
    ) -> None:
        self.worker = worker  # the `worker.worker.Worker` whose code runs
        self.clock = clock
        self.background = background  # waitUntil
        self.gate = gate
        self.label = label  # for messages: "fetch", "queue jobs", "Room.alarm"
        self.compat = worker.compat  # compatibility flags: `scope.compat.enabled(name)`
        self.global_scope = False  # True while the module is imported
        self.trace: Any = None  # the `worker.trace.Trace` of this event; None: nobody tails the worker


current: ContextVar[Scope | None] = ContextVar("pyflare_scope", default=None)


def enabled(flag: str) -> bool:
    """Whether a compatibility flag is on for the worker that runs now; True outside of any."""
    scope = current.get()
    return True if scope is None else bool(scope.compat.enabled(flag))
