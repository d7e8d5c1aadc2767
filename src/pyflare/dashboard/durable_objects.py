"""Durable Objects over REST (developers.cloudflare.com/api/resources/durable_objects). A namespace's id is its unique
key, `<worker>-<Class>`; SQL runs within the object, as an event of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pyflare.dashboard.answers import Refused, cell, fields_of, listing, number, success
from pyflare.dashboard.source import Source
from pyflare.errors import EngineError

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.engine import DurableObjects
    from pyflare.engines.durable_objects.namespace import Namespace
    from pyflare.engines.durable_objects.query import Found

NO_NAMESPACE = 10066  # Cloudflare's code
ALL = "/workers/durable_objects/namespaces"


def routes(server: Source) -> list[Route]:
    api = Api(server.engines.get("durable_objects"))
    return [
        Route(ALL, api.namespaces, methods=["GET"]),
        Route(f"{ALL}/{{namespace_id}}/objects", api.objects, methods=["GET"]),
        Route(f"{ALL}/{{namespace_id}}/query", api.query, methods=["POST"]),
    ]


class Api:
    def __init__(self, room: DurableObjects | None) -> None:
        self._room = room

    async def namespaces(self, request: Request) -> Response:
        """List the classes."""
        return listing([] if self._room is None else [_described(one) for one in self._room.namespaces])

    async def objects(self, request: Request) -> Response:
        """List the objects of a class that have stored something."""
        namespace = self._namespace(request)
        limit, after = number(request, "limit", 1000, 10, 10_000), request.query_params.get("cursor", "")
        ids = [id for id in namespace.stored() if id > after]
        page = ids[:limit]
        objects = []
        for id in page:
            name = namespace.name_of(id)
            objects.append({"id": id, "hasStoredData": True, **({} if name is None else {"name": name})})
        return success(objects, {"count": len(page), "cursor": page[-1] if len(ids) > limit else ""})

    async def query(self, request: Request) -> Response:
        """Run SQL: {durable_object_id or durable_object_name, queries: [{sql, params}]}, several in a transaction."""
        namespace, fields = self._namespace(request), await fields_of(request)
        if not namespace.sqlite:
            raise Refused(400, f"Namespace does not use SQLite storage: {namespace.unique_key}")
        queries = _queries(fields)
        wanted = fields.get("durable_object_id") or fields.get("durable_object_name")
        if not isinstance(wanted, str):
            raise Refused(400, "durable_object_id: Invalid input: expected string, received undefined")
        assert self._room is not None
        try:
            found = await self._room.query(namespace.unique_key, wanted, queries)
        except EngineError as raised:
            raise Refused(400, str(raised)) from None
        return success([_result(one) for one in found])

    def _namespace(self, request: Request) -> Namespace:
        id = request.path_params["namespace_id"]
        for namespace in () if self._room is None else self._room.namespaces:
            if namespace.unique_key == id:
                return namespace
        raise Refused(404, f"Durable Object namespace ID '{id}' not found.", NO_NAMESPACE)


def _described(namespace: Namespace) -> Mapping[str, Any]:
    return {
        "id": namespace.unique_key,
        "name": f"{namespace.worker}_{namespace.class_name}",
        "script": namespace.worker,
        "class": namespace.class_name,
        "use_sqlite": namespace.sqlite,
    }


def _queries(fields: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    given = fields.get("queries")
    if not isinstance(given, list):
        raise Refused(400, "queries: Invalid input: expected array")
    if not given:
        raise Refused(400, "No queries provided")
    queries = []
    for at, one in enumerate(given):
        sql, params = (one.get("sql"), one.get("params") or []) if isinstance(one, dict) else (None, [])
        if not isinstance(sql, str) or not isinstance(params, list):
            raise Refused(400, f"queries.{at}: Invalid input: expected {{sql: string, params?: array}}")
        queries.append((sql, params))
    return queries


def _result(found: Found) -> dict[str, Any]:
    rows = [[cell(value) for value in row] for row in found.rows]
    meta = {"rows_read": found.read, "rows_written": found.written}
    return {"columns": list(found.columns), "rows": rows, "meta": meta}
