"""Promise, and how a binding's method makes one.

    return perform(store.put, key, value)      # never suspends: done in the call (held by a Durable Object's gate)
    return start(self._fetch(request))         # a coroutine: becomes a task of its own at once

A promise can be awaited many times, and a cancelled waiter does not cancel it. Arguments must be copied and checked
before either is called: a call is fixed at the moment it is made. Rejections keep the exception they were given, so a
Python exception that travels through a promise comes back with its own type.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextvars import Context, copy_context
from typing import Any, ClassVar

from pyflare.interop import scope
from pyflare.interop.awaiting import value_of
from pyflare.interop.errors import AggregateError, error
from pyflare.interop.global_scope import check_not_global
from pyflare.interop.proxy import JsObject, JsProxy

PENDING, FULFILLED, REJECTED = "pending", "fulfilled", "rejected"


class JsPromise(JsProxy):
    js_name: ClassVar[str] = "Promise"

    def __init__(self) -> None:
        self._state = PENDING
        self._value: Any = None
        self._waiters: list[Callable[[], None]] = []
        self._task: asyncio.Task[Any] | None = None  # held here, since the loop holds tasks only weakly

    @classmethod
    def construct(cls, executor: Callable[..., Any]) -> JsPromise:
        promise: JsPromise = cls.make()
        try:
            executor(promise._resolve, promise._reject)
        except Exception as raised:
            promise._reject(raised)
        return promise

    # --- settling -------------------------------------------------------------------------------------------------

    def _resolve(self, value: Any = None) -> None:
        if self._state is not PENDING:
            return
        if isinstance(value, JsPromise):
            value._when_settled(lambda: self._follow(value))
        elif inspect.isawaitable(value):
            start(value_of(value))._when_settled_into(self)
        else:
            self._settle(FULFILLED, value)

    def _reject(self, reason: Any = None) -> None:
        if self._state is PENDING:
            self._settle(REJECTED, reason)

    def _settle(self, state: str, value: Any) -> None:
        self._state, self._value = state, value
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter()

    def _follow(self, other: JsPromise) -> None:
        if self._state is PENDING:
            self._settle(other._state, other._value)

    def _when_settled(self, callback: Callable[[], None]) -> None:
        if self._state is PENDING:
            self._waiters.append(callback)
        else:
            callback()

    def _when_settled_into(self, other: JsPromise) -> None:
        self._when_settled(lambda: other._follow(self))

    @property
    def settled(self) -> bool:
        return self._state is not PENDING

    # --- for Python -----------------------------------------------------------------------------------------------

    def result(self) -> Any:
        """The value of a settled promise; raises its reason."""
        if self._state is FULFILLED:
            return self._value
        raise as_exception(self._value)

    def __await__(self) -> Generator[Any, None, Any]:
        if self._state is PENDING:
            future = asyncio.get_running_loop().create_future()

            def wake() -> None:
                if not future.done():
                    future.set_result(None)

            self._waiters.append(wake)
            yield from future.__await__()
        return self.result()

    # --- for JavaScript -------------------------------------------------------------------------------------------

    def then(
        self, on_fulfilled: Callable[[Any], Any] | None = None, on_rejected: Callable[[Any], Any] | None = None
    ) -> JsPromise:
        answer: JsPromise = JsPromise.make()

        def react() -> None:
            callback = on_fulfilled if self._state is FULFILLED else on_rejected
            if not callable(callback):
                answer._follow(self)
                return
            try:
                answer._resolve(callback(self._value))
            except Exception as raised:
                answer._reject(raised)

        # Whoever settles the promise may be another event; the reaction belongs to the one that asked for it.
        loop, context = asyncio.get_running_loop(), copy_context()
        self._when_settled(lambda: void(loop.call_soon(react, context=context)))
        return answer

    def catch(self, on_rejected: Callable[[Any], Any] | None = None) -> JsPromise:
        return self.then(None, on_rejected)

    def finally_(self, on_finally: Callable[[], Any]) -> JsPromise:
        def fulfilled(value: Any) -> Any:
            outcome = on_finally()
            return outcome.then(lambda _: value) if isinstance(outcome, JsPromise) else value

        def rejected(reason: Any) -> Any:
            on_finally()
            return JsPromise.reject(reason)

        return self.then(fulfilled, rejected)

    @classmethod
    def resolve(cls, value: Any = None) -> JsPromise:
        if isinstance(value, JsPromise):
            return value
        promise: JsPromise = cls.make()
        promise._resolve(value)
        return promise

    @classmethod
    def reject(cls, reason: Any = None) -> JsPromise:
        promise: JsPromise = cls.make()
        promise._reject(reason)
        return promise

    @classmethod
    def all(cls, values: Iterable[Any]) -> JsPromise:
        async def gather() -> Any:
            from pyflare.interop.containers import JsArray  # noqa: PLC0415  (arrays know promises)

            return JsArray.make([await promise for promise in promises])

        promises = [cls.resolve(value) for value in values]
        return start(gather())

    @classmethod
    def allSettled(cls, values: Iterable[Any]) -> JsPromise:
        async def settle(promise: JsPromise) -> Any:
            try:
                return JsObject.make({"status": FULFILLED, "value": await promise})
            except Exception as reason:
                return JsObject.make({"status": REJECTED, "reason": reason})

        return cls.all([start(settle(cls.resolve(value))) for value in values])

    @classmethod
    def race(cls, values: Iterable[Any]) -> JsPromise:
        answer: JsPromise = cls.make()
        for value in values:
            cls.resolve(value)._when_settled_into(answer)
        return answer

    @classmethod
    def any(cls, values: Iterable[Any]) -> JsPromise:
        async def first() -> Any:
            for done in asyncio.as_completed([value_of(promise) for promise in promises]):
                try:
                    return await done
                except Exception:
                    continue
            raise AggregateError.new([promise._value for promise in promises], "All promises were rejected")

        promises = [cls.resolve(value) for value in values]
        return start(first())


def void(_: object) -> None:
    """JavaScript's `void`: the value does not matter."""


def as_exception(reason: Any) -> BaseException:
    """What Python raises for a rejection with `reason`, which need not be an Error."""
    if isinstance(reason, BaseException):
        return reason
    return error("" if reason is None else str(reason))


def start(work: Coroutine[Any, Any, Any], context: Context | None = None) -> JsPromise:
    """A promise of a coroutine of ours (or of the user's), which runs as a task of its own from now on.

    `context`: of the event that the work belongs to, where that is not the one that runs now.
    """
    promise: JsPromise = JsPromise.make()
    task = asyncio.get_running_loop().create_task(work, context=context)

    def done(task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            promise._reject(error("The operation was cancelled", "AbortError"))
        elif (raised := task.exception()) is not None:
            promise._reject(raised)
        else:
            promise._settle(FULFILLED, task.result())

    task.add_done_callback(done)
    promise._task = task
    return promise


def perform(call: Callable[..., Any], *args: Any) -> JsPromise:
    """A promise of `call(*args)`, which does not suspend: it is settled when this returns.

    Inside a Durable Object that has unconfirmed writes the call leaves after their commit. In the global scope of a
    worker it is refused.
    """
    running = scope.current.get()
    if running is not None:
        if running.global_scope:
            return inside(check_not_global)
        confirmed = running.gate.unconfirmed() if running.gate is not None else None
        if confirmed is not None:
            return start(_after(confirmed, call, args))
    return inside(call, *args)


def inside(call: Callable[..., Any], *args: Any) -> JsPromise:
    """Like `perform`, for calls that stay within the object (its own storage): no gate holds them."""
    promise: JsPromise = JsPromise.make()
    try:
        promise._settle(FULFILLED, call(*args))
    except Exception as raised:
        promise._settle(REJECTED, raised)
    return promise


async def confirmed() -> None:
    """Wait until what this turn wrote is committed; the first await of every outbound coroutine."""
    running = scope.current.get()
    if running is not None and running.gate is not None:
        pending = running.gate.unconfirmed()
        if pending is not None:
            await asyncio.shield(pending)


async def after(pending: asyncio.Future[None], work: Coroutine[Any, Any, Any]) -> Any:
    """`work`, when the writes that `pending` stands for are committed; never begun when that fails."""
    try:
        await asyncio.shield(pending)
    except BaseException:
        work.close()
        raise
    return await work


async def _after(confirmed: asyncio.Future[None], call: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    await asyncio.shield(confirmed)
    return call(*args)
