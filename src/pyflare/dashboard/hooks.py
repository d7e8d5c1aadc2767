"""Durable Objects by hand, for curl. An object is named by its name or by its id; ?worker= where a class is ambiguous.

    GET    /cdn-cgi/local/durable-objects                       all objects; ?class=Counter those of a class
    POST   /cdn-cgi/local/durable-objects/evict                 every object falls asleep as soon as it is idle
    POST   /cdn-cgi/local/durable-objects/{class}/{object}/evict
    POST   /cdn-cgi/local/durable-objects/{class}/{object}/abort   ?reason=; as `ctx.abort()`
    POST   /cdn-cgi/local/durable-objects/{class}/{object}/alarm   run the alarm now, whenever it is due, to its end
    DELETE /cdn-cgi/local/durable-objects/{class}/{object}      with all data

Each gives the envelope; `result` says whether there was something to do.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pyflare.dashboard.answers import Refused, listing, success
from pyflare.dashboard.source import Source
from pyflare.errors import EngineError

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.engine import DurableObjects

ONE = "/{class}/{object:path}"
BUSY = 409


def routes(server: Source) -> list[Route]:
    api = Api(server.engines.get("durable_objects"))
    return [
        Route("/", api.objects, methods=["GET"]),
        Route("/evict", api.evict_all, methods=["POST"]),
        Route(f"{ONE}/evict", api.evict, methods=["POST"]),
        Route(f"{ONE}/abort", api.abort, methods=["POST"]),
        Route(f"{ONE}/alarm", api.alarm, methods=["POST"]),
        Route(ONE, api.delete, methods=["DELETE"]),
    ]


class Api:
    def __init__(self, room: DurableObjects | None) -> None:
        self._found = room

    async def objects(self, request: Request) -> Response:
        """List objects."""
        rooms = [] if self._found is None else [self._found]
        wanted = request.query_params.get("class")
        return listing([asdict(row) for room in rooms for row in room.objects(wanted)])

    async def evict_all(self, request: Request) -> Response:
        """Let every object fall asleep."""
        try:
            return success({"evicted": await self._room.evict_all()})
        except EngineError as raised:
            raise Refused(BUSY, str(raised)) from None

    async def evict(self, request: Request) -> Response:
        """Let an object fall asleep; its sockets stay open."""
        which = self._which(request)
        try:
            return success({"evicted": await self._room.evict(*which)})
        except EngineError as raised:
            raise Refused(BUSY, str(raised)) from None

    async def abort(self, request: Request) -> Response:
        """Reset an object."""
        reason = request.query_params.get("reason", "")
        return success({"aborted": self._room.abort(*self._which(request), reason)})

    async def alarm(self, request: Request) -> Response:
        """Run the alarm of an object."""
        return success({"ran": await self._room.run_alarm(*self._which(request))})

    async def delete(self, request: Request) -> Response:
        """Delete an object."""
        return success({"deleted": self._room.delete(*self._which(request))})

    @property
    def _room(self) -> DurableObjects:
        if self._found is None:
            raise Refused(404, "No worker has Durable Objects")
        return self._found

    def _which(self, request: Request) -> tuple[str, str, str | None]:
        which = (request.path_params["class"], request.path_params["object"], request.query_params.get("worker"))
        try:
            self._room.find(*which)
        except EngineError as raised:
            raise Refused(404, str(raised)) from None
        return which
