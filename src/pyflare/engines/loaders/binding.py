"""`env.LOADER`, the stubs that it gives, and the entrypoints behind them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from pyflare.engines.loaders.config import Code, code_of
from pyflare.interop.arguments import to_string
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import error
from pyflare.interop.proxy import JsProxy, get, is_nullish, options
from pyflare.interop.rpc import Fetcher, remote
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.worker.event import Event, Fetch, Rpc

Deliver = Callable[[Event], Awaitable[Any]]


class WorkerLoader(JsProxy):
    js_name: ClassVar[str] = "WorkerLoader"

    def __init__(self, open_worker: Callable[[str | None, Callable[[], Awaitable[Code]]], Deliver]) -> None:
        self._open = open_worker

    def js_properties(self) -> dict[str, Any]:
        return {}

    def get(self, id: Any = None, callback: Any = None) -> WorkerStub:
        """The worker of that id, which stays; `callback` gives its code when it is not there yet."""
        function = unwrap(callback)

        async def code() -> Code:
            given = function()
            return code_of(await given if inspect.isawaitable(given) else given)

        stub: WorkerStub = WorkerStub.make(self._open(None if is_nullish(id) else to_string(id), code))
        return stub

    def load(self, code: Any = None) -> WorkerStub:
        """A worker that nobody else gets."""
        made = code_of(code)

        async def given() -> Code:
            return made

        stub: WorkerStub = WorkerStub.make(self._open(None, given))
        return stub


class WorkerStub(JsProxy):
    js_name: ClassVar[str] = "WorkerStub"

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver

    def js_properties(self) -> dict[str, Any]:
        return {}

    @options
    def getEntrypoint(self, name: Any = None, options: Any = None) -> LoadedEntrypoint:
        props = get(options, "props")
        made: LoadedEntrypoint
        made = LoadedEntrypoint.make(self._deliver, None if is_nullish(name) else to_string(name), props)
        return made

    def getDurableObjectClass(self, *_: Any) -> Any:
        raise error("pyflare does not support Durable Object classes of loaded workers")


class LoadedEntrypoint(Fetcher):
    js_name: ClassVar[str] = "Fetcher"  # by which the SDK knows it

    def __init__(self, deliver: Deliver, entrypoint: str | None, props: Any) -> None:
        self._deliver, self._entrypoint, self._props = deliver, entrypoint, props

    async def _js_fetch(self, request: Request) -> Response:
        try:
            response: Response = await self._deliver(Fetch(request, self._entrypoint, self._props))
        except Exception as raised:
            raise remote(raised) from None
        return response

    async def _js_call(self, method: str, args: tuple[Any, ...]) -> Any:
        try:
            return await self._deliver(Rpc(method, args, self._entrypoint, self._props))
        except Exception as raised:
            raise remote(raised) from None
