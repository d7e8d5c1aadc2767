"""KV over REST (developers.cloudflare.com/api/resources/kv); of values only the bytes travel, without an envelope."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pyflare.dashboard.answers import Refused, body_of, choice, fields_of, number, paged, strings, success
from pyflare.dashboard.source import Source
from pyflare.engines.kv.namespace import NOT_OF_KIND, described

if TYPE_CHECKING:
    from pyflare.engines.kv.engine import Kv
    from pyflare.engines.kv.namespace import Namespace, Value

NO_KEY, NO_NAMESPACE = 10009, 10013  # Cloudflare's codes
MAX_FORM_BYTES = 32 * 1024 * 1024  # of one field; KV itself refuses values over 25 MiB
ONE = "/storage/kv/namespaces/{namespace_id}"


def routes(server: Source) -> list[Route]:
    api = Api(server.engines.get("kv"))
    return [
        Route("/storage/kv/namespaces", api.namespaces, methods=["GET"]),
        Route(ONE, api.namespace, methods=["GET"]),
        Route(f"{ONE}/keys", api.keys, methods=["GET"]),
        Route(f"{ONE}/metadata/{{key:path}}", api.metadata, methods=["GET"]),
        Route(f"{ONE}/values/{{key:path}}", api.read, methods=["GET"]),
        Route(f"{ONE}/values/{{key:path}}", api.write, methods=["PUT"]),
        Route(f"{ONE}/values/{{key:path}}", api.remove, methods=["DELETE"]),
        Route(f"{ONE}/bulk", api.write_many, methods=["PUT"]),
        Route(f"{ONE}/bulk/get", api.read_many, methods=["POST"]),
        Route(f"{ONE}/bulk/delete", api.remove_many, methods=["POST"]),
    ]


class Api:
    def __init__(self, room: Kv | None) -> None:
        self._room = room

    async def namespaces(self, request: Request) -> Response:
        """List namespaces."""
        order, direction = choice(request, "order", "id", "title"), choice(request, "direction", "asc", "desc")
        titles = {} if self._room is None else self._room.titles
        found = [{"id": id, "title": title} for id, title in titles.items()]
        return paged(request, sorted(found, key=lambda one: one[order], reverse=direction == "desc"))

    async def namespace(self, request: Request) -> Response:
        """One namespace."""
        id = request.path_params["namespace_id"]
        titles = {} if self._room is None else self._room.titles
        if id not in titles:
            raise Refused(404, "get namespace: 'namespace not found'", NO_NAMESPACE)
        return success({"id": id, "title": titles[id]})

    async def keys(self, request: Request) -> Response:
        """List the keys of a namespace."""
        namespace = self._namespace(request, "list keys")
        query = request.query_params
        page = namespace.list(query.get("prefix", ""), number(request, "limit", 1000, 10, 1000), query.get("cursor"))
        keys = [described(entry, json.loads) for entry in page.entries]
        return success(keys, {"count": len(keys), "cursor": page.cursor or ""})

    async def metadata(self, request: Request) -> Response:
        """Read the metadata of a key, null when it has none."""
        return success(_metadata(self._value(request)))

    async def read(self, request: Request) -> Response:
        """Read a value."""
        value = self._value(request)
        headers = {"x-content-type-options": "nosniff"}
        return Response(value.data, media_type="application/octet-stream", headers=headers)

    async def write(self, request: Request) -> Response:
        """Write a value: the body, or a form's `value` with `metadata`; ?expiration and ?expiration_ttl in seconds."""
        namespace, key = self._namespace(request, "put"), request.path_params["key"]
        if "multipart/form-data" in request.headers.get("content-type", ""):
            value, metadata = await _form(request)
        else:
            value, metadata = await request.body(), None
        expiration, ttl = _seconds(request, "expiration"), _seconds(request, "expiration_ttl")
        namespace.write(key, value, expiration, ttl, metadata)
        return success({})

    async def remove(self, request: Request) -> Response:
        """Delete a key."""
        self._namespace(request, "remove key").remove(request.path_params["key"])
        return success({})

    async def read_many(self, request: Request) -> Response:
        """Read up to 100 values as {type}, "text" or "json"; {withMetadata} gives {value, metadata} of each."""
        namespace, fields = self._namespace(request, "bulk get keys"), await fields_of(request)
        kind, with_metadata = fields.get("type") or "text", bool(fields.get("withMetadata"))
        found: dict[str, Any] = {}
        for key, value in namespace.get_many(strings(fields, "keys"), kind):
            found[key] = None if value is None else _shown(value, kind)
            if value is not None and with_metadata:
                found[key] = {"value": found[key], "metadata": _metadata(value)}
        return success({"values": found})

    async def write_many(self, request: Request) -> Response:
        """Write a list of {key, value, expiration, expiration_ttl, metadata, base64}."""
        namespace, pairs = self._namespace(request, "bulk put keys"), await body_of(request)
        if not isinstance(pairs, list) or not all(isinstance(pair, dict) for pair in pairs):
            raise Refused(400, "Invalid input: expected array of objects")
        for pair in pairs:
            namespace.write(*_pair(pair))
        return success({"successful_key_count": len(pairs), "unsuccessful_keys": []})

    async def remove_many(self, request: Request) -> Response:
        """Delete a list of keys."""
        namespace, keys = self._namespace(request, "bulk delete keys"), await body_of(request)
        for key in strings({"keys": keys}, "keys"):
            namespace.remove(key)
        return success({"successful_key_count": len(keys), "unsuccessful_keys": []})

    def _value(self, request: Request) -> Value:
        value = self._namespace(request, "get").get(request.path_params["key"])
        if value is None:
            raise Refused(404, "get: 'key not found'", NO_KEY)
        return value

    def _namespace(self, request: Request, doing: str) -> Namespace:
        id = request.path_params["namespace_id"]
        if self._room is None or id not in self._room.namespace_ids:
            raise Refused(404, f"{doing}: 'namespace not found'", NO_NAMESPACE)
        return self._room.namespace(id)


def _metadata(value: Value) -> Any:
    return None if value.metadata is None else json.loads(value.metadata)


def _shown(value: Value, kind: str) -> Any:
    text = value.data.decode("utf-8", "replace")
    try:
        return json.loads(text) if kind == "json" else text
    except ValueError:
        raise Refused(400, NOT_OF_KIND.format(kind=kind)) from None


async def _form(request: Request) -> tuple[bytes, str | None]:
    """Value and metadata of a form; each may be a field or a file."""
    form = await request.form(max_part_size=MAX_FORM_BYTES)
    value, metadata = await _bytes(form.get("value")), await _bytes(form.get("metadata"))
    if value is None:
        raise Refused(400, "Missing value field")
    try:
        parsed = None if metadata is None else json.loads(metadata)
    except ValueError:
        raise Refused(400, "Invalid metadata JSON") from None
    return value, json.dumps(parsed, separators=(",", ":"), ensure_ascii=False) if parsed is not None else None


def _pair(pair: Mapping[str, Any]) -> tuple[str, bytes, int | None, int | None, str | None]:
    """Key, value, expiration, TTL and metadata of one of many."""
    key, value, metadata = pair.get("key"), pair.get("value"), pair.get("metadata")
    if not isinstance(key, str) or not isinstance(value, str):
        raise Refused(400, "key and value must be strings")
    try:
        data = base64.b64decode(value, validate=True) if pair.get("base64") else value.encode()
    except ValueError:
        raise Refused(400, f'The value of "{key}" is not base64') from None
    text = None if metadata is None else json.dumps(metadata, separators=(",", ":"), ensure_ascii=False)
    return key, data, pair.get("expiration"), pair.get("expiration_ttl"), text


async def _bytes(field: UploadFile | str | None) -> bytes | None:
    if isinstance(field, UploadFile):
        return await field.read()
    return None if field is None else field.encode()


def _seconds(request: Request, name: str) -> int | None:
    given = request.query_params.get(name)
    return None if given is None else number(request, name, 0, -(2**53), 2**53)
