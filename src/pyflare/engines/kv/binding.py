"""`env.KV`: Cloudflare's names, checks and conversions. developers.cloudflare.com/kv/api"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from pyflare.engines.kv.config import MAX_LIST_KEYS
from pyflare.engines.kv.namespace import NOT_OF_KIND, Namespace, Value, check_key, described, failed
from pyflare.interop import json
from pyflare.interop.arguments import optional_text, promised, requires, settings, to_int32, to_string
from pyflare.interop.buffers import ArrayBuffer, as_bytes, is_buffer
from pyflare.interop.containers import JsArray, JsMap
from pyflare.interop.errors import JsException, type_error
from pyflare.interop.promise import JsPromise, confirmed, perform, start
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish, jsnull, options
from pyflare.interop.web.readable import ReadableStream

UNKNOWN_TYPE = 'Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".'
REFUSED_VALUE = "KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values."


class KvNamespace(JsProxy):
    js_name: ClassVar[str] = "KvNamespace"

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def js_properties(self) -> dict[str, Any]:
        return {}

    @options
    @requires("string or Array")
    def get(self, key: Any, options: Any = None) -> JsPromise:
        kind, cache_ttl = _read_options(options)
        if isinstance(key, JsArray):
            keys = [to_string(name) for name in key]
            return perform(self._get_many, keys, kind, cache_ttl, False)
        return perform(self._get, to_string(key), kind, cache_ttl)

    @options
    @requires("Array or string")
    def getWithMetadata(self, key: Any, options: Any = None) -> JsPromise:
        kind, cache_ttl = _read_options(options)
        if isinstance(key, JsArray):
            keys = [to_string(name) for name in key]
            return perform(self._get_many, keys, kind, cache_ttl, True)
        name = to_string(key)
        check_key("GET", name)
        return perform(self._get_with_metadata, name, kind, cache_ttl)

    @promised
    @requires("string", "string or Object")
    def put(self, key: Any, value: Any, options: Any = None) -> JsPromise:
        options = settings(options, self, "put", 3, "PutOptions")
        name, namespace = to_string(key), self._namespace
        expiration, ttl = _seconds(options, "expiration"), _seconds(options, "expirationTtl")
        check_key("PUT", name)
        metadata = get(options, "metadata")
        text = None if is_nullish(metadata) else json.stringify(metadata)
        data = _written(value)
        ends = namespace.expiry(expiration, ttl)
        namespace.check_metadata(text)
        if isinstance(data, bytes):
            return perform(namespace.put, name, data, ends, text)
        return start(self._put_stream(name, data, ends, text))

    @promised
    @requires("string")
    def delete(self, key: Any) -> JsPromise:
        name = to_string(key)
        check_key("DELETE", name)
        return perform(self._namespace.delete, name)

    @promised
    @requires()
    def list(self, options: Any = None) -> JsPromise:
        options = settings(options, self, "list", 1, "ListOptions")
        limit = to_int32(get(options, "limit", 0))
        prefix, cursor = optional_text(get(options, "prefix")), optional_text(get(options, "cursor"))
        return perform(self._list, prefix or "", limit if limit > 0 else MAX_LIST_KEYS, cursor)

    # --- behind the promises ----------------------------------------------------------------------------------------

    def _get(self, key: str, kind: str, cache_ttl: int | None) -> Any:
        value = self._namespace.get(key, cache_ttl)
        return jsnull if value is None else _as(kind, value)

    def _get_with_metadata(self, key: str, kind: str, cache_ttl: int | None) -> JsObject:
        value = self._namespace.get(key, cache_ttl)
        found = jsnull if value is None else _as(kind, value)
        return JsObject.make({"value": found, "metadata": _metadata(value), "cacheStatus": jsnull})

    def _get_many(self, keys: Sequence[str], kind: str, cache_ttl: int | None, with_metadata: bool) -> JsMap:
        found: JsMap = JsMap.make()
        for key, value in self._namespace.get_many(keys, kind, cache_ttl):
            result = jsnull if value is None else _bulk_value(kind, value)
            if with_metadata and result is not jsnull:
                result = JsObject.make({"value": result, "metadata": _metadata(value)})
            found.set(key, result)
        return found

    async def _put_stream(self, key: str, stream: ReadableStream, ends: float | None, metadata: str | None) -> None:
        await confirmed()
        await self._namespace.put_stream(key, stream.drain(sent=True), ends, metadata)

    def _list(self, prefix: str, limit: int, cursor: str | None) -> JsObject:
        page = self._namespace.list(prefix, limit, cursor)
        keys = [JsObject.make(described(entry, json.parse)) for entry in page.entries]
        result: dict[str, Any] = {"keys": JsArray.make(keys), "list_complete": page.cursor is None}
        if page.cursor is not None:
            result["cursor"] = page.cursor
        return JsObject.make({**result, "cacheStatus": jsnull})


def _read_options(options: Any) -> tuple[str, int | None]:
    """Type and cache TTL of a read's second argument, which is a type or an object."""
    if is_nullish(options):
        return "text", None
    if not isinstance(options, (JsProxy, dict)):
        return to_string(options), None
    kind = get(options, "type")
    return "text" if kind is None else to_string(kind), _seconds(options, "cacheTtl")


def _seconds(options: Any, name: str) -> int | None:
    given = get(options, name)
    return None if given is None else to_int32(given)


def _as(kind: str, value: Value) -> Any:
    if kind == "text":
        return value.data.decode("utf-8", "replace")
    if kind == "json":
        return json.parse(value.data.decode("utf-8", "replace"))
    if kind == "arrayBuffer":
        return ArrayBuffer.make(value.data)
    if kind == "stream":
        return ReadableStream.of_bytes(value.data)
    raise type_error(UNKNOWN_TYPE)


def _bulk_value(kind: str, value: Value) -> Any:
    try:
        return _as(kind or "text", value)
    except JsException:
        message = NOT_OF_KIND.format(kind=kind)
        raise failed("GET_BULK", 400, message) from None


def _metadata(value: Value | None) -> Any:
    return jsnull if value is None or value.metadata is None else json.parse(value.metadata)


def _written(value: Any) -> bytes | ReadableStream:
    """The value of a put: a copy of its bytes, or the stream that gives them. Primitives become JavaScript's words."""
    if isinstance(value, ReadableStream):
        value.check_source()
        return value
    if is_buffer(value):
        return as_bytes(value)
    if is_nullish(value) or isinstance(value, (str, bool, int, float)):
        return to_string(value).encode()
    raise type_error(REFUSED_VALUE)
