"""One instance in memory: from the begin of a replay until it ends, is parked or interrupted.

Step calls are promises that this class settles; none of them is a task of its own. An interrupted run is dead: its
tasks are cancelled, and what its code still calls raises `Interrupted`, which `except Exception` does not catch.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Protocol

from pyflare.engines.workflows import faults
from pyflare.engines.workflows.attempts import Attempts
from pyflare.engines.workflows.call import Call, Compensation, StepPromise
from pyflare.engines.workflows.duration import StepConfig, shown
from pyflare.engines.workflows.replay import Replay
from pyflare.engines.workflows.rollback import roll_back
from pyflare.engines.workflows.rows import (
    COMPLETE,
    DO,
    DONE,
    ERRORED,
    EVENT,
    FAILED,
    IN_FLIGHT,
    PAUSING,
    PENDING,
    ROLLBACK,
    SLEEP,
    TERMINATED,
    Event,
    Fault,
    Instance,
    Step,
)  # fmt: skip
from pyflare.engines.workflows.step import WorkflowStep
from pyflare.engines.workflows.store import Store
from pyflare.engines.workflows.waiting import Tasks
from pyflare.interop import json, scope, v8
from pyflare.interop.clone import clone
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsObject
from pyflare.worker.context import ExecutionContext


class Interrupted(asyncio.CancelledError):
    """The run is over while its code still goes on."""


class Host(Protocol):
    """What a run asks of the room."""

    store: Store
    strict: bool  # whether a replay that differs is an error
    enforce_limits: bool

    def now(self) -> float: ...

    def due(self, at: float) -> None:
        """A deadline that the store knows."""

    def waits(self, run: Run) -> None:
        """The run has begun to wait for something."""

    def ended(self, run: Run) -> None: ...

    def about(self, config: StepConfig) -> str | None:
        """What the history keeps of a step's config."""

    def step_failed(self, call: Call, fault: Fault) -> None: ...

    def failed(self, run: Run, fault: Fault) -> None: ...

    def differs(self, run: Run, text: str) -> None: ...


class Run:
    """`enter` is what the worker's event runs; `tasks` is that event's gate."""

    def __init__(self, instance: Instance, step_limit: int, host: Host) -> None:
        self.id, self.instance, self.host = instance.id, instance, host
        self.over = False  # ended or interrupted
        self.only_replays = instance.rollback in ("failure", "terminate")
        self.calls: dict[int, Call] = {}  # in progress, by the step's id
        self.compensations: dict[int, Compensation] = {}
        self.task: asyncio.Task[Any] | None = None  # that dispatched the event
        self.tasks = Tasks()
        self._counts: dict[tuple[str, str], int] = {}
        self._step_limit, self._called = step_limit, 0
        self.undoing = False
        self._held: list[Callable[[], None]] = []  # what begins when a pause is called off
        self.pausing = instance.status == PAUSING
        steps = host.store.steps(self.id)
        self._recorded = {(step.kind, step.name, step.nth): step for step in steps}
        self._position = steps[-1].position + 1 if steps else 0
        self.replay = Replay([step for step in steps if step.kind != ROLLBACK])
        self.attempts = Attempts(self)

    # --- the event --------------------------------------------------------------------------------------------------

    async def enter(self, cls: type) -> None:
        """Run the worker's class from the beginning, and keep how it ends."""
        self.host.store.begin(self.instance, self.host.now())
        if self.only_replays:
            await self._undo_after_replay(cls)
            return
        try:
            output = await self._body(cls)
        except Exception as raised:
            if not self.over:
                await self._failed(faults.kept(raised))
        else:
            self._complete(output)

    async def _body(self, cls: type) -> str:
        """What `run` returned, as JSON."""
        running = scope.current.get()
        assert running is not None
        self.replay.watch(self)
        entrypoint = cls(ExecutionContext.make(running), running.worker.env)
        run = getattr(entrypoint, "run", None)
        if not callable(run):
            raise error(f"The class {cls.__qualname__} has no run(self, event, step)")
        result = run(self._event(), WorkflowStep.make(self))
        if inspect.isawaitable(result):
            result = await result
        return json.stringify(clone(result)) or "null"

    def _event(self) -> JsObject:
        event: JsObject = JsObject.make(
            {
                "payload": v8.loads(self.host.store.params(self.id)),
                "timestamp": JsDate.make(float(int(self.instance.created_at * 1000))),
                "instanceId": self.instance.name,
                "workflowName": self.instance.workflow,
            }
        )
        return event

    def _complete(self, output: str) -> None:
        if self.over or not self.replay.check(self, ended=True):
            return
        self.host.store.finish(self.id, COMPLETE, self.host.now(), output=output)
        self._end()

    async def _failed(self, fault: Fault) -> None:
        if not self.replay.check(self, ended=True):
            return
        self.host.failed(self, fault)
        if self.compensations:
            self.host.store.rolling_back(self.id, "failure", fault, self.host.now())
            await self._undo(fault)
        self.host.store.finish(self.id, ERRORED, self.host.now(), fault=fault)
        self._end()

    def die(self, fault: Fault) -> None:
        """End at once, without a word to the worker's code."""
        self.host.failed(self, fault)
        self.host.store.finish(self.id, ERRORED, self.host.now(), fault=fault)
        self._end()
        self.interrupt()

    def _end(self) -> None:
        self.over = True
        self.host.ended(self)

    # --- undoing ----------------------------------------------------------------------------------------------------

    async def _undo_after_replay(self, cls: type) -> None:
        """Run the code once more, as far as its recorded steps go, so that it registers how to undo them."""
        body = asyncio.get_running_loop().create_task(self._body(cls))
        me = asyncio.current_task()
        await self.replay.exhausted(body, lambda: self.tasks.outside_waits(me))
        self.undoing = True
        body.cancel()
        await asyncio.wait([body])
        if not body.cancelled():
            body.exception()
        terminated = self.instance.rollback == "terminate"
        fault = Fault.from_json(self.instance.error) if self.instance.error else faults.TERMINATED_FAULT
        await self._undo(fault)
        status, kept = (TERMINATED, None) if terminated else (ERRORED, fault)
        self.host.store.finish(self.id, status, self.host.now(), fault=kept)
        self._end()

    async def _undo(self, fault: Fault) -> None:
        self.undoing = True
        self.calls.clear()
        self.attempts.in_flight.clear()
        failed = await roll_back(self, faults.thrown(fault))
        self.host.store.rolled_back(self.id, failed, self.host.now())

    def undo(self, step: Step, config: StepConfig, callback: Callable[[Any], Any]) -> JsPromise:
        """A step of the rollback."""
        recorded = self._recorded.pop((ROLLBACK, step.name, step.nth), None)
        self.only_replays = False
        if recorded is not None:
            return self.attempts.recorded(recorded, config, callback, None)
        position = self._next_position()
        return self.attempts.first(ROLLBACK, step.name, step.nth, position, config, callback, None)

    # --- steps ------------------------------------------------------------------------------------------------------

    def check_alive(self) -> None:
        if self.over:
            raise Interrupted
        if self.undoing:
            raise error("Cannot execute steps during rollback phase")

    def do(
        self, name: str, config: StepConfig, callback: Callable[[Any], Any], compensation: Compensation | None
    ) -> JsPromise:
        self._called += 1
        if self._called > self._step_limit:
            raise error(
                f"The limit of {self._step_limit} steps has been reached. This limit can be changed in your worker "
                "configuration."
            )
        count = self._count(DO, name)
        recorded = self._claim(DO, name, count, callback)
        if recorded is not None:
            return self.attempts.recorded(recorded, config, callback, compensation)
        if self.only_replays:
            return self._never()
        return self._begin(
            lambda: self.attempts.first(DO, name, count, self._next_position(), config, callback, compensation)
        )

    def sleep(self, name: str, until: Callable[[], float]) -> JsPromise:
        """`until()` gives the end of a sleep that begins now; it may raise."""
        count = self._count(SLEEP, name)
        recorded = self._claim(SLEEP, name, count)
        if recorded is not None:
            return self._wait(recorded) if recorded.state == PENDING else JsPromise.resolve(None)
        return self._never() if self.only_replays else self._begin(lambda: self._sleep(name, count, until()))

    def _sleep(self, name: str, count: int, due_at: float) -> JsPromise:
        now, position = self.host.now(), self._next_position()
        id = self.host.store.add_sleep(self.id, name, count, position, due_at, now)
        return self._wait(Step(id, self.id, SLEEP, name, count, position, PENDING, 0, due_at, now, None, None, None, 0))

    def wait_for_event(self, name: str, type: str, timeout_ms: float) -> JsPromise:
        count = self._count(EVENT, name)
        recorded = self._claim(EVENT, name, count)
        if recorded is None:
            return (
                self._never() if self.only_replays else self._begin(lambda: self._listen(name, count, type, timeout_ms))
            )
        if recorded.state == DONE:
            taken = self.host.store.event_of(recorded.id)
            return JsPromise.resolve(None if taken is None else _as_object(type, taken))
        if recorded.state == FAILED:
            return JsPromise.reject(faults.thrown(Fault.from_json(recorded.error or "{}")))
        return self._wait(recorded)

    def _listen(self, name: str, count: int, type: str, timeout_ms: float) -> JsPromise:
        now, position = self.host.now(), self._next_position()
        due_at = now + timeout_ms / 1000
        id, event = self.host.store.add_wait(self.id, name, count, position, type, due_at, now)
        if event is not None:
            return JsPromise.resolve(_as_object(type, event))
        return self._wait(Step(id, self.id, EVENT, name, count, position, PENDING, 0, due_at, now, None, type, None, 0))

    def _wait(self, step: Step) -> JsPromise:
        promise: StepPromise = StepPromise.make(self.tasks.futures)
        if not self.only_replays:
            self.calls[step.id] = Call(step, promise)
            if step.due_at is not None:
                self.host.due(step.due_at)
            self.host.waits(self)
        return promise

    def _begin(self, start: Callable[[], JsPromise]) -> JsPromise:
        """Begin a new step: now, or when a replay has come so far, or when the pause that is about to come is called
        off."""
        promise: StepPromise = StepPromise.make(self.tasks.futures)

        def later() -> None:
            if not self.over and not self.holds(later):
                promise._resolve(start())

        if self.replay.holds(later) or self.holds(later):
            return promise
        return start()

    def _never(self) -> JsPromise:
        promise: StepPromise = StepPromise.make(self.tasks.futures)
        return promise

    def _count(self, kind: str, name: str) -> int:
        count = self._counts[kind, name] = self._counts.get((kind, name), 0) + 1
        return count

    def _claim(self, kind: str, name: str, count: int, callback: Callable[[Any], Any] | None = None) -> Step | None:
        self.replay.called(kind, name, count, callback)
        return self._recorded.pop((kind, name, count), None)

    def _next_position(self) -> int:
        position, self._position = self._position, self._position + 1
        return position

    # --- what comes from outside ------------------------------------------------------------------------------------

    def due(self, step: Step, now: float) -> None:
        """A deadline has come."""
        call = self.calls.get(step.id)
        if call is None or self.over:
            return
        if step.kind == SLEEP:
            self.host.store.wake_up(step, now)
            del self.calls[step.id]
            call.promise._resolve(None)
        elif step.kind == EVENT:
            fault = wait_timed_out(step)
            self.host.store.time_out(step, fault, now)
            del self.calls[step.id]
            call.promise._reject(faults.thrown(fault))
        elif step.state == IN_FLIGHT:
            self.attempts.timed_out(call)
        else:
            self.attempts.again(call)

    def received(self, step: int, event: Event) -> None:
        """A wait has got its event."""
        call = self.calls.pop(step, None)
        if call is not None and not self.over:
            call.promise._resolve(_as_object(call.step.about or "", event))

    def pause(self) -> bool:
        """Begin nothing any more; whether nothing is in flight."""
        self.pausing = True
        return not self.attempts.in_flight

    def resume(self) -> None:
        """The pause is called off before it began."""
        self.pausing = False
        held, self._held = self._held, []
        for start in held:
            start()

    def holds(self, start: Callable[[], None]) -> bool:
        """Whether a pause is about to come, which keeps `start` from beginning now."""
        if self.pausing:
            self._held.append(start)
        return self.pausing

    def moved(self) -> None:
        """Something was settled; a pause that waited for it may begin."""
        if self.pausing and not self.attempts.in_flight and not self.over:
            self.host.store.pause(self.id, self.host.now())
            self._end()
            self.interrupt()
        elif self.calls:
            self.host.waits(self)

    def interrupt(self) -> None:
        """Stop the worker's code where it is."""
        self.over = True
        self.tasks.cancel()
        if self.task is not None:
            self.task.cancel()

    def only_waits(self) -> bool:
        """Whether all it does is to wait for the engine."""
        if not self.calls or self.attempts.in_flight or self.tasks.steps_run:
            return False
        return self.tasks.outside_waits()


def wait_timed_out(step: Step) -> Fault:
    return faults.timed_out(shown(round(((step.due_at or 0.0) - step.started_at) * 1000, 3)))


def _as_object(type: str, event: Event) -> JsObject:
    made: JsObject = JsObject.make(
        {"payload": v8.loads(event.payload), "timestamp": JsDate.make(float(int(event.at * 1000))), "type": type}
    )
    return made
