"""D1 over REST (developers.cloudflare.com/api/resources/d1): the databases, and SQL whose rows come as objects or as
arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import apsw
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pyflare.dashboard.answers import Refused, cell, fields_of, paged, success
from pyflare.dashboard.source import Source
from pyflare.engines.d1.binding import bound
from pyflare.engines.d1.store import Query, Result
from pyflare.interop.errors import JsException
from pyflare.interop.json import from_plain

if TYPE_CHECKING:
    from pyflare.engines.d1.engine import D1

NO_DATABASE, NO_QUERY = 7404, 7500  # Cloudflare's codes


def routes(server: Source) -> list[Route]:
    api = Api(server.engines.get("d1"))
    return [
        Route("/d1/database", api.databases, methods=["GET"]),
        Route("/d1/database/{database_id}", api.database, methods=["GET"]),
        Route("/d1/database/{database_id}/query", api.query, methods=["POST"]),
        Route("/d1/database/{database_id}/raw", api.raw, methods=["POST"]),
    ]


class Api:
    def __init__(self, room: D1 | None) -> None:
        self._room = room

    async def databases(self, request: Request) -> Response:
        """List databases, by ?name those that have it in their name."""
        wanted = request.query_params.get("name", "").lower()
        known = {} if self._room is None else self._room.databases
        return paged(request, [_described(id, name) for id, name in known.items() if wanted in name.lower()])

    async def database(self, request: Request) -> Response:
        """One database."""
        room, id = self._found(request)
        return success(_described(id, room.databases[id]))

    async def query(self, request: Request) -> Response:
        """Run {sql, params}, or all or nothing of {batch: [{sql, params}]}; a row is an object."""
        return await self._run(request, _objects)

    async def raw(self, request: Request) -> Response:
        """The same; a row is an array."""
        return await self._run(request, _arrays)

    async def _run(self, request: Request, shape: Callable[[Result], Any]) -> Response:
        room, id = self._found(request)
        queries = _queries(await fields_of(request))
        try:
            return success([_answer(result, shape(result)) for result in await room.query(id, queries)])
        except JsException as raised:
            raise Refused(400, raised.message, NO_QUERY) from None

    def _found(self, request: Request) -> tuple[D1, str]:
        """The room, and the id of a database that it has."""
        id: str = request.path_params["database_id"]
        if self._room is None or id not in self._room.databases:
            raise Refused(404, f"The database {id} could not be found", NO_DATABASE)
        return self._room, id


def _described(id: str, name: str) -> dict[str, str]:
    return {"name": name, "uuid": id, "version": "production"}


def _queries(fields: Mapping[str, Any]) -> list[Query]:
    batch = fields.get("batch")
    if batch is None:
        return _parts(_query(fields, ""))
    if not isinstance(batch, list) or not all(isinstance(one, dict) for one in batch):
        raise Refused(400, "batch: Invalid input: expected array of objects")
    return [part for at, one in enumerate(batch) for part in _parts(_query(one, f"batch.{at}."))]


def _parts(query: Query) -> list[Query]:
    """Each statement of a text has a result of its own; with parameters, which are the last one's, the text stays
    whole."""
    if query.params:
        return [query]
    parts, begin = [], 0
    for semicolon in re.finditer(";", query.sql):
        if apsw.complete(part := query.sql[begin : semicolon.end()]):
            parts.append(part)
            begin = semicolon.end()
    return [Query(part) for part in (*parts, query.sql[begin:]) if part.strip("; \t\r\n")] or [query]


def _query(fields: Mapping[str, Any], path: str) -> Query:
    sql, params = fields.get("sql"), fields.get("params") or []
    if not isinstance(sql, str):
        raise Refused(400, f"{path}sql: Invalid input: expected string")
    if not isinstance(params, list):
        raise Refused(400, f"{path}params: Invalid input: expected array")
    try:
        return Query(sql, [bound(from_plain(value)) for value in params])
    except JsException as raised:
        raise Refused(400, f"{path}params: {raised.message}") from None


def _objects(result: Result) -> list[dict[str, Any]]:
    return [dict(zip(result.columns, map(cell, row), strict=True)) for row in result.rows]


def _arrays(result: Result) -> dict[str, Any]:
    return {"columns": list(result.columns), "rows": [list(map(cell, row)) for row in result.rows]}


def _answer(result: Result, results: Any) -> dict[str, Any]:
    meta = result.meta
    return {
        "results": results,
        "success": True,
        "meta": {
            "served_by": "miniflare.db",
            "duration": meta.duration,
            "changes": meta.changes,
            "last_row_id": meta.last_row_id,
            "changed_db": meta.changed_db,
            "size_after": meta.size_after,
            "rows_read": meta.rows_read,
            "rows_written": meta.rows_written,
        },
    }
