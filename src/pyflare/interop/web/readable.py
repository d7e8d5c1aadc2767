"""ReadableStream: a queue of chunks that a source fills on demand.

streams.spec.whatwg.org; developers.cloudflare.com/workers/runtime-apis/streams. A source is any object with `start`,
`pull` and `cancel`; each gives None (done) or a promise. Python's iterators become streams by `ReadableStream.of`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import error, type_error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish, jsnull, options
from pyflare.interop.web.bytes import byte_array, utf8
from pyflare.interop.web.callback import fulfil, settled
from pyflare.interop.web.sources import IterableSource, NativeSource, Source, UserSource
from pyflare.interop.web.strategies import high_water_mark

READABLE, CLOSED, ERRORED = "readable", "closed", "errored"
LOST = "Network connection lost."
LOCKED = "This ReadableStream is currently locked to a reader."
LOCKED_SOURCE = "The ReadableStream has been locked to a reader."
NOT_BYTES = "This ReadableStream did not return bytes."
NOT_SENT = "Draining read encountered a value that cannot be converted to bytes"


class ReadableStream(JsProxy):
    js_name: ClassVar[str] = "ReadableStream"

    def __init__(self, source: Source | None = None, high_water_mark: float = 0.0) -> None:
        self._state = READABLE
        self._error: Any = None
        self._queue: deque[Any] = deque()
        self._requests: deque[JsPromise] = deque()
        self._holder: Any = None  # the reader, or whoever else holds the lock
        self._disturbed = False
        self._closing = False  # the source is done, but chunks wait
        self._pulling = self._pull_again = False
        self._high_water_mark = high_water_mark
        self._size: Callable[[Any], float] | None = None
        self._queued = 0.0
        self._source = source
        self._native: AsyncIterator[bytes] | None = None
        self._length: int | None = None
        self._content: bytes | None = None  # all of it, where that was known from the start
        self._closed_promises: list[JsPromise] = []
        self._started = source is None
        self._bytes = False  # a byte stream: readers may bring buffers of their own

    @classmethod
    def construct(cls, source: Any = None, strategy: Any = None) -> ReadableStream:
        stream: ReadableStream = cls.make()
        kind = get(source, "type")
        stream._bytes = kind == "bytes"
        if not is_nullish(kind) and kind not in ("", "bytes"):
            raise type_error(f'"{to_text(kind)}" is not a valid type of ReadableStream.')
        stream._high_water_mark = high_water_mark(strategy, 0.0 if stream._bytes else 1.0)
        size = get(strategy, "size")
        stream._size = size if callable(size) else None
        stream._begin(UserSource(source))
        return stream

    @classmethod
    def of(cls, chunks: AsyncIterator[bytes], length: int | None = None) -> ReadableStream:
        """A stream of bytes that Python makes; `length`: how many, where that is known."""
        stream: ReadableStream = cls.make()
        stream._native, stream._length, stream._bytes = chunks, length, True
        stream._begin(NativeSource(chunks))
        return stream

    @classmethod
    def of_bytes(cls, data: bytes) -> ReadableStream:
        """A stream of one chunk, which is made when somebody reads it."""
        stream: ReadableStream = cls.make()
        stream._length, stream._content, stream._bytes = len(data), data, True
        if not data:
            stream._close()
        return stream

    @classmethod
    def from_(cls, source: Any) -> ReadableStream:
        """JavaScript's `ReadableStream.from(iterable)`."""
        stream: ReadableStream = cls.make()
        stream._begin(IterableSource(source))
        return stream

    def _begin(self, source: Source) -> None:
        self._controller: Controller = Controller.make(self)
        self._source, self._started = source, False
        settled(source.start(self._controller), self._begun)

    def _begun(self, reason: Any) -> None:
        if reason is not None:
            self._fail(reason)
            return
        self._started = True
        self._pull_if_wanted()

    def js_properties(self) -> dict[str, Any]:
        return {}

    # --- the side of the source -----------------------------------------------------------------------------------

    def _wanted(self) -> float:
        """How much the queue may still take; more than nothing while somebody waits."""
        if self._state is not READABLE or self._closing:
            return 0.0
        return 1.0 if self._requests else self._high_water_mark - self._queued

    def _pull_if_wanted(self) -> None:
        if not self._started or self._source is None or self._wanted() <= 0:
            return
        if self._pulling:
            self._pull_again = True
            return
        self._pulling = True
        settled(self._source.pull(self._controller), self._pulled)

    def _pulled(self, reason: Any) -> None:
        self._pulling = False
        if reason is not None:
            self._fail(reason)
        elif self._pull_again:
            self._pull_again = False
            self._pull_if_wanted()

    def _put(self, chunk: Any) -> None:
        if self._requests:
            fulfil(self._requests.popleft(), _result(chunk))
        else:
            self._queue.append(chunk)
            self._queued += self._size(chunk) if self._size is not None else 1.0
        self._pull_if_wanted()

    def _end(self) -> None:
        self._closing = True
        if not self._queue:
            self._close()

    def _close(self) -> None:
        if self._state is not READABLE:
            return
        self._state = CLOSED
        while self._requests:
            fulfil(self._requests.popleft(), _result(None, True))
        for promise in self._closed_promises:
            promise._resolve()

    def _fail(self, reason: Any) -> None:
        if self._state is not READABLE:
            return
        self._state, self._error = ERRORED, reason
        self._queue.clear()
        while self._requests:
            self._requests.popleft()._reject(reason)
        for promise in self._closed_promises:
            promise._reject(reason)

    # --- the side of the reader -----------------------------------------------------------------------------------

    def _read(self) -> JsPromise:
        promise: JsPromise = JsPromise.make()
        if self._content and not self._closing and self._state is READABLE:
            self._put(byte_array(self._content))
            self._end()
        self._disturbed = True
        if self._queue:
            fulfil(promise, _result(self._take()))
        elif self._state is CLOSED:
            fulfil(promise, _result(None, True))
        elif self._state is ERRORED:
            promise._reject(self._error)
        else:
            self._requests.append(promise)
            self._pull_if_wanted()
        return promise

    def _take(self) -> Any:
        chunk = self._queue.popleft()
        self._queued -= self._size(chunk) if self._size is not None else 1.0
        if self._closing and not self._queue:
            self._close()
        else:
            self._pull_if_wanted()
        return chunk

    def _cancel(self, reason: Any) -> JsPromise:
        self._disturbed = True
        if self._state is ERRORED:
            return JsPromise.reject(self._error)
        self._queue.clear()
        was_open = self._state is READABLE and not self._closing
        self._close()
        answer: JsPromise = JsPromise.make()
        cancelled = self._source.cancel(reason) if was_open and self._source is not None else None
        settled(cancelled, lambda failed: answer._resolve() if failed is None else answer._reject(failed))
        return answer

    def hold(self, holder: Any) -> None:
        """Lock the stream; TypeError when it is locked already."""
        if self._holder is not None:
            raise type_error(LOCKED)
        self._holder = holder

    def check_source(self) -> None:
        """TypeError when the runtime cannot send the stream; of one of JavaScript code, what is left will do."""
        if self.locked:
            raise type_error(LOCKED_SOURCE)
        own = self._content is not None or self._native is not None or self._length is not None
        if self._disturbed and own:
            raise type_error("This ReadableStream is disturbed.")

    def drain(self, sent: bool = False) -> AsyncIterator[bytes]:
        """All of the stream as bytes, for Python; locks it. TypeError for chunks that are none.

        `sent`: the runtime passes them on, and takes text too, where code that reads a body is refused it.
        """
        self.hold(self)
        self._disturbed = True
        untouched = not self._queue and not self._pulling and self._state is READABLE
        if self._native is not None and untouched:
            return self._drain_native(self._native)
        return self._drain(sent)

    def take_all(self) -> bytes | None:
        """What `drain` would give, where that is known and nobody has touched it; locks the stream then."""
        if self._content is None or self._disturbed or self._holder is not None or self._state is ERRORED:
            return None
        self.hold(self)
        self._disturbed = True
        self._close()
        return self._content

    async def _drain_native(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Past the queue: nobody of JavaScript sees the chunks."""
        try:
            async for data in chunks:
                yield data
        except Exception as raised:
            self._fail(raised)
            raise
        finally:
            self._close()
            await close_iterator(chunks)

    async def _drain(self, sent: bool) -> AsyncIterator[bytes]:
        try:
            while True:
                result = await self._read()
                if result.done:
                    return
                chunk = result.value
                if is_buffer(chunk):
                    yield as_bytes(chunk)
                elif sent and isinstance(chunk, str):
                    yield utf8(chunk)
                else:
                    raise type_error(NOT_SENT if sent else NOT_BYTES)
        finally:
            if self._state is READABLE:
                self._cancel(error(LOST))

    # --- for JavaScript -------------------------------------------------------------------------------------------

    @property
    def locked(self) -> bool:
        return self._holder is not None

    @options
    def getReader(self, settings: Any = None) -> Any:
        from pyflare.interop.web.readers import BYOBReader, DefaultReader  # noqa: PLC0415  (readers know streams)

        mode = get(settings, "mode")
        if not is_nullish(mode) and mode != "byob":
            raise type_error("mode must be undefined or 'byob' in call to getReader().")
        if mode == "byob" and not self._bytes:
            raise type_error("This ReadableStream does not support BYOB reads.")
        reader = (DefaultReader if is_nullish(mode) else BYOBReader).make(self)
        self.hold(reader)
        return reader

    def cancel(self, reason: Any = None) -> JsPromise:
        return JsPromise.reject(type_error(LOCKED)) if self.locked else self._cancel(reason)

    def tee(self) -> JsArray:
        from pyflare.interop.web.tee import tee  # noqa: PLC0415  (branches are streams)

        return JsArray.make(list(tee(self)))

    @options
    def pipeTo(self, destination: Any, settings: Any = None) -> JsPromise:
        from pyflare.interop.web.pipe import pipe_to  # noqa: PLC0415  (pipes know both kinds of streams)

        return pipe_to(self, destination, settings)

    @options
    def pipeThrough(self, pair: Any, settings: Any = None) -> ReadableStream:
        readable = get(pair, "readable")
        if not isinstance(readable, ReadableStream):
            raise type_error(
                "Incorrect type for the 'readable' field on 'Transform': the provided value is not of type "
                "'ReadableStream'."
            )
        if self.locked:
            raise type_error(LOCKED)
        self.pipeTo(get(pair, "writable"), settings)
        return readable

    @options
    def values(self, settings: Any = None) -> Any:
        from pyflare.interop.web.readers import StreamIterator  # noqa: PLC0415  (readers know streams)

        return StreamIterator.make(self, bool(get(settings, "preventCancel", False)))

    def __aiter__(self) -> Any:
        return self.values()


def _result(value: Any, done: bool = False) -> JsObject:
    return JsObject.make({"value": value, "done": done})


async def close_iterator(chunks: Any) -> None:
    """Nobody wants the rest of an async iterator."""
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()


class Controller(JsProxy):
    """What a source puts chunks into."""

    js_name: ClassVar[str] = "ReadableStreamDefaultController"

    def __init__(self, stream: ReadableStream) -> None:
        self._stream = stream

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def desiredSize(self) -> Any:
        stream = self._stream
        if stream._state is ERRORED:
            return jsnull
        return 0 if stream._state is CLOSED else _number(stream._high_water_mark - stream._queued)

    @property
    def byobRequest(self) -> Any:
        return None

    def enqueue(self, chunk: Any = None) -> None:
        stream = self._stream
        if stream._state is not READABLE or stream._closing:
            raise type_error("Unable to enqueue")
        stream._put(unwrap(chunk))

    def close(self) -> None:
        stream = self._stream
        if stream._state is not READABLE or stream._closing:
            raise type_error("This ReadableStream is closed.")
        stream._end()

    def error(self, reason: Any = None) -> None:
        self._stream._fail(reason)


def _number(value: float) -> int | float:
    return int(value) if value == value and abs(value) != float("inf") and value.is_integer() else value
