"""Whether a replay follows the recorded steps.

Code that decides by the time, by chance or by what it reads outside of a step may call other steps than it did before.
What was recorded is then lost or taken for something else, silently on Cloudflare. Here both sequences are reported,
with the line where they part. Concurrent branches may overtake each other, so a difference counts only when the code
has come to rest, or to its end, without having called what it called before.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from pyflare.clock import turn
from pyflare.engines.workflows.rows import Fault, Step
from pyflare.interop import traces

if TYPE_CHECKING:
    from pyflare.engines.workflows.run import Run

TURNS = 100  # of the loop, without a recorded step being called, after which the code is looked at
MANY_TURNS = 1000
REST_SECONDS = 0.05

Key = tuple[str, str, int]


class Replay:
    """Compares the calls of this run with those of earlier ones. A step that is new while recorded ones were not called
    yet does not begin before it is clear that those will be."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._before: list[Key] = [(step.kind, step.name, step.nth) for step in steps]
        self._missing = dict.fromkeys(self._before)
        self._now: list[Key] = []
        self._parted: str | None = None  # where the sequences part
        self._told = False
        self._held: list[Callable[[], None]] = []

    def called(self, kind: str, name: str, count: int, callback: Callable[[Any], Any] | None) -> None:
        if not self._missing or self._told:
            return
        key = (kind, name, count)
        at = len(self._now)
        if self._parted is None and (at >= len(self._before) or self._before[at] != key):
            self._parted = _place(callback)
        self._now.append(key)
        self._missing.pop(key, None)
        if not self._missing:
            self._let_go()

    def holds(self, start: Callable[[], None]) -> bool:
        """Whether `start`, of a new step, has to wait; it is called later then."""
        if not self._missing or self._told:
            return False
        self._held.append(start)
        return True

    def _let_go(self) -> None:
        held, self._held = self._held, []
        for start in held:
            start()

    def watch(self, run: Run) -> None:
        """Look whether the code rests before it has called everything."""
        if self._missing and not run.only_replays:
            self._look(run, 0, len(self._missing))

    def _look(self, run: Run, turn: int, missing: int) -> None:
        if run.over or not self._missing or self._told:
            return
        if len(self._missing) < missing:
            turn, missing = 0, len(self._missing)
        loop = asyncio.get_running_loop()
        if turn < TURNS:
            loop.call_soon(self._look, run, turn + 1, missing)
        elif not run.tasks.outside_waits():
            loop.call_later(REST_SECONDS, self._look, run, turn, missing)
        elif self.check(run):
            self._let_go()

    def check(self, run: Run, ended: bool = False) -> bool:
        """Report a difference, once; False when that was the end of the run."""
        if not self._missing or self._told or run.only_replays:
            return True
        if not ended and self._parted is None:
            return True  # it stopped on the way, at a step of before
        self._told = True
        text = self._report()
        run.host.differs(run, text)
        if not run.host.strict:
            return True
        run.die(Fault("NonDeterministicError", text))
        return False

    def _report(self) -> str:
        where = f" at {self._parted}" if self._parted else ""
        return (
            f"The replay calls other steps than before{where}.\n"
            f"  before: {_shown(self._before)}\n  now:    {_shown(self._now)}\n"
            "Code outside of steps runs again on every replay: what it decides by must come from the event or a step."
        )

    async def exhausted(self, body: asyncio.Task[Any], rests: Callable[[], bool]) -> None:
        """Wait until the code has come as far as the recorded steps lead it."""
        for _ in range(MANY_TURNS):
            if body.done() or rests():
                return
            await turn()
        while not body.done() and not rests():
            await asyncio.wait([body], timeout=REST_SECONDS)


def _shown(keys: Sequence[Key]) -> str:
    return (
        ", ".join(f"{kind} {name!r}" + (f" ({count})" if count > 1 else "") for kind, name, count in keys) or "nothing"
    )


def _place(callback: Callable[[Any], Any] | None) -> str | None:
    """File and line: of the step's function, else of the call."""
    code = _own_code(callback, 0)
    if code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    frame = sys._getframe(1)
    while frame is not None and traces.is_inner(frame.f_code.co_filename):
        frame = frame.f_back  # type: ignore[assignment]
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _own_code(function: Any, depth: int) -> CodeType | None:
    """The worker's function, which the SDK has wrapped in functions of its own."""
    if not isinstance(function, FunctionType) or depth > 4:
        return None
    if not traces.is_inner(function.__code__.co_filename):
        return function.__code__
    for cell in function.__closure__ or ():
        found = _own_code(cell.cell_contents, depth + 1)
        if found is not None:
            return found
    return None
