"""The instances in memory: started, woken when a deadline comes, parked when they only wait.

A row is the truth, a `Run` only its shadow: dropping one loses nothing but the place in the code, which a replay finds
again. An instance that sleeps or waits stays for ten seconds (so that code beside it is not torn apart), the latest 256
of them, then costs its rows.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from json import dumps

from pyflare.engines.base import EngineContext
from pyflare.engines.workflows import faults
from pyflare.engines.workflows.call import Call
from pyflare.engines.workflows.config import MAX_WAITING_AWAKE, PARK_AFTER_SECONDS, Workflow
from pyflare.engines.workflows.duration import StepConfig
from pyflare.engines.workflows.rows import PAUSED, RUNNING, SLEEP, Event, Fault, Step
from pyflare.engines.workflows.run import Run, wait_timed_out
from pyflare.engines.workflows.store import Store
from pyflare.errors import WorkerError
from pyflare.worker.event import Enter, Handler

STARTS_A_TURN = 50  # instances; those that have begun get on between
DUE_A_TURN = 200
UNWIND_SECONDS = 1.0  # real time that interrupted code gets for its `finally`
ROUNDING = 1e-6  # seconds; sums of floats may fall short of a deadline by less


class Awake:
    """`definitions` maps a workflow's name to (worker, workflow). It is what a `Run` calls its host."""

    def __init__(self, store: Store, ctx: EngineContext, definitions: Mapping[str, tuple[str, Workflow]]) -> None:
        self.store, self._ctx, self._definitions = store, ctx, definitions
        self.strict = False
        self.enforce_limits = True
        self.runs: dict[int, Run] = {}
        self._parking: dict[int, float] = {}  # run -> when it is parked, earliest first
        self._context = copy_context()  # outside of any event
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting: deque[int] = deque(store.awake())  # what the last process left running
        self._due = store.first_due()
        self._paused = False
        self._going_on = False  # more than one turn's work is due
        self.over: Callable[[str, str], None] = lambda workflow, name: None  # told of every end

    # --- starting and stopping --------------------------------------------------------------------------------------

    def start(self, id: int) -> None:
        """Run the instance from the beginning of its code, in one of the next turns of the loop; steps that are done
        are not done again. Without a loop (a command works on the files alone) it is left to the next server."""
        if self._paused or not _loop_runs():
            return
        self._starting.append(id)
        if not self._going_on:
            self._going_on = True
            asyncio.get_running_loop().call_soon(self._some, context=self._context)

    def _launch(self, id: int) -> None:
        instance = self.store.instance(id)
        definition = self._definitions.get(instance.workflow) if instance else None
        if instance is None or definition is None or not instance.awake or id in self.runs:
            return
        worker, workflow = definition
        run = self.runs[id] = Run(instance, workflow.step_limit, self)
        label = f"{workflow.class_name}.run"
        about = Handler("run", None)
        event = Enter(workflow.class_name, run.enter, gate=run.tasks, label=label, counts=False, about=about)
        work = self._dispatch(run, worker, event)
        run.task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._tasks.add(run.task)
        run.task.add_done_callback(self._tasks.discard)

    async def _dispatch(self, run: Run, worker: str, event: Enter) -> None:
        try:
            await self._ctx.dispatch(worker, event)
        except asyncio.CancelledError:
            if not run.over:
                run.interrupt()
        except WorkerError as raised:  # broken code must not end what began with good code
            self._ctx.log.once(
                "error", f"workflow {run.id}", f"Workflow {run.instance.workflow} cannot go on: {raised}"
            )
        except Exception as raised:
            if not run.over:
                run.die(faults.kept(raised))
        finally:
            if self.runs.get(run.id) is run:
                self._forget(run)

    def stop(self, id: int) -> None:
        """Drop the instance from memory where it is."""
        run = self.runs.get(id)
        if run is not None:
            self._forget(run)
            run.interrupt()

    def wake(self, id: int) -> None:
        """Have it in memory, since something has happened to it."""
        if id not in self.runs:
            self.store.wake(id)
            self.start(id)

    def received(self, id: int, step: int, event: Event) -> None:
        """An event has found its wait."""
        run = self.runs.get(id)
        instance = self.store.instance(id)
        if run is not None:
            run.received(step, event)
        elif instance is not None and instance.status == RUNNING:
            self.start(id)

    async def pause(self) -> None:
        """A reload or the end: attempts in flight go back uncounted, everything else is in the rows."""
        self._paused = True
        for run in list(self.runs.values()):
            flying = bool(run.attempts.in_flight)
            self.stop(run.id)
            if flying:
                self.store.give_back(run.id, self.now())
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=UNWIND_SECONDS)

    def _forget(self, run: Run) -> None:
        self.runs.pop(run.id, None)
        self._parking.pop(run.id, None)

    # --- time -------------------------------------------------------------------------------------------------------

    def next_due(self) -> float | None:
        if self._paused:
            return None
        if self._starting and not self._going_on:
            return 0.0
        parking = next(iter(self._parking.values()), None)
        return min((at for at in (self._due, parking) if at is not None), default=None)

    def run_due(self, now: float) -> None:
        if self._paused:
            return
        self._some()
        for id in [id for id, at in self._parking.items() if at <= now]:
            self._park(id, now)

    def _some(self) -> None:
        """Go on with some of what is due; the rest in the next turns of the loop, since there may be thousands."""
        self._going_on = False
        if self._paused:
            return
        now = self.now()
        found: Sequence[Step] = ()
        for _ in range(min(STARTS_A_TURN, len(self._starting))):
            self._launch(self._starting.popleft())
        if self._due is not None and self._due <= now:
            found = self.store.due(now + ROUNDING, DUE_A_TURN)
            for step in found:
                self._step_due(step, now)
            self.store.expire(now)
            self._due = self.store.first_due()
        if (self._starting or len(found) == DUE_A_TURN) and not self._going_on:
            self._going_on = True
            asyncio.get_running_loop().call_soon(self._some, context=self._context)

    def _step_due(self, step: Step, now: float) -> None:
        run = self.runs.get(step.instance)
        if run is not None:
            run.due(step, now)
            return
        instance = self.store.instance(step.instance)
        if instance is None or instance.status == PAUSED or instance.workflow not in self._definitions:
            self.store.hold_back(step.id)  # a workflow that no configuration has: it would be due for ever
            return
        if step.kind == SLEEP:
            self.store.wake_up(step, now)
        elif step.kind == "event":
            self.store.time_out(step, wait_timed_out(step), now)
        else:
            self.store.attempt_due(step)  # the replay sees that the attempt may begin
        self.wake(step.instance)

    def _park(self, id: int, now: float) -> None:
        run = self.runs.get(id)
        self._parking.pop(id, None)
        if run is None or run.over:
            return
        if run.pausing or not run.only_waits():
            if not run.attempts.in_flight:  # otherwise it says itself when it waits again
                self._parking[id] = now + PARK_AFTER_SECONDS
            return
        self.store.park(id)
        self.stop(id)

    def busy(self) -> Sequence[str]:
        more = (self._going_on or self._starting) and not self._paused
        starting = ["instances to start"] if more else []
        return starting + [
            f"{run.instance.workflow} {run.instance.name}" for run in self.runs.values() if not run.only_waits()
        ]

    # --- the host of a run ------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._ctx.clock.now()

    def due(self, at: float) -> None:
        if self._due is None or at < self._due:
            self._due = at
            self._ctx.poke()

    def waits(self, run: Run) -> None:
        self._parking.pop(run.id, None)
        self._parking[run.id] = self.now() + PARK_AFTER_SECONDS
        if len(self._parking) > MAX_WAITING_AWAKE:
            self._park(next(iter(self._parking)), self.now())
        elif len(self._parking) == 1:
            self._ctx.poke()

    def ended(self, run: Run) -> None:
        if self.runs.get(run.id) is run:
            self._forget(run)
        self.over(run.instance.workflow, run.instance.name)
        self.changed()

    def changed(self) -> None:
        """Rows have got a deadline (an expiry, a pause that is over) that nobody told of."""
        earliest = self.store.first_due()
        if earliest is not None:
            self.due(earliest)

    def about(self, config: StepConfig) -> str | None:
        return dumps(config.as_plain(), default=str) if config.given else None

    def step_failed(self, call: Call, fault: Fault) -> None:
        assert call.config is not None
        attempts = f"attempt {call.attempt} of {call.config.limit + 1:g}"
        self._ctx.log.warn(f"Workflow step {call.step.name!r}, {attempts}: {faults.short(fault)}")

    def failed(self, run: Run, fault: Fault) -> None:
        where = f"Workflow {run.instance.workflow}, instance {run.instance.name}"
        self._ctx.log.error(f"{where} errored\n{fault.message or fault.name}")

    def differs(self, run: Run, text: str) -> None:
        where = f"Workflow {run.instance.workflow}, instance {run.instance.name}"
        self._ctx.log.warn(f"{where}: {text}")


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
