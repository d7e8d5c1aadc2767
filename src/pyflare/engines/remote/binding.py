"""What stands in env for a binding that only Cloudflare has. `refusal()` is what a call raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsFunction, JsProxy
from pyflare.interop.rpc import Fetcher
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response


class RemoteFetcher(Fetcher):
    """A service of Cloudflare's."""

    js_name = "Fetcher"

    def __init__(self, refusal: Callable[[], JsException]) -> None:
        self._refusal = refusal

    async def _js_fetch(self, request: Request) -> Response:
        raise self._refusal()

    async def _js_call(self, method: str, args: tuple[Any, ...]) -> Any:
        raise self._refusal()


class _RemoteObject(JsProxy):
    """A binding with methods of its own: each raises when it is called."""

    def __init__(self, refusal: Callable[[], JsException]) -> None:
        self._refusal = refusal

    def js_properties(self) -> dict[str, Any]:
        return {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "then":
            raise AttributeError(name)

        def refuse(*_: Any) -> NoReturn:
            raise self._refusal()

        return JsFunction.make(refuse, name)


class Ai(_RemoteObject):
    js_name = "Ai"


class VectorizeIndexImpl(_RemoteObject):
    js_name = "VectorizeIndexImpl"


class DynamicDispatcher(_RemoteObject):
    js_name = "DynamicDispatcher"


CLASSES: dict[str, Any] = {made.js_name: made for made in (RemoteFetcher, Ai, VectorizeIndexImpl, DynamicDispatcher)}
