"""Who reads a ReadableStream: the default reader, the reader with a buffer of its own, the iterator."""

from __future__ import annotations

from typing import Any, ClassVar

from pyflare.interop.arguments import not_of_type
from pyflare.interop.buffers import ArrayBuffer, TypedArray, as_bytes, is_buffer
from pyflare.interop.errors import type_error
from pyflare.interop.promise import JsPromise, start
from pyflare.interop.proxy import JsObject, JsProxy
from pyflare.interop.web.bytes import byte_array
from pyflare.interop.web.readable import CLOSED, ERRORED, ReadableStream

RELEASED = "This ReadableStream reader has been released."


class DefaultReader(JsProxy):
    """What `stream.getReader()` gives."""

    js_name: ClassVar[str] = "ReadableStreamDefaultReader"

    def __init__(self, stream: ReadableStream) -> None:
        self._stream: ReadableStream | None = stream

    @classmethod
    def construct(cls, stream: ReadableStream) -> Any:
        return stream.getReader()

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def closed(self) -> JsPromise:
        stream = self._stream
        if stream is None:
            return JsPromise.reject(type_error(RELEASED))
        if stream._state is ERRORED:
            return JsPromise.reject(stream._error)
        if stream._state is CLOSED:
            return JsPromise.resolve()
        promise: JsPromise = JsPromise.make()
        stream._closed_promises.append(promise)
        return promise

    def read(self) -> JsPromise:
        return JsPromise.reject(type_error(RELEASED)) if self._stream is None else self._stream._read()

    def cancel(self, reason: Any = None) -> JsPromise:
        return JsPromise.reject(type_error(RELEASED)) if self._stream is None else self._stream._cancel(reason)

    def releaseLock(self) -> None:
        stream, self._stream = self._stream, None
        if stream is None:
            return
        stream._holder = None
        while stream._requests:
            stream._requests.popleft()._reject(type_error(RELEASED))


class BYOBReader(DefaultReader):
    """What `stream.getReader({mode: "byob"})` gives: it reads into the caller's views."""

    js_name: ClassVar[str] = "ReadableStreamBYOBReader"

    def read(self, view: Any = None, _settings: Any = None) -> JsPromise:
        return start(self._fill(view, 1))

    def readAtLeast(self, minimum: int, view: Any) -> JsPromise:
        return start(self._fill(view, int(minimum)))

    async def _fill(self, view: Any, minimum: int) -> JsObject:
        if not isinstance(view, TypedArray):
            raise not_of_type(self, "read", 1, "ArrayBufferView")
        if self._stream is None:
            raise type_error(RELEASED)
        size, data = view.byteLength, b""
        if not size:
            raise type_error('You must call read() on a "byob" reader with a positive-sized TypedArray object.')
        view.detach()
        while len(data) < minimum:
            result = await self._stream._read()
            if result.done:
                break
            if not is_buffer(result.value):
                raise type_error("This ReadableStream did not return bytes.")
            data += as_bytes(result.value)
        fitting, rest = data[:size], data[size:]
        if rest:
            self._stream._queue.appendleft(byte_array(rest))
            self._stream._queued += 1.0
        buffer = ArrayBuffer.make(bytearray(size))
        buffer.writable()[: len(fitting)] = fitting
        filled = type(view).make(buffer, 0, len(fitting) // view.size)
        return JsObject.make({"value": filled, "done": not fitting})


class StreamIterator(JsProxy):
    """`async for chunk in stream`; also JavaScript's `stream.values()`."""

    js_name: ClassVar[str] = "ReadableStreamAsyncIterator"

    def __init__(self, stream: ReadableStream, prevent_cancel: bool = False) -> None:
        stream.hold(self)
        self._stream, self._prevent_cancel = stream, prevent_cancel

    def js_properties(self) -> dict[str, Any]:
        return {}

    def __aiter__(self) -> StreamIterator:
        return self

    async def __anext__(self) -> Any:
        result = await self._stream._read()
        if result.done:
            self._stream._holder = None
            raise StopAsyncIteration
        return result.value

    def next(self) -> JsPromise:
        return self._stream._read()

    def return_(self, value: Any = None) -> JsPromise:
        self._stream._holder = None
        return JsPromise.resolve() if self._prevent_cancel else self._stream._cancel(value)
