"""Cron triggers: by hand through the hooks, and by the clock with `--cron`.

By the clock each expression runs at the start of its minute. Times that pass while no server runs are not caught up, as
Cloudflare does not. When the machine slept past some, the expression runs once, for the last of them. A run that is
still going when the next is due goes on beside it, and a line says so. A run ends after 15 minutes, as there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from pyflare.clock import monotonic
from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import Engine, EngineContext, Panel
from pyflare.engines.cron.config import WALL_SECONDS, CronConfig, read
from pyflare.engines.cron.controller import ScheduledController
from pyflare.engines.cron.expression import Expression, fault
from pyflare.engines.cron.panel import panel, show
from pyflare.errors import EngineError
from pyflare.interop import traces
from pyflare.worker.event import Scheduled


class Outcome(NamedTuple):
    """How a run ended: "ok" or "exception"; whether it called noRetry; what it raised."""

    outcome: str
    no_retry: bool
    error: BaseException | None


@dataclass(frozen=True)
class Run:
    """A finished run."""

    time_ms: float
    outcome: str


@dataclass
class Flight:
    """A run that is going on."""

    worker: str
    cron: str
    deadline: float
    task: Any
    overdue: bool = False


class Cron(Engine):
    """The room of cron triggers; it keeps nothing on disk."""

    keys: ClassVar[Sequence[str]] = ("triggers",)

    def __init__(self, configs: Mapping[str, CronConfig | None], ctx: EngineContext) -> None:
        self._ctx = ctx
        self._configs = {worker: config or CronConfig() for worker, config in configs.items()}
        self._by_clock = False
        self._stopped = False
        self._next: dict[tuple[str, str], float] = {}  # (worker, expression) -> when it runs next
        self._flights: list[Flight] = []
        self._last: dict[tuple[str, str], Run] = {}

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> CronConfig:
        return read(config, diagnostics)

    def configure(self, options: Any) -> None:
        """Take `--cron`, and say once what that means for the configured expressions."""
        self.by_clock = options.cron
        for worker, expression in self.expressions():
            if self._by_clock and (moment := self._next.get((worker, expression.text))) is not None:
                text = f'Cron "{expression.text}" of {worker} runs next at {show(moment)}'
                self._ctx.log.once("info", f"cron.next.{worker}.{expression.text}", text)
            elif not self._by_clock:
                text = 'Cron triggers do not run by the clock: start with --cron, or use pyflare trigger cron "{}"'
                self._ctx.log.once("info", "cron.by_hand", text.format(expression.text))

    @property
    def by_clock(self) -> bool:
        """Whether expressions run by the clock."""
        return self._by_clock

    @by_clock.setter
    def by_clock(self, on: bool) -> None:
        self._by_clock = on
        self._next = {}
        if on:
            for worker, expression in self.expressions():
                self._plan(worker, expression, self._ctx.clock.now())
        self._ctx.poke()

    # --- time -----------------------------------------------------------------------------------------------------

    def next_due(self) -> float | None:
        if self._stopped:
            return None
        deadlines = [flight.deadline for flight in self._flights if not flight.overdue]
        return min([*self._next.values(), *deadlines], default=None)

    def run_due(self, now: float) -> None:
        for flight in self._flights:
            if flight.deadline <= now and not flight.overdue:
                flight.overdue = True
                flight.task.cancel()
        for worker, expression in self.expressions():
            due = self._next.get((worker, expression.text))
            if due is None or due > now or self._stopped:
                continue
            while (later := expression.next_after(due)) is not None and later <= now:
                due = later  # missed while the machine slept: only the last one is run
            self._plan(worker, expression, now)
            if any((flight.worker, flight.cron) == (worker, expression.text) for flight in self._flights):
                self._ctx.log.warn(f'Cron "{expression.text}": the run before is still going; another starts beside it')
            self._ctx.spawn(self.scheduled(worker, expression.text, due * 1000))

    def busy(self) -> Sequence[str]:
        return [f'cron "{flight.cron}"' for flight in self._flights]

    async def pause(self) -> None:
        self._stopped = True

    def close(self) -> None:
        self._stopped = True

    # --- running --------------------------------------------------------------------------------------------------

    async def scheduled(self, worker: str, cron: str, time_ms: float) -> Outcome:
        """Run the worker's handler, configured expression or not, and wait for its waitUntil work."""
        self._doubt(worker, cron)
        controller, began = ScheduledController.make(cron, time_ms), monotonic()
        deadline = self._ctx.clock.now() + WALL_SECONDS
        flight = Flight(worker, cron, deadline, self._ctx.spawn(self._attempt(worker, controller)))
        self._flights.append(flight)
        try:
            raised: Exception | None = await flight.task
        except asyncio.CancelledError:
            if not flight.overdue:  # the caller gave up, or the server ends
                flight.task.cancel()
                raise
            raised = TimeoutError(f"the handler did not return within {WALL_SECONDS / 60:g} minutes")
        finally:
            self._flights.remove(flight)
        outcome = Outcome("exception" if raised is not None else "ok", controller._no_retry, raised)
        self._last[worker, cron] = Run(time_ms, outcome.outcome)
        self._log(cron, outcome, (monotonic() - began) * 1000)
        return outcome

    async def _attempt(self, worker: str, controller: ScheduledController) -> Exception | None:
        try:
            await self._ctx.dispatch(worker, Scheduled(controller))
        except Exception as error:
            return error
        return None

    async def trigger(self, cron: str, worker: str | None = None, time_ms: float | None = None) -> Outcome:
        """Run an expression by hand, as if it were `time_ms` (default: now); of the worker that `owner` gives."""
        moment = self._ctx.clock.now() * 1000 if time_ms is None else time_ms
        return await self.scheduled(self.owner(cron, worker), cron, moment)

    def owner(self, cron: str, worker: str | None = None) -> str:
        """The worker that is meant: the named one, else the first that has the expression, else the first."""
        owners = [name for name, expression in self.expressions() if expression.text == cron]
        name = worker or next(iter(owners or self._ctx.workers()))
        if name not in self._configs:
            raise EngineError(f'There is no worker "{name}"; there are: {", ".join(self._configs)}')
        return name

    def expressions(self) -> Sequence[tuple[str, Expression]]:
        """Every worker's expressions."""
        return [(worker, each) for worker, config in self._configs.items() for each in config.expressions]

    def last_run(self, worker: str, cron: str) -> Run | None:
        return self._last.get((worker, cron))

    def panel(self) -> Panel:
        return panel(self, self._ctx.clock.now())

    # --- inside ---------------------------------------------------------------------------------------------------

    def _plan(self, worker: str, expression: Expression, now: float) -> None:
        moment = expression.next_after(now)
        if moment is None:
            self._next.pop((worker, expression.text), None)
        else:
            self._next[worker, expression.text] = moment

    def _doubt(self, worker: str, cron: str) -> None:
        """An expression that is not configured runs too, but it may be a slip of the pen."""
        known = [expression.text for name, expression in self.expressions() if name == worker]
        if cron not in known:
            why = f"is not among the configured crons ({', '.join(map(repr, known)) or 'none'})"
            if cron and (wrong := fault(cron)) is not None:
                why = f"is no cron expression: {wrong}"
            self._ctx.log.warn(f"{cron!r} {why}; it runs all the same")

    def _log(self, cron: str, outcome: Outcome, ms: float) -> None:
        log = self._ctx.log
        if outcome.error is not None:
            log.error(f'Cron "{cron}" failed\n{traces.render(outcome.error)}', cron=cron)
        if log.enabled("info"):
            log.info(f"CRON {cron or '(none)'} {outcome.outcome} ({ms:.0f}ms)", cron=cron, ms=round(ms, 3))
