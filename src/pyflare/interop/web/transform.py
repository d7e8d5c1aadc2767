"""TransformStream: what is written to one side can be read, changed, from the other.

A write settles when its chunk was taken by a reader, so whoever writes feels how fast the reader is.
developers.cloudflare.com/workers/runtime-apis/streams/transformstream. A transformer is any object with `start`,
`transform`, `flush` and `cancel`; each gives None (done) or a promise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from pyflare.interop import scope
from pyflare.interop.buffers import as_bytes
from pyflare.interop.errors import type_error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsProxy, is_nullish
from pyflare.interop.web.bytes import byte_array, utf8
from pyflare.interop.web.callback import Callback, begin, fulfil, member, settled, when_failed
from pyflare.interop.web.readable import Controller, ReadableStream
from pyflare.interop.web.strategies import high_water_mark, whole
from pyflare.interop.web.writable import WritableStream


class Transformer(Protocol):
    def start(self, controller: Any) -> JsPromise | None: ...

    def transform(self, chunk: Any, controller: Any) -> JsPromise | None: ...

    def flush(self, controller: Any) -> JsPromise | None: ...

    def cancel(self, reason: Any) -> JsPromise | None: ...


class Identity:
    """The transformer that changes nothing."""

    def start(self, controller: Any) -> None:
        return None

    def transform(self, chunk: Any, controller: Any) -> None:
        controller.enqueue(chunk)

    def flush(self, controller: Any) -> None:
        return None

    def cancel(self, reason: Any) -> None:
        return None


class Pipe:
    """The source of the readable side and the sink of the writable one: they meet here, a chunk at a time."""

    def __init__(self, transformer: Transformer) -> None:
        self._transformer = transformer
        self._waiting: tuple[Any, JsPromise] | None = None
        self.controller: TransformController = TransformController.make(self)
        self.readable: ReadableStream
        self.writable: WritableStream

    # as a source

    def pull(self, controller: Controller) -> None:
        if self._waiting is None:
            return
        (chunk, promise), self._waiting = self._waiting, None
        settled(self._run(chunk), lambda reason: fulfil(promise) if reason is None else promise._reject(reason))

    def cancel(self, reason: Any) -> JsPromise | None:
        self._drop(reason)
        self.writable._fail(type_error("undefined") if reason is None else reason)
        return self._transformer.cancel(reason)

    # as a sink

    def start(self, controller: Any) -> None:
        return None

    def write(self, chunk: Any, controller: Any) -> JsPromise | None:
        if self.readable._wanted() > 0:
            return self._run(chunk)
        promise: JsPromise = JsPromise.make()
        self._waiting = (chunk, promise)
        return promise

    def close(self) -> JsPromise | None:
        work = self._guard(self._transformer.flush, self.controller)
        settled(work, self._flushed)
        return work

    def abort(self, reason: Any) -> JsPromise | None:
        self._drop(reason)
        self.readable._fail(type_error("undefined") if reason is None else reason)
        return self._transformer.cancel(reason)

    # both

    def _run(self, chunk: Any) -> JsPromise | None:
        work = self._guard(self._transformer.transform, chunk, self.controller)
        when_failed(work, self.fail)
        return work

    def _guard(self, function: Callable[..., JsPromise | None], *args: Any) -> JsPromise | None:
        try:
            return function(*args)
        except Exception as raised:
            return JsPromise.reject(raised)

    def _flushed(self, reason: Any) -> None:
        if reason is not None:
            self.fail(reason)
        elif self.readable._state == "readable" and not self.readable._closing:
            self.readable._end()

    def _drop(self, reason: Any) -> None:
        if self._waiting is not None:
            self._waiting[1]._reject(reason)
            self._waiting = None

    def fail(self, reason: Any) -> None:
        """Both sides are broken."""
        self._drop(reason)
        self.readable._fail(reason)
        self.writable._fail(reason)


class TransformController(JsProxy):
    js_name: ClassVar[str] = "TransformStreamDefaultController"

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def desiredSize(self) -> Any:
        return self._pipe.readable._controller.desiredSize

    def enqueue(self, chunk: Any = None) -> None:
        self._pipe.readable._controller.enqueue(chunk)

    def error(self, reason: Any = None) -> None:
        self._pipe.fail(reason)

    def terminate(self) -> None:
        self._pipe.readable._end()
        self._pipe.writable._fail(type_error("The transform stream has been terminated"))


class TransformStream(JsProxy):
    js_name: ClassVar[str] = "TransformStream"

    def __init__(self, transformer: Transformer, write_mark: float = 1.0, read_mark: float = 0.0) -> None:
        pipe = self._pipe = Pipe(transformer)
        pipe.readable = ReadableStream.make(None, read_mark)
        pipe.readable._begin(pipe)
        pipe.writable = WritableStream.make(pipe, write_mark)
        pipe.writable._bytes = isinstance(transformer, Bytes)
        began = transformer.start(pipe.controller)
        when_failed(began, pipe.fail)

    @classmethod
    def construct(cls, members: Any = None, write_strategy: Any = None, read_strategy: Any = None) -> TransformStream:
        if not scope.enabled("transformstream_enable_standard_constructor"):
            return IdentityTransformStream.construct()
        marks = high_water_mark(write_strategy, 1.0), high_water_mark(read_strategy, 0.0)
        return cls.make(Identity() if is_nullish(members) else UserTransformer(members), *marks)

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def readable(self) -> ReadableStream:
        return self._pipe.readable

    @property
    def writable(self) -> WritableStream:
        return self._pipe.writable


class UserTransformer:
    """The object given to `new TransformStream(...)`."""

    def __init__(self, members: Any) -> None:
        self._start = member(members, "start")
        found = {name: member(members, name) for name in ("transform", "flush", "cancel")}
        self._calls = {name: Callback(function) for name, function in found.items() if function is not None}

    def start(self, controller: Any) -> JsPromise | None:
        return begin(self._start, controller)

    def transform(self, chunk: Any, controller: Any) -> JsPromise | None:
        if "transform" not in self._calls:
            controller.enqueue(chunk)
            return None
        return self._calls["transform"].start(chunk, controller)

    def flush(self, controller: Any) -> JsPromise | None:
        return self._calls["flush"].start(controller) if "flush" in self._calls else None

    def cancel(self, reason: Any) -> JsPromise | None:
        return self._calls["cancel"].start(reason) if "cancel" in self._calls else None


def written(chunk: Any) -> bytes:
    """The bytes of what was written to a byte stream; undefined has none."""
    if isinstance(chunk, str):
        return utf8(chunk)
    return b"" if chunk is None else as_bytes(chunk)


class Bytes(Identity):
    """The transformer of the runtime's own byte streams, which take text too, as UTF-8; other values are refused.

    `expected`: how many bytes a FixedLengthStream must carry.
    """

    def __init__(self, expected: int | None = None) -> None:
        self._expected, self._seen = expected, 0

    def transform(self, chunk: Any, controller: Any) -> None:
        data = written(chunk)
        self._seen += len(data)
        if self._expected is not None and self._seen > self._expected:
            raise type_error("Attempt to write too many bytes through a FixedLengthStream.")
        if data:
            controller.enqueue(byte_array(data))

    def flush(self, controller: Any) -> None:
        if self._expected is not None and self._seen < self._expected:
            raise type_error("FixedLengthStream did not see all expected bytes before close().")


class IdentityTransformStream(TransformStream):
    js_name: ClassVar[str] = "IdentityTransformStream"

    @classmethod
    def construct(cls, *_: Any) -> IdentityTransformStream:
        stream: IdentityTransformStream = cls.make(Bytes())
        stream.readable._bytes = True
        return stream


class FixedLengthStream(IdentityTransformStream):
    js_name: ClassVar[str] = "FixedLengthStream"

    @classmethod
    def construct(cls, length: Any = 0, *_: Any) -> FixedLengthStream:
        expected = int(whole(length))
        stream: FixedLengthStream = cls.make(Bytes(expected))
        stream.readable._length, stream.readable._bytes = expected, True
        return stream
