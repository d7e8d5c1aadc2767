"""`ReadableStream.pipeTo()`."""

from __future__ import annotations

from typing import Any

from pyflare.interop.errors import type_error
from pyflare.interop.promise import JsPromise, start
from pyflare.interop.proxy import get, is_nullish
from pyflare.interop.web.readable import ERRORED, LOCKED, ReadableStream
from pyflare.interop.web.writable import LOCKED as WRITABLE_LOCKED
from pyflare.interop.web.writable import NOT_PIPED, WritableStream


def pipe_to(source: ReadableStream, destination: Any, settings: Any) -> JsPromise:
    """Move all chunks; a promise that settles when the last one was taken. The streams are locked at once."""
    if not isinstance(destination, WritableStream):
        message = "Failed to execute 'pipeTo' on 'ReadableStream': parameter 1 is not of type 'WritableStream'."
        return JsPromise.reject(type_error(message))
    if source.locked:
        return JsPromise.reject(type_error(LOCKED))
    if destination.locked:
        return JsPromise.reject(type_error(WRITABLE_LOCKED))
    source.hold(destination)
    destination.hold(source)
    return start(_Pipe(source, destination, settings).run())


class _Pipe:
    def __init__(self, source: ReadableStream, destination: WritableStream, settings: Any) -> None:
        self._source, self._destination = source, destination
        self._keep_open = bool(get(settings, "preventClose", False))
        self._keep_writable = bool(get(settings, "preventAbort", False))
        self._keep_source = bool(get(settings, "preventCancel", False))
        self._signal = get(settings, "signal")

    async def run(self) -> None:
        stop: JsPromise | None = None
        if not is_nullish(self._signal):
            stop = JsPromise.make()
            self._signal.when_aborted(stop._reject)
        try:
            if stop is not None and stop.settled:
                stop.result()
            await self._move(stop)
        except BaseException as reason:
            await self._give_up(reason)
            raise
        finally:
            self._source._holder = None
            self._destination._holder = None

    async def _move(self, stop: JsPromise | None) -> None:
        while True:
            await self._destination._ready
            read = self._source._read()
            result = await (read if stop is None else JsPromise.race([read, stop]))
            if result.done:
                break
            if not self._destination._carries(result.value):
                refused = type_error(NOT_PIPED)
                self._destination._abort(refused)  # in spite of preventAbort, as the runtime
                raise refused
            self._destination._write(result.value)
        if not self._keep_open:
            await self._destination._finish()

    async def _give_up(self, reason: BaseException) -> None:
        """Tell the side that did not fail."""
        if self._source._state is not ERRORED and not self._keep_source:
            self._source._cancel(reason)
        if self._destination._state != "errored" and not self._keep_writable:
            self._destination._abort(reason)
