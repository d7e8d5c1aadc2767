"""`js.caches`. developers.cloudflare.com/workers/runtime-apis/cache"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pyflare.interop.arguments import promised, to_string
from pyflare.interop.errors import type_error
from pyflare.interop.promise import JsPromise, confirmed, perform, start
from pyflare.interop.proxy import JsProxy, get
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response

if TYPE_CHECKING:
    from pyflare.engines.cache.engine import NamedCache

MAX_NAME_BYTES = 1024
BAD_URL = "Invalid URL. Cache API keys must be fully-qualified, valid URLs."


class JsCache(JsProxy):
    js_name: ClassVar[str] = "Cache"

    def __init__(self, cache: NamedCache) -> None:
        self._cache = cache

    def js_properties(self) -> dict[str, Any]:
        return {}

    @promised
    def match(self, request: Any = None, options: Any = None) -> JsPromise:
        asked = _request(request)
        if asked.method != "GET" and not get(options, "ignoreMethod"):
            return JsPromise.resolve(None)
        return perform(self._cache.match, asked)

    @promised
    def put(self, request: Any = None, response: Any = None) -> JsPromise:
        asked = _request(request)
        if not isinstance(response, Response):
            raise type_error("Failed to execute 'put' on 'Cache': parameter 2 is not of type 'Response'.")
        _check(asked, response)
        if response._body is None:
            return perform(self._cache.put, asked, response, b"")
        body = response._body
        data = body.take()
        if data is not None:
            return perform(self._cache.put, asked, response, data)
        return start(self._put_stream(asked, response, body.rest()))

    async def _put_stream(self, request: Request, response: Response, chunks: Any) -> None:
        await confirmed()
        await self._cache.put_stream(request, response, chunks)

    @promised
    def delete(self, request: Any = None, options: Any = None) -> JsPromise:
        asked = _request(request)
        if asked.method != "GET" and not get(options, "ignoreMethod"):
            return JsPromise.resolve(False)
        return perform(self._cache.delete, asked)


class CacheStorage(JsProxy):
    """`caches`: `find(name)` gives the cache of a name, None stands for the default one."""

    js_name: ClassVar[str] = "CacheStorage"

    def __init__(self, find: Callable[[str | None], NamedCache]) -> None:
        self._find = find
        self._caches: dict[str | None, JsCache] = {}

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def default(self) -> JsCache:
        return self._cache(None)

    @promised
    def open(self, name: Any = None) -> JsPromise:
        text = to_string(name)
        if len(text.encode()) >= MAX_NAME_BYTES:
            raise type_error("Cache name is too long.")
        return JsPromise.resolve(self._cache(text))

    def _cache(self, name: str | None) -> JsCache:
        cache = self._caches.get(name)
        if cache is None:
            cache = self._caches[name] = JsCache.make(self._find(name))
        return cache


def _request(value: Any) -> Request:
    if isinstance(value, Request):
        return value
    try:
        request: Request = Request.construct(to_string(value))
    except Exception:
        raise type_error(BAD_URL) from None
    return request


def _check(request: Request, response: Response) -> None:
    if response.type == "error":
        raise type_error("Cache is unable to store an error response")
    if response._web_socket is not None:
        raise type_error("Cannot cache WebSocket upgrade response.")
    if request.method != "GET":
        raise type_error("Cannot cache response to non-GET request.")
    if response.status == 206:
        raise type_error("Cannot cache response to a range request (206 Partial Content).")
    if "*" in str(response.headers.first("vary") or ""):
        raise type_error("Cannot cache response with 'Vary: *' header.")
