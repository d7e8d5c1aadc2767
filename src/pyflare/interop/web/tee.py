"""`ReadableStream.tee()`: two streams of one."""

from __future__ import annotations

from typing import Any

from pyflare.interop.promise import JsPromise
from pyflare.interop.web.callback import fulfil, reason_of
from pyflare.interop.web.readable import Controller, ReadableStream


class Branches:
    """The source of both branches: whoever is asked first reads for both."""

    def __init__(self, origin: ReadableStream) -> None:
        self._origin = origin
        self._reading: JsPromise | None = None
        self._open: list[Controller] = []

    def start(self, controller: Controller) -> None:
        self._open.append(controller)

    def pull(self, controller: Controller) -> JsPromise:
        if self._reading is None:
            self._reading = JsPromise.make()
            result = self._origin._read()
            result._when_settled(lambda: self._hand_out(result))
        return self._reading or JsPromise.resolve()

    def _hand_out(self, read: JsPromise) -> None:
        done, self._reading = self._reading, None
        assert done is not None
        reason = reason_of(read)
        result: Any = read._value
        for controller in list(self._open):
            stream = controller._stream
            if reason is not None:
                stream._fail(reason)
            elif result.done:
                stream._end()
            elif stream._state == "readable":
                stream._put(result.value)
        fulfil(done)

    def cancel(self, reason: Any) -> JsPromise | None:
        self._open = [controller for controller in self._open if controller._stream._state == "readable"]
        return None if self._open else self._origin._cancel(reason)


def tee(stream: ReadableStream) -> tuple[ReadableStream, ReadableStream]:
    """Locks `stream`; TypeError when it is locked."""
    branches = Branches(stream)
    stream.hold(branches)
    first: ReadableStream = ReadableStream.make()
    second: ReadableStream = ReadableStream.make()
    for branch in (first, second):
        branch._length, branch._bytes = stream._length, stream._bytes
        branch._begin(branches)
    return first, second
