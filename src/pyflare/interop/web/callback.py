"""Functions that the user hands over and that are called later: stream sources, listeners, timers, handlers.

Such a function belongs to the event in which it was handed over. Whoever needs its answer (the front that sends a body,
another worker that reads one) must not enter it from a step of its own; `Callback.start` runs it as a task of the event
it belongs to.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from pyflare.interop.convert import unwrap
from pyflare.interop.errors import type_error
from pyflare.interop.promise import FULFILLED, PENDING, REJECTED, JsPromise, start
from pyflare.interop.proxy import is_nullish


class Callback:
    """A function of the user's and its event."""

    __slots__ = ("_context", "_function")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._context = copy_context()

    def start(self, *args: Any) -> JsPromise:
        """Call it as a task of its own; a promise of what it gives, awaited if need be."""
        return start(call(self._function, args), self._context.copy())


def begin(start_member: Callable[..., Any] | None, controller: Any) -> JsPromise | None:
    """The `start` of a stream's members: it runs within the constructor; what it raises breaks the stream."""
    try:
        result = None if start_member is None else start_member(controller)
    except Exception as raised:
        return JsPromise.reject(raised)
    return JsPromise.resolve(result) if inspect.isawaitable(result) else None


async def call(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call a function that may be async."""
    result = function(*args)
    return await result if inspect.isawaitable(result) else result


def is_function(value: Any) -> bool:
    """Whether JavaScript can call `value`; a proxy can be called when its object can."""
    return callable(unwrap(value))


def member(holder: Any, name: str) -> Callable[..., Any] | None:
    """The callable property `name` of an object that the user made, in JavaScript's or in Python's way."""
    if is_nullish(holder):
        return None
    found = holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)
    return found if is_function(found) else None


def fulfil(promise: JsPromise, value: Any = None) -> None:
    """Settle a promise of ours with a value that is no promise; nothing when it is settled already."""
    if promise._state is PENDING:
        promise._settle(FULFILLED, value)


def when_failed(promise: JsPromise | None, then: Callable[[Any], None]) -> None:
    """Call `then(reason)` if `promise` is rejected."""
    if promise is not None:
        promise._when_settled(lambda: None if promise._state is not REJECTED else then(reason_of(promise)))


def settled(promise: JsPromise | None, then: Callable[[Any], None]) -> None:
    """Call `then(reason)` when `promise` is rejected, `then(None)` when it is fulfilled (or there is none)."""
    if promise is None:
        then(None)
        return
    promise._when_settled(lambda: then(reason_of(promise)))


def reason_of(promise: JsPromise) -> Any:
    """Why a settled promise was rejected; None when it was not."""
    if promise._state is not REJECTED:
        return None
    return type_error("undefined") if promise._value is None else promise._value
