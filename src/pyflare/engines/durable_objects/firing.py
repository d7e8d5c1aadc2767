"""Alarms that are due: which object runs its handler, and what its failure leads to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pyflare.engines.durable_objects.actor import Actor
from pyflare.engines.durable_objects.alarms import NS_PER_MS, NS_PER_SECOND
from pyflare.engines.durable_objects.config import ALARM_RETRIES, ALARM_WALL_SECONDS
from pyflare.engines.durable_objects.handlers import call, handler
from pyflare.engines.durable_objects.instance import Instance
from pyflare.interop import traces
from pyflare.interop.errors import JsException, error
from pyflare.interop.proxy import JsObject
from pyflare.worker.event import Handler

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.engine import DurableObjects
    from pyflare.engines.durable_objects.namespace import Namespace

NO_HANDLER = "Attempted to run a scheduled alarm without a handler, did you remember to export an alarm() function?"
TOO_LONG = "Alarm exceeded its allowed execution time"


class Firing:
    """`running` maps the ids of objects whose alarm is in flight to its task."""

    def __init__(self, engine: DurableObjects) -> None:
        self._engine = engine
        self._ctx = engine._ctx
        self._paused = False
        self.running: dict[str, asyncio.Task[Any]] = {}

    def next_due(self) -> float | None:
        if self._paused:
            return None
        dues = [namespace.alarms.next_due() for namespace in self._engine.namespaces if self._can_run(namespace)]
        return min((due for due in dues if due is not None), default=None)

    def run_due(self, now: float) -> None:
        if self._paused:
            return
        for namespace in self._engine.namespaces:
            if self._can_run(namespace):
                for id in namespace.alarms.take_due(now):
                    self.start(namespace, id)

    def start(self, namespace: Namespace, id: str, early: bool = False) -> None:
        """Run an alarm, unless it runs: then it is asked again when that run is over."""
        if id not in self.running:
            self.running[id] = self._ctx.spawn(self._fire(namespace, id, early))

    async def pause(self) -> None:
        self._paused = True
        tasks = list(self.running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _can_run(self, namespace: Namespace) -> bool:
        return namespace.worker in self._ctx.workers()

    async def _fire(self, namespace: Namespace, id: str, early: bool) -> None:
        try:
            await self._run(namespace, namespace.actor(id, None), early)
        finally:
            del self.running[id]
            namespace.alarms.again(id)
            namespace.alarm_changed()

    async def _run(self, namespace: Namespace, actor: Actor, early: bool) -> None:
        instance = actor.instance or actor.awake()
        await instance.gate.passed()
        now = self._ctx.clock.now()
        scheduled = instance.store.get_alarm() if early else instance.alarm.due(now)
        if scheduled is None:
            instance.rest()
            return
        retry = namespace.alarms.retry(actor.id)
        counted = retry.attempts if retry is not None else 0
        info = JsObject.make({"isRetry": counted > 0, "retryCount": counted, "scheduledTime": scheduled // NS_PER_MS})
        run = _AlarmRun(instance, info, scheduled)
        deadline = namespace.deadlines.add(ALARM_WALL_SECONDS, lambda: actor.break_(error(TOO_LONG)))
        try:
            await actor.run(run.work, "alarm", Handler("alarm", scheduled // NS_PER_MS))
        except asyncio.CancelledError:
            raise
        except BaseException as raised:
            if not instance.dead:
                await instance.gate.passed()
            self._failed(namespace, actor, run, raised)
        finally:
            namespace.deadlines.discard(deadline)

    def _failed(self, namespace: Namespace, actor: Actor, run: _AlarmRun, raised: BaseException) -> None:
        instance = run.instance
        name = f"{actor.label}.alarm"
        if instance.dead:  # the object was reset: its file says what is left of the alarm
            if not instance.retry_alarm:
                _give_up(namespace, actor)
                return
            fresh = namespace.actor(actor.id, actor.name)
            instance = fresh.instance or fresh.awake()
            if instance.store.get_alarm() == run.scheduled:
                instance.alarm.begins()
        retry = instance.alarm.failed(self._ctx.clock.now(), self._engine.random, run.began or not run.reached)
        shown = traces.render(raised) if not isinstance(raised, JsException) else str(raised)
        self._ctx.log.error(f"Uncaught (in {name})\n{shown}")
        if retry is not None:
            seconds = retry.due_ns / NS_PER_SECOND - self._ctx.clock.now()
            self._ctx.log.info(f"{name} failed; retry {retry.attempts} of {ALARM_RETRIES} in {seconds:.1f} s")
        elif instance.store.get_alarm() is None:
            self._ctx.log.warn(f"{name} is given up")
        instance.rest()


class _AlarmRun:
    """One run of a handler. `reached`: the object was there; `began`: the handler was called."""

    def __init__(self, instance: Instance, info: JsObject, scheduled: int) -> None:
        self.instance, self.info, self.scheduled = instance, info, scheduled
        self.reached = self.began = False

    async def work(self, target: Any) -> None:
        instance = self.instance
        self.reached = True
        function = handler(target, "alarm")
        if function is None:
            instance.actor.place.log.warn(f"{instance.actor.label}: {NO_HANDLER}")
            instance.alarm.gone()
            return
        instance.alarm.begins()
        self.began = True
        await call(target, "alarm", function, (self.info,))
        instance.alarm.succeeded()


def _give_up(namespace: Namespace, actor: Actor) -> None:
    fresh = namespace.actor(actor.id, actor.name)
    instance = fresh.instance or fresh.awake()
    instance.alarm.gone()
    instance.rest()
