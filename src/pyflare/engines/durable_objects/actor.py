"""One object: what outlives its instances.

Events start in the order in which they come and may overlap at real awaits. An object that is broken (`abort`, a failed
constructor, `blockConcurrencyWhile` that raises, a commit that fails) is forgotten together with its sockets: whoever
held a stub to it sees the error for ever, the next stub reaches a new one.
(workerd server/server.c++ ActorContainer)
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from pyflare.engines.durable_objects.gates import Start
from pyflare.engines.durable_objects.instance import FREED, Instance, Work, again
from pyflare.engines.durable_objects.sockets import Sockets
from pyflare.interop.errors import JsException, error
from pyflare.worker.event import Enter, Event

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.place import Place


class Actor:
    """One object of a class, awake or not."""

    __slots__ = ("broken", "coming", "facet_path", "id", "instance", "name", "place", "retired", "sockets")

    def __init__(self, place: Place, id: str, name: str | None, facet_path: tuple[str, ...] = ()) -> None:
        self.place = place
        self.id = id
        self.name = name
        self.facet_path = facet_path  # names from the root down; empty for an object of a namespace
        self.instance: Instance | None = None
        self.sockets = Sockets(self)
        self.broken: JsException | None = None
        self.coming = 0  # events on their way: worth waiting for with a commit
        self.retired = False  # forgotten while asleep: stubs look it up again

    @property
    def label(self) -> str:
        """For messages: `Room(lobby)`."""
        return f"{self.place.class_name}({self.name or self.id[:8]})"

    async def run(self, work: Work, what: str, about: Event | None = None) -> Any:
        """Deliver an event, in a task of its own; what `work` gives, after the writes of that turn are committed.
        `about` is what those who tail the worker are told of it."""
        if self.coming:
            self.coming -= 1
        if self.broken is not None:
            raise again(self.broken)
        instance = self.instance or self.awake()
        task = asyncio.current_task()
        assert task is not None
        instance.events[task] = what
        place_in_line = instance.starts.join()
        self.place.wakes(self)
        try:
            return await self._deliver(instance, work, what, place_in_line, about)
        except BaseException as raised:
            seen = self._seen(instance, raised, task)
            if seen is raised:
                raise
            raise seen from None
        finally:
            del instance.events[task]
            instance.starts.leave(place_in_line)
            instance.rest()

    async def _deliver(
        self, instance: Instance, work: Work, what: str, place_in_line: Start, about: Event | None
    ) -> Any:
        place = self.place
        event = Enter(
            place.class_name,
            partial(instance.enter, work, place_in_line),
            instance.gate,
            f"{place.class_name}.{what}",
            instance.wait_until,
            counts=False,
            about=about,
        )
        try:
            return await place.dispatch(place.worker, event)
        finally:
            if instance.gate.dirty:
                await self._confirm(instance)

    async def _confirm(self, instance: Instance) -> None:
        """Wait for the commit of what is written, which other events may share; one that is alone commits at once."""
        if not self.coming and len(instance.events) == 1 and self.place.threads is None:
            instance.commit()
        confirmed = instance.gate.unconfirmed()
        if confirmed is not None:
            await asyncio.shield(confirmed)
        elif instance.dead:
            raise instance.why()

    def _seen(self, instance: Instance, raised: BaseException, task: asyncio.Task[Any]) -> BaseException:
        """What the caller sees of what the event raised."""
        if not instance.dead:
            return raised
        if task.cancelling():
            task.uncancel()
        return instance.why()

    def awake(self) -> Instance:
        self.instance = Instance(self)
        return self.instance

    def break_(self, reason: JsException) -> None:
        """Forget this object: roll back, fail what is in flight, drop its sockets."""
        if self.broken is not None:
            return
        reason.__dict__["durableObjectReset"] = True
        self.broken = reason
        self.place.forget(self)
        instance, self.instance = self.instance, None
        if instance is not None:
            instance.end(reason)
        self.sockets.drop()

    def sleep(self, force: bool = False) -> bool:
        """Drop the instance, keep the sockets of `acceptWebSocket`; False when it is at work."""
        instance = self.instance
        if instance is None:
            return True
        if not force and not instance.idle:
            return False
        instance.commit()
        if self.broken is not None:  # the commit failed
            return True
        if instance.gate.dirty and not force:  # it is tried again
            return False
        self.instance = None
        instance.end(error(FREED))
        self.place.sleeps(self)
        return True
