"""`js.caches`. developers.cloudflare.com/workers/runtime-apis/cache"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pyflare.engines.cache.policy import is_web
from pyflare.interop.arguments import not_of_type, promised, requires, settings, to_string, unimplemented
from pyflare.interop.errors import error, type_error
from pyflare.interop.promise import JsPromise, confirmed, perform, start
from pyflare.interop.proxy import JsProxy, get
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response

if TYPE_CHECKING:
    from pyflare.engines.cache.engine import NamedCache

MAX_NAME_BYTES = 1024
NO_UPGRADE = (
    'Worker tried to return a WebSocket in a response to a request which did not contain the header "Upgrade: '
    'websocket".'
)
KEY = re.compile(r"[^:]+://[^/?#@]*(?:[/?#]|$)")  # a host, without a user's name and password


class JsCache(JsProxy):
    js_name: ClassVar[str] = "Cache"

    def __init__(self, cache: NamedCache) -> None:
        self._cache = cache

    def js_properties(self) -> dict[str, Any]:
        return {}

    @promised
    @requires("Request or string")
    def match(self, request: Any, options: Any = None) -> JsPromise:
        asked = self._query("match", request, options)
        return JsPromise.resolve(None) if asked is None else perform(self._cache.match, asked)

    @promised
    @requires("Request or string", "Response")
    def put(self, request: Any, response: Any) -> JsPromise:
        if not isinstance(response, Response):
            raise not_of_type(self, "put", 2, "Response")
        if response.type == "error":
            raise type_error("Cache is unable to store an error response")
        asked = _request(request)
        _check(asked, response)
        body = response._body
        if body is None:
            return perform(self._cache.put, asked, response, b"")
        if body._stream is not None and not body.used:
            body._stream.check_source()
        data = body.take()
        if data is not None:
            return perform(self._cache.put, asked, response, data)
        return start(self._put_stream(asked, response, body.rest(sent=True), body.length))

    async def _put_stream(self, request: Request, response: Response, chunks: Any, length: int | None) -> None:
        await confirmed()
        await self._cache.put_stream(request, response, chunks, length)

    @promised
    @requires("Request or string")
    def delete(self, request: Any, options: Any = None) -> JsPromise:
        asked = self._query("delete", request, options)
        return JsPromise.resolve(False) if asked is None else perform(self._cache.delete, asked)

    add = unimplemented("add")
    addAll = unimplemented("addAll")
    keys = unimplemented("keys")
    matchAll = unimplemented("matchAll")

    def _query(self, method: str, request: Any, options: Any) -> Request | None:
        """The request of a lookup; None when its method has no entries."""
        given = settings(options, self, method, 2, "CacheQueryOptions")
        for name in ("ignoreSearch", "ignoreVary", "cacheName"):
            if get(given, name) is not None:
                raise error(f"The '{name}' field on 'CacheQueryOptions' is not implemented.")
        asked = _request(request)
        if asked.method != "GET" and not get(given, "ignoreMethod"):
            return None
        _check_key(asked.url)
        if not is_web(asked.url):
            raise type_error(f"Fetch API cannot load: {asked.url}")
        return asked


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
    @requires("string")
    def open(self, name: Any) -> JsPromise:
        text = to_string(name)
        if len(text.encode()) >= MAX_NAME_BYTES:
            raise type_error("Cache name is too long.")
        return JsPromise.resolve(self._cache(text or None))

    delete = unimplemented("delete")
    has = unimplemented("has")
    keys = unimplemented("keys")
    match = unimplemented("match")

    def _cache(self, name: str | None) -> JsCache:
        cache = self._caches.get(name)
        if cache is None:
            cache = self._caches[name] = JsCache.make(self._find(name))
        return cache


def _request(value: Any) -> Request:
    request: Request = value if isinstance(value, Request) else Request.construct(to_string(value))
    return request


def _check(request: Request, response: Response) -> None:
    if request.method != "GET":
        raise type_error("Cannot cache response to non-GET request.")
    if response.status == 206:
        raise type_error("Cannot cache response to a range request (206 Partial Content).")
    if "*" in str(response.headers.first("vary") or ""):
        raise type_error("Cannot cache response with 'Vary: *' header.")
    if response._web_socket is not None:
        raise type_error(NO_UPGRADE)
    _check_key(request.url)


def _check_key(url: str) -> None:
    if not KEY.match(url):
        raise type_error("Invalid URL. Cache API keys must be fully-qualified, valid URLs.")
