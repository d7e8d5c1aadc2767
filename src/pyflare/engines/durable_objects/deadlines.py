"""What must happen at a time while the server runs: the end of a critical section, of an event, of an alarm's handler.

Nothing of it is stored: it concerns work in flight, which ends with the process.
"""

from __future__ import annotations

from collections.abc import Callable

from pyflare.clock import Clock


class Deadline:
    """One of `Deadlines`; `when` is a time of the clock."""

    __slots__ = ("expired", "when")

    def __init__(self, when: float, expired: Callable[[], None]) -> None:
        self.when, self.expired = when, expired


class Deadlines:
    """`announced` is what the scheduler was told last: it is only poked for something sooner."""

    def __init__(self, clock: Clock, poke: Callable[[], None]) -> None:
        self._clock, self._poke = clock, poke
        self._open: set[Deadline] = set()
        self.announced: float | None = None

    def add(self, seconds: float, expired: Callable[[], None]) -> Deadline:
        """Call `expired` in so many seconds, unless it is discarded before."""
        deadline = Deadline(self._clock.now() + seconds, expired)
        self._open.add(deadline)
        self.sooner(deadline.when)
        return deadline

    def discard(self, deadline: Deadline | None) -> bool:
        """Whether it had not come yet."""
        if deadline not in self._open:
            return False
        self._open.discard(deadline)
        return True

    def sooner(self, due: float) -> None:
        """Something is due then; the scheduler may have to be told."""
        if self.announced is None or due < self.announced:
            self.announced = due
            self._poke()

    def soonest(self) -> float | None:
        return min((deadline.when for deadline in self._open), default=None)

    def run_due(self, now: float) -> None:
        for deadline in [deadline for deadline in self._open if deadline.when <= now]:
            self._open.discard(deadline)
            deadline.expired()
