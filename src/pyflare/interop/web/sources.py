"""Where the chunks of a ReadableStream come from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Protocol

from pyflare.interop.awaiting import value_of
from pyflare.interop.promise import JsPromise, start
from pyflare.interop.web.bytes import byte_array
from pyflare.interop.web.callback import Callback, begin, member

if TYPE_CHECKING:
    from pyflare.interop.web.readable import Controller


class Source(Protocol):
    """Each method gives None, when it is done, or a promise."""

    def start(self, controller: Controller) -> JsPromise | None: ...

    def pull(self, controller: Controller) -> JsPromise | None: ...

    def cancel(self, reason: Any) -> JsPromise | None: ...


class UserSource:
    """The object given to `new ReadableStream(...)`: its members may be proxies, sync or async."""

    def __init__(self, members: Any) -> None:
        self._start = member(members, "start")
        pull, cancel = member(members, "pull"), member(members, "cancel")
        self._pull = None if pull is None else Callback(pull)
        self._cancel = None if cancel is None else Callback(cancel)

    def start(self, controller: Controller) -> JsPromise | None:
        return begin(self._start, controller)

    def pull(self, controller: Controller) -> JsPromise | None:
        return None if self._pull is None else self._pull.start(controller)

    def cancel(self, reason: Any) -> JsPromise | None:
        return None if self._cancel is None else self._cancel.start(reason)


class NativeSource:
    """An async iterator of bytes of our own."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks

    def start(self, controller: Controller) -> None:
        return None

    def pull(self, controller: Controller) -> JsPromise:
        return start(self._next(controller))

    async def _next(self, controller: Controller) -> None:
        try:
            data = await anext(self._chunks)
        except StopAsyncIteration:
            controller._stream._end()
        else:
            controller._stream._put(byte_array(data))

    def cancel(self, reason: Any) -> JsPromise | None:
        close = getattr(self._chunks, "aclose", None)
        return None if close is None else start(close())


class IterableSource:
    """The argument of `ReadableStream.from`: anything that Python can iterate, also asynchronously."""

    def __init__(self, source: Any) -> None:
        self._async = hasattr(source, "__aiter__")
        self._items = source.__aiter__() if self._async else iter(source)
        self._advance = Callback(self._next)

    def start(self, controller: Controller) -> None:
        return None

    def pull(self, controller: Controller) -> JsPromise:
        return self._advance.start(controller)

    async def _next(self, controller: Controller) -> None:
        try:
            chunk = await anext(self._items) if self._async else await value_of(next(self._items))
        except (StopAsyncIteration, StopIteration):
            controller._stream._end()
        else:
            controller._stream._put(chunk)

    def cancel(self, reason: Any) -> None:
        return None
