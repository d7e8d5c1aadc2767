"""Event, its kinds, and EventTarget."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, ClassVar

from pyflare.interop import scope
from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import dom_exception, type_error
from pyflare.interop.promise import start
from pyflare.interop.proxy import JsProxy, get, is_nullish, jsnull, options
from pyflare.interop.web.callback import is_function, when_failed
from pyflare.interop.web.console import report

ALL_HEAR = "spec_compliant_dispatch_exceptions"


class Event(JsProxy):
    js_name: ClassVar[str] = "Event"
    NONE, CAPTURING_PHASE, AT_TARGET, BUBBLING_PHASE = 0, 1, 2, 3
    isTrusted = True  # when the runtime made it; those of JavaScript are not
    composed = False

    def __init__(self, type: str, cancelable: bool = False, bubbles: bool = False) -> None:
        self.type, self.cancelable, self.bubbles = type, cancelable, bubbles
        self.defaultPrevented = self.cancelBubble = False
        self.target: Any = None
        self.currentTarget: Any = None
        self.eventPhase = self.NONE
        self.timeStamp = 0
        self._stopped = self._prevented = False
        self._passive = False  # while a listener runs that promised not to cancel

    @classmethod
    def construct(cls, type: Any = None, settings: Any = None) -> Event:
        event: Event = cls.make(to_text(type))
        event.isTrusted = False
        event.cancelable = bool(get(settings, "cancelable", False))
        event.bubbles = bool(get(settings, "bubbles", False))
        event.composed = bool(get(settings, "composed", False))
        event._init(settings)
        return event

    def _init(self, settings: Any) -> None:
        """The options that only a kind of event has."""

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def returnValue(self) -> bool:
        return not self.defaultPrevented

    @property
    def srcElement(self) -> Any:
        return self.target

    def preventDefault(self) -> None:
        if self._passive:
            return
        self._prevented = True
        self.defaultPrevented = self.cancelable

    def stopPropagation(self) -> None:
        self.cancelBubble = True

    def stopImmediatePropagation(self) -> None:
        self._stopped = self.cancelBubble = True

    def composedPath(self) -> Any:
        return JsArray.make([] if self.eventPhase == self.NONE else [self.currentTarget])


class CustomEvent(Event):
    js_name: ClassVar[str] = "CustomEvent"
    detail: Any = None

    def _init(self, settings: Any) -> None:
        self.detail = get(settings, "detail")


class MessageEvent(Event):
    js_name: ClassVar[str] = "MessageEvent"
    origin: Any = jsnull  # of a WebSocket's
    lastEventId = ""
    source: Any = jsnull
    data: Any = None

    def _init(self, settings: Any) -> None:
        self.data = get(settings, "data", jsnull)
        self.origin, self.lastEventId = (to_text(get(settings, name, "")) for name in ("origin", "lastEventId"))

    @property
    def ports(self) -> Any:
        return JsArray.make([])

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
        self.message, self.filename = (to_text(get(settings, name, "")) for name in ("message", "filename"))
        self.lineno, self.colno = (int(get(settings, name, 0)) for name in ("lineno", "colno"))
        self.error = get(settings, "error")

    @classmethod
    def of(cls, error: Any) -> ErrorEvent:
        event: ErrorEvent = cls.make("error")
        event.error, event.message = error, str(getattr(error, "message", error))
        return event


class Listener:
    __slots__ = ("callback", "once", "passive", "removed")

    def __init__(self, callback: Any, once: bool = False, passive: bool = False) -> None:
        self.callback, self.once, self.passive, self.removed = callback, once, passive, False


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
                "Failed to execute 'addEventListener' on 'EventTarget': parameter 2 is not of type 'function or "
                "HandlerObject'."
            )
        _never_captures("addEventListener", settings)
        known = self._listeners.setdefault(to_text(type), [])
        if any(_same(listener.callback, callback) for listener in known):
            return
        known.append(Listener(callback, *(bool(get(settings, name, False)) for name in ("once", "passive"))))
        signal = get(settings, "signal")
        if not is_nullish(signal):
            signal.when_aborted(lambda _: self.removeEventListener(type, callback))

    @options
    def removeEventListener(self, type: Any, callback: Any, settings: Any = None) -> None:
        _never_captures("removeEventListener", settings)
        known = self._listeners.get(to_text(type), [])
        for listener in known:
            listener.removed = listener.removed or _same(listener.callback, callback)
        known[:] = [listener for listener in known if not listener.removed]

    def dispatchEvent(self, event: Event) -> bool:
        """Call the listeners at once; False when one of them prevented the default, also of an event that cannot be
        cancelled, as recorded."""
        if not isinstance(event, Event):
            raise type_error("Failed to execute 'dispatchEvent' on 'EventTarget': parameter 1 is not of type 'Event'.")
        if event.eventPhase != Event.NONE:
            raise dom_exception("The event is already being dispatched.", "InvalidStateError")
        self._tell(event)
        return not event._prevented

    def _tell(self, event: Event) -> None:
        """Dispatch; the exception of a listener is raised or, since 2026-09-15, reported."""
        try:
            self._dispatch(event)
        except Exception as raised:
            if not scope.enabled(ALL_HEAR):
                raise
            report(raised)

    def _dispatch(self, event: Event) -> None:
        """Call the handler property, then the listeners. The first exception is raised: at once, or since 2026-09-15
        when all have heard."""
        event.target = event.currentTarget = self
        event.eventPhase = Event.AT_TARGET
        failure: Exception | None = None
        try:
            for callback in self._callbacks(event):
                if event._stopped:
                    break
                try:
                    _start(callback(event))
                except Exception as raised:
                    if not scope.enabled(ALL_HEAR):
                        raise
                    if failure is not None:
                        report(raised)
                    failure = failure or raised
        finally:
            event.eventPhase = Event.NONE
            event._passive = False
        if failure is not None:
            raise failure

    def _callbacks(self, event: Event) -> Iterator[Any]:
        handler = self.__dict__.get("on" + event.type)
        if is_function(handler):
            yield handler
        for listener in list(self._listeners.get(event.type, [])):
            if listener.removed:
                continue
            if listener.once:
                self.removeEventListener(event.type, listener.callback)
            event._passive = listener.passive
            yield listener.callback if is_function(listener.callback) else listener.callback.handleEvent


def _never_captures(method: str, settings: Any) -> None:
    """TypeError for what only documents know: phases."""
    if isinstance(settings, (bool, int, float, str)):
        if settings:
            raise type_error(f"{method}(): useCapture must be false.")
        return
    if get(settings, "capture", False):
        raise type_error(f"{method}(): options.capture must be false.")


def _start(result: Any) -> None:
    """An async listener goes on by itself; what it raises is reported."""
    if inspect.isawaitable(result):
        promise = start(_wait(result))
        when_failed(promise, report)


async def _wait(result: Any) -> Any:
    return await result


def _same(one: Any, other: Any) -> bool:
    return one is other or unwrap(one) == unwrap(other)
