"""One life of an object, from construction until eviction or reset.

A turn ends when control returns to the loop; what it wrote is then committed at once, and what leaves the object waits
for that. Nothing of an instance that is dead goes on. (workerd io/worker.c++)

What `storage` needs of an instance: `critical_section(body)`, `commit()` before a transaction of its own begins,
`before_commit()` and `after_commit()` around its end, `set_alarm(ms | None)`, `get_alarm()`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import wait
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any

from pyflare.engines.durable_objects.alarms import Alarm
from pyflare.engines.durable_objects.config import BLOCK_CONCURRENCY_SECONDS
from pyflare.engines.durable_objects.gates import Gate, Section, Start, Starts
from pyflare.engines.durable_objects.state import DurableObjectState
from pyflare.engines.durable_objects.store import ConstraintViolation
from pyflare.interop import scope, traces
from pyflare.interop.awaiting import as_future
from pyflare.interop.errors import JsException, error
from pyflare.interop.promise import JsPromise, start
from pyflare.interop.proxy import JsObject
from pyflare.interop.rpc import of_python
from pyflare.interop.web.console import hint
from pyflare.interop.web.websocket import Channel, WebSocket
from pyflare.storage.sql_guard import SqlError

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.actor import Actor

Work = Callable[[Any], Awaitable[Any]]  # gets the user's object

FREED = "Actor freed due to inactivity"
ABORTED = "Application called abort() to reset Durable Object."
BLOCKED_TOO_LONG = (
    "A call to blockConcurrencyWhile() in a Durable Object waited for too long. The call was canceled and the Durable "
    "Object was reset."
)
CONSTRAINTS_VIOLATED = (
    "Durable Object was reset and rolled back to its last known good state because the application left the database "
    "in a state where constraints were violated: "
)
NO_ALARM_HANDLER = "has no alarm() method: the alarm that setAlarm() was called for will find nobody"
MAX_BUSY, BUSY_RETRY_SECONDS = 20, 0.05  # real time: it is another process that is waited for
SDK_ABORT = "Durable Object abort requested"  # what the SDK's DurableObjectAbort says when no reason was given


class Terminated(BaseException):
    """Unwinds code of an object that has just ended itself."""


class Instance:
    """From construction until eviction or reset. `object` is the user's; None until the first event constructs it."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.gate = Gate()
        self.starts = Starts()
        self.object: Any = None
        self.dead = False
        self.events: dict[asyncio.Task[Any], str] = {}
        self.background: set[asyncio.Future[Any]] = set()
        self.faces: dict[Channel, WebSocket] = {}  # what stands for a socket in this life
        self.retry_alarm = True  # False: `abort(…, retryAlarm=False)`
        self.constructing = False
        self.facets: dict[str, Actor] = {}
        self.store = actor.place.store(actor)
        self.store.on_dirty = self._wrote
        self._alarm: Alarm | None = None
        self._syncing: concurrent.futures.Future[None] | None = None  # the commit that a thread is at
        self._busy = 0  # commits in a row that found the file held by another process

    @property
    def idle(self) -> bool:
        if self.events or self.background or not self.gate.idle:
            return False
        return all(facet.instance is None or facet.instance.idle for facet in self.facets.values())

    def rest(self) -> None:
        """Called when something ended: an instance at rest may fall asleep from now on."""
        if not self.events and not self.background and not self.dead:
            self.actor.place.rests(self.actor)

    # --- events ---------------------------------------------------------------------------------------------------

    async def enter(self, work: Work, place_in_line: Start, cls: Any) -> Any:
        """As the object's code, in its scope: wait for its turn, construct the object if need be, do the work."""
        await self.starts.turn(place_in_line)
        await self.gate.passed()
        try:
            if self.object is None:
                self._construct(cls)
                await self.gate.passed()
            self.starts.leave(place_in_line)
            return await work(self.object)
        except SystemExit as raised:  # it would end the server
            raise of_python(raised) from None
        except BaseException as raised:
            reason = abort_reason(raised)
            if reason is not None:  # at once: what this turn wrote must not be committed
                self.actor.break_(error(reason))
            raise

    def _construct(self, cls: Any) -> None:
        running = scope.current.get()
        assert running is not None
        # A section, since a constructor may wait through `run_sync`; what it leaves open takes its place.
        section = self.gate.begin()
        self.constructing = True
        try:
            self.object = section.context_here(cls, DurableObjectState.make(self), running.worker.env)
        except (Exception, SystemExit) as raised:
            self.actor.break_(of_python(raised))
            raise
        finally:
            self.constructing = False
            if not self.dead:
                self.gate.finish(section)

    def wait_until(self, work: Awaitable[Any]) -> None:
        """Background work; the object stays awake for it. A failure is a line."""
        task = as_future(work)
        self.background.add(task)
        task.add_done_callback(self._waited)

    def _waited(self, task: asyncio.Future[Any]) -> None:
        self.background.discard(task)
        if not task.cancelled() and (raised := task.exception()) is not None and not self.dead:
            reason = abort_reason(raised)
            if reason is not None:
                self.actor.break_(error(reason))
            else:
                self.actor.place.log.error(f"Uncaught (in waitUntil)\n{traces.render(raised)}")
        self.rest()

    # --- critical sections ----------------------------------------------------------------------------------------

    def block_concurrency(self, body: Callable[[], Any]) -> JsPromise:
        """`blockConcurrencyWhile`: what it raises resets the object."""
        return self._section(body, self._broken_by)

    def critical_section(self, body: Callable[[], Any]) -> JsPromise:
        """The same, but what it raises is the caller's: for `transaction`."""
        return self._section(body, None)

    def _section(self, body: Callable[[], Any], failed: Callable[[BaseException], None] | None) -> JsPromise:
        section = self.gate.begin()
        deadlines = self.actor.place.deadlines
        section.deadline = deadlines.add(BLOCK_CONCURRENCY_SECONDS, self._blocked_too_long)
        return start(self._in_section(section, body, failed), section.context())

    async def _in_section(
        self, section: Section, body: Callable[[], Any], failed: Callable[[BaseException], None] | None
    ) -> Any:
        try:
            await self.gate.passed()
            result = body()
            return await result if inspect.isawaitable(result) else result
        except BaseException as raised:
            reason = abort_reason(raised)
            if reason is not None:
                self.actor.break_(error(reason))
            elif failed is not None and not self.dead:
                failed(raised)
            raise
        finally:
            self.actor.place.deadlines.discard(section.deadline)
            if not self.dead:
                self.gate.finish(section)

    def _broken_by(self, raised: BaseException) -> None:
        self.actor.break_(of_python(raised))

    def _blocked_too_long(self) -> None:
        self.actor.break_(error(BLOCKED_TOO_LONG))

    # --- for `ctx` ------------------------------------------------------------------------------------------------

    def abort(self, reason: str | None, retry_alarm: bool = True) -> None:
        """`ctx.abort()`: the object is reset; code of its own that called goes no further."""
        if self.dead:
            return
        if not retry_alarm:
            self.retry_alarm = False
        self.actor.break_(error(reason or ABORTED))
        if asyncio.current_task() is not None:
            raise Terminated

    def face(self, channel: Channel) -> WebSocket:
        """The same Python object for the same socket, as long as the instance lives."""
        found = self.faces.get(channel)
        if found is None:
            found = self.faces[channel] = WebSocket.make(channel)
        return found

    def exports(self) -> Any:
        running = scope.current.get()
        return running.worker.loopback() if running is not None else JsObject.make()

    # --- storage --------------------------------------------------------------------------------------------------

    def _wrote(self) -> None:
        """The first write of a turn: its commit follows when control returns to the loop."""
        self.gate.wrote()
        asyncio.get_running_loop().call_soon(self._turn_over, context=Context())

    def commit(self) -> None:
        """Commit what the turn wrote, then let out what waited for it. A failure resets the object."""
        if self._syncing is not None:
            wait([self._syncing])
            self._synced(self._syncing)
        if self.dead or not self.gate.dirty:
            return
        try:
            self.before_commit()
            self.store.commit()
        except Exception as raised:
            self._not_committed(raised)
        else:
            self._committed()

    def _turn_over(self) -> None:
        """The same, in a thread where each commit waits for the disk: other objects go on meanwhile."""
        threads = self.actor.place.threads
        if threads is None:
            self.commit()
        elif not self.dead and self.gate.dirty and self._syncing is None:
            try:
                self.before_commit()
            except Exception as raised:
                self._not_committed(raised)
                return
            self.gate.stop()
            self._syncing = threads.submit(self.store.commit)
            self._syncing.add_done_callback(partial(_tell, asyncio.get_running_loop(), self._synced))

    def _synced(self, syncing: concurrent.futures.Future[None]) -> None:
        if self._syncing is not syncing:
            return
        self._syncing = None
        self.gate.go()
        raised = syncing.exception()
        if isinstance(raised, Exception):
            self._not_committed(raised)
        else:
            self._committed()

    def _committed(self) -> None:
        self._busy = 0
        self.after_commit()
        self.gate.confirm()

    def _not_committed(self, raised: Exception) -> None:
        if not self._commit_again(raised):
            self.actor.break_(_commit_failed(raised))

    def _commit_again(self, raised: Exception) -> bool:
        """Another process holds the file: the writes, and what waits for them, are kept for another try."""
        if not isinstance(raised, SqlError) or not raised.busy or self._busy >= MAX_BUSY:
            return False
        self._busy += 1
        asyncio.get_running_loop().call_later(BUSY_RETRY_SECONDS, self._turn_over, context=Context())
        return True

    def before_commit(self) -> None:
        if self._alarm is not None:
            self._alarm.before_commit()

    def after_commit(self) -> None:
        if self._alarm is not None and self._alarm.after_commit():
            self.actor.place.alarm_changed()

    @property
    def alarm(self) -> Alarm:
        if self._alarm is None:
            actor, index = self.actor, self.actor.place.alarms
            if index is None:
                raise error("A facet has no alarm.")
            self._alarm = Alarm(self.store, index, actor.id, lambda: actor.name)
        return self._alarm

    def get_alarm(self) -> int | None:
        """Milliseconds, or None."""
        return self.alarm.get()

    def set_alarm(self, ms: float | None) -> None:
        """None deletes it. TypeError for a time before 1970. Without a handler it is accepted, as of any class that is
        written in Python: Cloudflare's runtime sees a handler in each of them."""
        if ms is not None and not self.constructing and self.object is not None and not has_alarm(self.object):
            name = self.actor.place.class_name
            hint(f"setAlarm {name}", f"class {name} {NO_ALARM_HANDLER}")
        self.alarm.set(ms, self.actor.place.clock.now())

    # --- the end --------------------------------------------------------------------------------------------------

    def why(self) -> JsException:
        """Why this instance is dead."""
        return again(self.actor.broken) if self.actor.broken is not None else error(FREED)

    def end(self, reason: BaseException) -> None:
        """Nothing of this instance goes on: what is not committed is rolled back, what is in flight is cancelled."""
        self.dead = True
        if self._syncing is not None:
            wait([self._syncing])
            self._syncing = None
        current = asyncio.current_task() if _has_loop() else None
        for task in (*self.events, *self.background):
            if task is not current:
                task.cancel()
        for section in self.gate.sections():
            self.actor.place.deadlines.discard(section.deadline)
        self.gate.die(reason)
        self.faces.clear()
        facets, self.facets = self.facets, {}
        for facet in facets.values():
            facet.break_(error(FREED))
        self.store.close()
        self.gate.drop()


def abort_reason(raised: BaseException) -> str | None:
    """Why the object's code called `abort()`; None when it did not."""
    if type(raised).__name__ != "DurableObjectAbort":
        return None
    said = str(raised)
    return ABORTED if said == SDK_ABORT else said


def has_alarm(target: Any) -> bool:
    return callable(getattr(target, "alarm", None)) or callable(getattr(target, "on_alarm", None))


def again(reason: JsException) -> JsException:
    """Each caller gets an exception of its own: raising one twice would mix up tracebacks."""
    made: JsException = JsException.make(reason.message, reason.name)
    made.__dict__["durableObjectReset"] = True
    return made


def _commit_failed(raised: Exception) -> JsException:
    if isinstance(raised, ConstraintViolation):
        return error(f"{CONSTRAINTS_VIOLATED}{raised}")
    return error(f"Durable Object storage operation failed and the object was reset: {raised}")


def _tell(
    loop: asyncio.AbstractEventLoop,
    synced: Callable[[concurrent.futures.Future[None]], None],
    syncing: concurrent.futures.Future[None],
) -> None:
    """From the thread to the loop, which may have ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(synced, syncing, context=Context())


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
