"""The two gates of an object, in asyncio.

The input gate is closed while a critical section (`blockConcurrencyWhile`, `transaction`) is open: only code that
carries the section in its context goes on, which child tasks inherit. The portal asks `waits()` at every resumption.
The output gate is closed from the first write of a turn until the commit that follows it; what leaves the object
meanwhile (answers, calls, frames) waits for `unconfirmed()` or is put in line with `hold()`.
(workerd io/io-gate.h)
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import Context, ContextVar, copy_context
from typing import Any

from pyflare.engines.durable_objects.config import MAX_NESTED_SECTIONS
from pyflare.interop.errors import error

Waiting = asyncio.Future[None]

carried: ContextVar[Section | None] = ContextVar("pyflare_critical_section", default=None)


class Level:
    """The object's own level, or a critical section: of the sections inside it at most one is open."""

    __slots__ = ("inside", "queue")

    def __init__(self) -> None:
        self.inside: Section | None = None
        self.queue: deque[Section] = deque()


class Section(Level):
    """A critical section of one gate. `context()` is what its code has to run in."""

    __slots__ = ("_over", "_turn", "deadline", "finished", "gate", "outer")

    def __init__(self, gate: Gate, outer: Level) -> None:
        super().__init__()
        self.gate = gate
        self.outer = outer
        self.finished = False
        self.deadline: Any = None  # of the engine's `Deadlines`
        self._over: Waiting | None = None
        self._turn: Waiting | None = None

    def context(self) -> Context:
        context = copy_context()
        context.run(carried.set, self)
        return context

    def context_here(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function that carries the section, in the present context."""
        token = carried.set(self)
        try:
            return function(*args)
        finally:
            carried.reset(token)

    def over(self) -> Waiting:
        """Done when the section is finished."""
        if self._over is None:
            self._over = asyncio.get_running_loop().create_future()
        return self._over

    def turn(self) -> Waiting:
        """Done when a queued section may begin."""
        if self._turn is None:
            self._turn = asyncio.get_running_loop().create_future()
        return self._turn

    def begins(self) -> None:
        _wake(self._turn)

    def ends(self) -> None:
        self.finished = True
        _wake(self._over)


class Gate:
    """Both gates of one instance of an object; what `scope.Gate` asks for."""

    def __init__(self) -> None:
        self._level = Level()
        self._stopped: Waiting | None = None  # nothing goes on, whatever it carries: a sync, or the instance is dead
        self.dirty = False  # something is written and not committed
        self._confirmed: Waiting | None = None
        self._held: list[Callable[[], None]] = []
        self.tasks: set[asyncio.Task[Any]] = set()  # of user code; told by the portal
        self._kept: list[Any] = []

    # --- input ----------------------------------------------------------------------------------------------------

    def waits(self) -> Waiting | None:
        """A future to wait for before the code of this context may go on. Of a dead instance nothing goes on: its
        future is cancelled, so that what waits at it unwinds."""
        if self._level.inside is None and self._stopped is None:
            return None
        if self._stopped is not None:
            return self._stopped
        level = self._current()
        if isinstance(level, Section) and level.outer.inside is not level:
            return level.turn()
        return None if level.inside is None else level.inside.over()

    def stop(self) -> None:
        """Let nothing go on until `go`."""
        self._stopped = asyncio.get_running_loop().create_future()

    def go(self) -> None:
        stopped, self._stopped = self._stopped, None
        _wake(stopped)

    async def passed(self) -> None:
        """Wait until the code of this context may go on."""
        while (closed := self.waits()) is not None:
            await asyncio.shield(closed)

    def begin(self) -> Section:
        """Open a section inside of the one that this context carries, or queue it behind one that is open there."""
        level = self._current()
        if _depth(level) >= MAX_NESTED_SECTIONS:
            raise error("blockConcurrencyWhile() calls are nested too deeply.")
        section = Section(self, level)
        if level.inside is None:
            level.inside = section
        else:
            level.queue.append(section)
        return section

    def finish(self, section: Section) -> None:
        """Let go on what waits; a section left open inside of this one takes its place."""
        level = _unfinished(section.outer)
        if level.inside is not section:
            level.queue.remove(section)
        elif section.inside is not None:
            level.inside, level.queue = section.inside, deque([*section.queue, *level.queue])
            for left in (section.inside, *section.queue):
                left.outer = level
        else:
            level.inside = level.queue.popleft() if level.queue else None
            if level.inside is not None:
                level.inside.begins()
        section.ends()

    def sections(self) -> Iterable[Section]:
        """The open and queued sections, outermost first."""
        levels = [self._level]
        while levels:
            level = levels.pop()
            for section in (*([level.inside] if level.inside else []), *level.queue):
                yield section
                levels.append(section)

    def _current(self) -> Level:
        section = carried.get()
        if section is None or section.gate is not self:
            return self._level
        level = _unfinished(section)
        return level

    # --- output ---------------------------------------------------------------------------------------------------

    def wrote(self) -> None:
        self.dirty = True

    def unconfirmed(self) -> Waiting | None:
        """Done when the turn's writes are committed, raises when that fails; None: nothing is written."""
        if not self.dirty:
            return None
        if self._confirmed is None:
            self._confirmed = asyncio.get_running_loop().create_future()
        return self._confirmed

    def hold(self, action: Callable[[], None]) -> bool:
        """Run `action` right after the commit, in line with others; False: nothing is written, do it now."""
        if self.dirty:
            self._held.append(action)
        return self.dirty

    def confirm(self) -> None:
        """The writes are committed."""
        self.dirty = False
        confirmed, self._confirmed = self._confirmed, None
        held, self._held = self._held, []
        for action in held:
            action()
        _wake(confirmed)

    # --- the instance ---------------------------------------------------------------------------------------------

    def began(self, task: asyncio.Task[Any]) -> None:
        """User code made a task: the object is not idle before it is done."""
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def keep(self, channel: Any) -> None:
        """The object called `accept()` on this end of a WebSocket: it stays awake while that is open."""
        self._kept.append(channel)

    @property
    def idle(self) -> bool:
        self._kept = [channel for channel in self._kept if not channel.over]
        return not (self.tasks or self._kept or self._level.inside is not None)

    def drop(self) -> None:
        """End what `keep` was told of, abnormally."""
        kept, self._kept = self._kept, []
        for channel in kept:
            channel.drop()

    def die(self, reason: BaseException) -> None:
        """The instance is gone: what has not left stays, nothing of it goes on."""
        stopped, self._stopped = self._stopped, asyncio.get_running_loop().create_future()
        self._stopped.cancel()
        _wake(stopped)
        self._held.clear()
        self.dirty = False
        confirmed, self._confirmed = self._confirmed, None
        if confirmed is not None and not confirmed.done():
            confirmed.set_exception(reason)
            confirmed.exception()  # nobody need have waited
        for section in list(self.sections()):
            section.begins()
            section.ends()
        self._level = Level()


class Start:
    """An event that has come and not started."""

    __slots__ = ("turn",)

    def __init__(self) -> None:
        self.turn: Waiting | None = None


class Starts:
    """Events start in the order in which they came: a gate that opens does not let a newcomer overtake."""

    def __init__(self) -> None:
        self._line: deque[Start] = deque()

    def join(self) -> Start:
        start = Start()
        self._line.append(start)
        return start

    async def turn(self, start: Start) -> None:
        """Wait until it is the first in line."""
        while self._line[0] is not start:
            start.turn = asyncio.get_running_loop().create_future()
            await start.turn

    def leave(self, start: Start) -> None:
        """It starts, or has failed before; may be called twice."""
        line = self._line
        if line and line[0] is start:
            line.popleft()
            if line:
                _wake(line[0].turn)
        elif start in line:
            line.remove(start)


def _unfinished(level: Level) -> Level:
    while isinstance(level, Section) and level.finished:
        level = level.outer
    return level


def _depth(level: Level) -> int:
    depth = 0
    while isinstance(level, Section):
        level = level.outer
        depth += 1
    return depth


def _wake(future: Waiting | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
