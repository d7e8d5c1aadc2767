"""WritableStream: a queue of chunks that a sink takes one after the other.

streams.spec.whatwg.org. A sink is any object with `start`, `write`, `close` and `abort`; each gives None (done) or a
promise.
"""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar, Protocol

from pyflare.interop.buffers import is_buffer
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import type_error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsProxy, jsnull
from pyflare.interop.web.abort import AbortSignal
from pyflare.interop.web.callback import Callback, begin, fulfil, member, settled
from pyflare.interop.web.strategies import high_water_mark

WRITABLE, CLOSING, CLOSED, ERRORED = "writable", "closing", "closed", "errored"
LOCKED = "This WritableStream is currently locked to a writer."
RELEASED = "This WritableStream writer has been released."
ENDING = "Cannot close a writer that is already being closed"
FINISHED = "This WritableStream has been closed."
NOT_BYTES = (
    "This TransformStream is being used as a byte stream, but received an object of "
    "non-ArrayBuffer/ArrayBufferView type on its writable side."
)
NOT_PIPED = "This WritableStream only supports writing byte types."

_CLOSE = object()  # the last entry of the queue


class Sink(Protocol):
    def start(self, controller: Any) -> JsPromise | None: ...

    def write(self, chunk: Any, controller: Any) -> JsPromise | None: ...

    def close(self) -> JsPromise | None: ...

    def abort(self, reason: Any) -> JsPromise | None: ...


class WritableStream(JsProxy):
    js_name: ClassVar[str] = "WritableStream"

    def __init__(self, sink: Sink, high_water_mark: float = 1.0) -> None:
        self._state = WRITABLE
        self._error: Any = None
        self._sink = sink
        self._queue: deque[tuple[Any, JsPromise]] = deque()
        self._writing: JsPromise | None = None  # of the chunk that the sink has now
        self._holder: Any = None
        self._bytes = False  # one of the runtime's own, which takes bytes and text alone
        self._high_water_mark = high_water_mark
        self._ready: JsPromise = JsPromise.resolve()
        self._closed: JsPromise = JsPromise.make()
        self._controller: WritableController = WritableController.make(self)
        self._started = False
        settled(sink.start(self._controller), self._begun)

    @classmethod
    def construct(cls, members: Any = None, strategy: Any = None) -> WritableStream:
        return cls.make(UserSink(members), high_water_mark(strategy, 1.0))

    def js_properties(self) -> dict[str, Any]:
        return {}

    def _begun(self, reason: Any) -> None:
        if reason is not None:
            self._fail(reason)
            return
        self._started = True
        self._advance()

    # --- the queue ------------------------------------------------------------------------------------------------

    @property
    def _desired(self) -> float:
        return self._high_water_mark - len(self._queue) - (self._writing is not None)

    def _refusal(self) -> Any:
        """Why nothing more may be written; None when it may."""
        if self._state is WRITABLE:
            return None
        return self._error if self._state is ERRORED else type_error(FINISHED)

    def _write(self, chunk: Any) -> JsPromise:
        refusal = self._refusal()
        if refusal is not None:
            return JsPromise.reject(refusal)
        chunk = unwrap(chunk)
        if chunk is not None and not self._carries(chunk):
            return JsPromise.reject(type_error(NOT_BYTES))
        promise: JsPromise = JsPromise.make()
        self._queue.append((chunk, promise))
        self._advance()
        self._press()
        return promise

    def _carries(self, chunk: Any) -> bool:
        return not self._bytes or isinstance(chunk, str) or is_buffer(chunk)

    def _finish(self) -> JsPromise:
        refusal = type_error(ENDING) if self._state is CLOSING else self._refusal()
        if refusal is not None:
            return JsPromise.reject(refusal)
        promise: JsPromise = JsPromise.make()
        self._state = CLOSING
        self._queue.append((_CLOSE, promise))
        fulfil(self._ready)
        self._advance()
        return promise

    def _advance(self) -> None:
        """Hand the next chunk to the sink, unless it still works on one."""
        while self._queue and self._writing is None and self._started:
            chunk, promise = self._queue.popleft()
            self._writing = promise
            try:
                work = self._sink.close() if chunk is _CLOSE else self._sink.write(chunk, self._controller)
            except Exception as raised:
                work = JsPromise.reject(raised)
            last = chunk is _CLOSE
            if work is None or work.settled:
                settled(work, lambda reason, last=last: self._done(reason, last))  # type: ignore[misc]
            else:
                settled(work, lambda reason, last=last: self._done_later(reason, last))  # type: ignore[misc]

    def _done_later(self, reason: Any, last: bool) -> None:
        self._done(reason, last)
        self._advance()

    def _done(self, reason: Any, last: bool) -> None:
        promise, self._writing = self._writing, None
        if reason is not None:
            self._fail(reason)
            if promise is not None:
                promise._reject(reason)
            return
        if last and self._state is not ERRORED:
            self._state = CLOSED
            fulfil(self._closed)
        if promise is not None:
            fulfil(promise)
        if self._desired > 0:
            fulfil(self._ready)

    def _press(self) -> None:
        if self._state is WRITABLE and self._desired <= 0 and self._ready.settled:
            self._ready = JsPromise.make()

    def _fail(self, reason: Any) -> None:
        if self._state in (CLOSED, ERRORED):
            return
        self._state, self._error = ERRORED, reason
        while self._queue:
            self._queue.popleft()[1]._reject(reason)
        if self._ready.settled:
            self._ready = JsPromise.make()
        self._ready._reject(reason)
        self._closed._reject(reason)

    def _abort(self, reason: Any) -> JsPromise:
        if self._state in (CLOSED, ERRORED):
            return JsPromise.resolve()
        self._fail(reason)
        self._controller.signal._abort(reason)
        if self._writing is not None:
            self._writing._reject(reason)
        answer: JsPromise = JsPromise.make()
        work = self._sink.abort(reason)
        settled(work, lambda failed: fulfil(answer) if failed is None else answer._reject(failed))
        return answer

    def hold(self, holder: Any) -> None:
        """Lock the stream; TypeError when it is locked already."""
        if self._holder is not None:
            raise type_error(LOCKED)
        self._holder = holder

    # --- for JavaScript -------------------------------------------------------------------------------------------

    @property
    def locked(self) -> bool:
        return self._holder is not None

    def getWriter(self) -> Writer:
        writer: Writer = Writer.make(self)
        self.hold(writer)
        return writer

    def abort(self, reason: Any = None) -> JsPromise:
        return JsPromise.reject(type_error(LOCKED)) if self.locked else self._abort(reason)

    def close(self) -> JsPromise:
        return JsPromise.reject(type_error(LOCKED)) if self.locked else self._finish()


class Writer(JsProxy):
    """What `stream.getWriter()` gives."""

    js_name: ClassVar[str] = "WritableStreamDefaultWriter"

    def __init__(self, stream: WritableStream) -> None:
        self._stream: WritableStream | None = stream

    @classmethod
    def construct(cls, stream: WritableStream) -> Writer:
        return stream.getWriter()

    def js_properties(self) -> dict[str, Any]:
        return {}

    def _held(self) -> WritableStream:
        if self._stream is None:
            raise type_error(RELEASED)
        return self._stream

    @property
    def desiredSize(self) -> Any:
        stream = self._held()
        if stream._state is ERRORED:
            return jsnull
        return 0 if stream._state is CLOSED else int(stream._desired)

    @property
    def ready(self) -> JsPromise:
        return JsPromise.reject(type_error(RELEASED)) if self._stream is None else self._stream._ready

    @property
    def closed(self) -> JsPromise:
        return JsPromise.reject(type_error(RELEASED)) if self._stream is None else self._stream._closed

    def write(self, chunk: Any = None) -> JsPromise:
        return JsPromise.reject(type_error(RELEASED)) if self._stream is None else self._stream._write(chunk)

    def close(self) -> JsPromise:
        return JsPromise.reject(type_error(RELEASED)) if self._stream is None else self._stream._finish()

    def abort(self, reason: Any = None) -> JsPromise:
        return JsPromise.reject(type_error(RELEASED)) if self._stream is None else self._stream._abort(reason)

    def releaseLock(self) -> None:
        if self._stream is not None:
            self._stream._holder = None
        self._stream = None


class WritableController(JsProxy):
    js_name: ClassVar[str] = "WritableStreamDefaultController"

    def __init__(self, stream: WritableStream) -> None:
        self._stream = stream
        self._signal: AbortSignal | None = None

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def signal(self) -> AbortSignal:
        """Aborts when the stream is aborted."""
        if self._signal is None:
            self._signal = AbortSignal.make()
        return self._signal

    def error(self, reason: Any = None) -> None:
        self._stream._fail(reason)


class UserSink:
    """The object given to `new WritableStream(...)`."""

    def __init__(self, members: Any) -> None:
        self._start = member(members, "start")
        found = {name: member(members, name) for name in ("write", "close", "abort")}
        self._calls = {name: Callback(function) for name, function in found.items() if function is not None}

    def start(self, controller: Any) -> JsPromise | None:
        return begin(self._start, controller)

    def write(self, chunk: Any, controller: Any) -> JsPromise | None:
        return self._call("write", chunk, controller)

    def close(self) -> JsPromise | None:
        return self._call("close")

    def abort(self, reason: Any) -> JsPromise | None:
        return self._call("abort", reason)

    def _call(self, name: str, *args: Any) -> JsPromise | None:
        callback = self._calls.get(name)
        return None if callback is None else callback.start(*args)
