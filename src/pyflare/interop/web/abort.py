"""AbortController and AbortSignal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from pyflare.interop.errors import JsException, dom_exception, type_error
from pyflare.interop.promise import as_exception
from pyflare.interop.proxy import JsProxy, jsnull
from pyflare.interop.web.callback import is_function
from pyflare.interop.web.event_target import Event, EventTarget, Listener


def abort_error() -> JsException:
    return dom_exception("The operation was aborted", "AbortError")


class AbortSignal(EventTarget):
    js_name: ClassVar[str] = "AbortSignal"

    def __init__(self) -> None:
        super().__init__()
        self._handler: Any = jsnull
        self._handles: Listener | None = None
        self._aborted = False
        self._reason: Any = None
        self._waiting: list[Callable[[Any], Any]] = []
        self._sources: list[AbortSignal] = []

    @classmethod
    def construct(cls, *_: Any) -> AbortSignal:
        raise type_error("Illegal constructor")

    @classmethod
    def abort(cls, reason: Any = None) -> AbortSignal:
        signal: AbortSignal = cls.make()
        signal._abort(reason)
        return signal

    @classmethod
    def timeout(cls, delay: Any) -> AbortSignal:
        """Aborts after `delay` milliseconds."""
        from pyflare.interop.web.timers import after  # noqa: PLC0415  (timers know signals)

        signal: AbortSignal = cls.make()
        error = dom_exception("The operation was aborted due to timeout", "TimeoutError")
        after(delay, lambda: signal._abort(error))
        return signal

    @classmethod
    def any(cls, signals: Iterable[Any]) -> AbortSignal:
        joined: AbortSignal = cls.make()
        joined._sources = list(signals)
        for signal in joined._sources:
            signal.when_aborted(joined._abort)
        return joined

    @property
    def onabort(self) -> Any:
        return self._handler

    @onabort.setter
    def onabort(self, value: Any) -> None:
        """It hears among the listeners, at the place where it was set first."""
        self._handler = value if is_function(value) else jsnull
        heard = self._listeners.setdefault("abort", [])
        if self._handler is not jsnull and self._handles is None:
            self._handles = Listener(lambda event: self._handler(event))
            heard.append(self._handles)
        elif self._handler is jsnull and self._handles is not None:
            self._handles.removed = True
            heard.remove(self._handles)
            self._handles = None

    @property
    def aborted(self) -> bool:
        return self._aborted

    @property
    def reason(self) -> Any:
        return self._reason

    def throwIfAborted(self) -> None:
        if self._aborted:
            raise as_exception(self._reason)

    def when_aborted(self, call: Callable[[Any], Any]) -> Callable[[], None]:
        """For Python: `call(reason)` when the signal aborts, at once if it has; gives a function that forgets it."""
        if self._aborted:
            call(self._reason)
            return lambda: None
        self._waiting.append(call)
        return lambda: self._waiting.remove(call) if call in self._waiting else None

    def _abort(self, reason: Any = None) -> None:
        if self._aborted:
            return
        self._aborted = True
        self._reason = abort_error() if reason is None else reason
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call(self._reason)
        self._tell(Event.make("abort"))


class AbortController(JsProxy):
    js_name: ClassVar[str] = "AbortController"

    def __init__(self) -> None:
        self._signal: AbortSignal = AbortSignal.make()

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def signal(self) -> AbortSignal:
        return self._signal

    def abort(self, reason: Any = None) -> None:
        self._signal._abort(reason)
