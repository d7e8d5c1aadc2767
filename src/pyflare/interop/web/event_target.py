"""Event, its kinds, and EventTarget."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from pyflare.interop.containers import to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import dom_exception, type_error
from pyflare.interop.promise import start
from pyflare.interop.proxy import JsProxy, get, is_nullish, jsnull, options
from pyflare.interop.web.callback import is_function, when_failed
from pyflare.interop.web.console import report


class Event(JsProxy):
    js_name: ClassVar[str] = "Event"
    NONE, CAPTURING_PHASE, AT_TARGET, BUBBLING_PHASE = 0, 1, 2, 3
    isTrusted = False
    composed = False

    def __init__(self, type: str, cancelable: bool = False, bubbles: bool = False) -> None:
        self.type, self.cancelable, self.bubbles = type, cancelable, bubbles
        self.defaultPrevented = self.cancelBubble = False
        self.target: Any = None
        self.currentTarget: Any = None
        self.eventPhase = self.NONE
        self.timeStamp = 0
        self._stopped = False

    @classmethod
    def construct(cls, type: Any = None, settings: Any = None) -> Event:
        event: Event = cls.make(to_text(type))
        event.cancelable = bool(get(settings, "cancelable", False))
        event.bubbles = bool(get(settings, "bubbles", False))
        event.composed = bool(get(settings, "composed", False))
        event._init(settings)
        return event

    def _init(self, settings: Any) -> None:
        """The options that only a kind of event has."""

    def js_properties(self) -> dict[str, Any]:
        return {"isTrusted": self.isTrusted}

    @property
    def returnValue(self) -> bool:
        return not self.defaultPrevented

    @property
    def srcElement(self) -> Any:
        return self.target

    def preventDefault(self) -> None:
        self.defaultPrevented = self.defaultPrevented or self.cancelable

    def stopPropagation(self) -> None:
        self.cancelBubble = True

    def stopImmediatePropagation(self) -> None:
        self._stopped = self.cancelBubble = True

    def composedPath(self) -> Any:
        from pyflare.interop.containers import JsArray  # noqa: PLC0415  (one method needs it)

        return JsArray.make([] if self.currentTarget is None else [self.currentTarget])


class CustomEvent(Event):
    js_name: ClassVar[str] = "CustomEvent"
    detail: Any = jsnull

    def _init(self, settings: Any) -> None:
        self.detail = get(settings, "detail", jsnull)


class MessageEvent(Event):
    js_name: ClassVar[str] = "MessageEvent"
    origin: Any = jsnull
    lastEventId = ""
    source: Any = jsnull
    data: Any = None

    def _init(self, settings: Any) -> None:
        self.data = get(settings, "data")

    @classmethod
    def of(cls, data: Any) -> MessageEvent:
        event: MessageEvent = cls.make("message")
        event.data = data
        return event


class CloseEvent(Event):
    js_name: ClassVar[str] = "CloseEvent"
    code = 0
    reason = ""
    wasClean = False

    def _init(self, settings: Any) -> None:
        self.code = int(get(settings, "code", 0))
        self.reason = to_text(get(settings, "reason", ""))
        self.wasClean = bool(get(settings, "wasClean", False))

    @classmethod
    def of(cls, code: int, reason: str, was_clean: bool) -> CloseEvent:
        event: CloseEvent = cls.make("close")
        event.code, event.reason, event.wasClean = code, reason, was_clean
        return event


class ErrorEvent(Event):
    js_name: ClassVar[str] = "ErrorEvent"
    message = ""
    filename = ""
    lineno = colno = 0
    error: Any = None

    def _init(self, settings: Any) -> None:
        self.message = to_text(get(settings, "message", ""))
        self.error = get(settings, "error")

    @classmethod
    def of(cls, error: Any) -> ErrorEvent:
        event: ErrorEvent = cls.make("error")
        event.error, event.message = error, str(getattr(error, "message", error))
        return event


class Listener:
    __slots__ = ("callback", "once", "removed")

    def __init__(self, callback: Any, once: bool) -> None:
        self.callback, self.once, self.removed = callback, once, False


class EventTarget(JsProxy):
    js_name: ClassVar[str] = "EventTarget"

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {}

    @classmethod
    def construct(cls, *_: Any) -> EventTarget:
        return cls.make()

    def js_properties(self) -> dict[str, Any]:
        return {}

    @options
    def addEventListener(self, type: Any, callback: Any, settings: Any = None) -> None:
        if is_nullish(callback):
            return
        if not is_function(callback) and not is_function(getattr(callback, "handleEvent", None)):
            raise type_error(
                f"Failed to execute 'addEventListener' on '{self.constructor.js_name}': parameter 2 is not of type "
                "'EventListener'."
            )
        known = self._listeners.setdefault(to_text(type), [])
        if any(_same(listener.callback, callback) for listener in known):
            return
        once = bool(get(settings, "once", False)) if not isinstance(settings, bool) else False
        listener = Listener(callback, once)
        known.append(listener)
        signal: Any = None if isinstance(settings, bool) else get(settings, "signal")
        if not is_nullish(signal):
            signal.when_aborted(lambda _: self.removeEventListener(type, callback))

    def removeEventListener(self, type: Any, callback: Any, _settings: Any = None) -> None:
        known = self._listeners.get(to_text(type), [])
        for listener in known:
            listener.removed = listener.removed or _same(listener.callback, callback)
        known[:] = [listener for listener in known if not listener.removed]

    def dispatchEvent(self, event: Event) -> bool:
        """Call the listeners at once; False when one of them prevented the default. The first exception is raised."""
        if not isinstance(event, Event):
            raise type_error("Failed to execute 'dispatchEvent' on 'EventTarget': parameter 1 is not of type 'Event'.")
        if event.eventPhase != Event.NONE:
            raise dom_exception("The event is already being dispatched.", "InvalidStateError")
        raised = self._dispatch(event)
        if raised:
            raise raised[0]
        return not event.defaultPrevented

    def _dispatch(self, event: Event) -> list[Exception]:
        """Call the listeners and the handler property; their exceptions."""
        event.target = event.currentTarget = self
        event.eventPhase = Event.AT_TARGET
        raised: list[Exception] = []
        for callback in self._callbacks(event):
            if event._stopped:
                break
            try:
                _start(callback(event))
            except Exception as fault:
                raised.append(fault)
        event.eventPhase, event.currentTarget = Event.NONE, None
        return raised

    def _callbacks(self, event: Event) -> list[Callable[[Event], Any]]:
        known = self._listeners.get(event.type, [])
        found = [listener.callback for listener in known]
        known[:] = [listener for listener in known if not listener.once]
        # Listeners are remembered with the handler property in the place it was set; ours comes last.
        handler = self.__dict__.get("on" + event.type)
        if is_function(handler):
            found.append(handler)
        return [callback if is_function(callback) else callback.handleEvent for callback in found]


def _start(result: Any) -> None:
    """An async listener goes on by itself; what it raises is reported."""
    if inspect.isawaitable(result):
        promise = start(_wait(result))
        when_failed(promise, report)


async def _wait(result: Any) -> Any:
    return await result


def _same(one: Any, other: Any) -> bool:
    return one is other or unwrap(one) == unwrap(other)
