"""`/local/…`: the workers of this server with what they are bound to, the panels of their rooms, and what a room's
panel offers to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pyflare.dashboard.answers import Refused, body_of, listing, success
from pyflare.dashboard.panels import NoSuchAction, Panels
from pyflare.dashboard.source import Source

NOT_OBSERVED = "Local observability is not enabled for this dev session."
NOT_OBSERVED_CODE = 10130


def routes(server: Source) -> list[Route]:
    api = Api(server)
    return [
        Route("/local/workers", api.workers, methods=["GET"]),
        Route("/local/panels", api.panels, methods=["GET"]),
        Route("/local/panels/{room}/{action}", api.act, methods=["POST"]),
        Route("/local/observability/query", api.observability, methods=["POST"]),
        Route("/local/observability/clear", api.observability, methods=["POST"]),
    ]


class Api:
    def __init__(self, server: Source) -> None:
        self._server, self._panels = server, Panels(server.engines)

    async def workers(self, request: Request) -> Response:
        """List the workers and the resources they are bound to."""
        names = [config.name for config in self._server.configs]
        return listing([{"isSelf": True, "name": name, "bindings": self._bindings(name)} for name in names])

    async def panels(self, request: Request) -> Response:
        """What every room, or ?room, shows of itself, and the table of bindings."""
        bindings = [asdict(row) for row in self._server.rows()]
        workers = [config.name for config in self._server.configs]
        try:
            rooms = self._panels.shown(request.query_params.get("room"))
        except NoSuchAction as missing:
            raise Refused(404, str(missing)) from None
        return success({"workers": workers, "bindings": bindings, "rooms": rooms})

    async def act(self, request: Request) -> Response:
        """Do what a panel offers; the body holds the fields."""
        _from_here(request)
        fields = await body_of(request) or {}
        if not isinstance(fields, dict):
            raise Refused(400, "The body must be an object: the fields of the action")
        try:
            return success(await self._panels.act(request.path_params["room"], request.path_params["action"], fields))
        except NoSuchAction as missing:
            raise Refused(404, str(missing)) from None
        except Exception as raised:
            raise Refused(400, str(raised) or type(raised).__name__) from None

    async def observability(self, request: Request) -> Response:
        """Traces are not recorded."""
        raise Refused(404, NOT_OBSERVED, NOT_OBSERVED_CODE)

    def _bindings(self, worker: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        shown = {"kv": _kv, "d1": _d1, "r2": _r2, "durable_objects": _object, "workflows": _workflow}
        names = {"durable_objects": "do"}
        return {
            names.get(name, name): [
                describe(self._server.engines[name], worker, one) for one in self._bound(name, worker)
            ]
            for name, describe in shown.items()
        }

    def _bound(self, room: str, worker: str) -> Sequence[Any]:
        engine = self._server.engines.get(room)
        return () if engine is None else engine.bound(worker)


def _kv(room: Any, worker: str, binding: Any) -> dict[str, Any]:
    return {"id": binding.namespace, "bindingName": binding.name}


def _d1(room: Any, worker: str, binding: Any) -> dict[str, Any]:
    return {"id": binding.database, "bindingName": binding.name}


def _r2(room: Any, worker: str, binding: Any) -> dict[str, Any]:
    return {"id": binding.bucket, "bindingName": binding.name}


def _object(room: Any, worker: str, binding: Any) -> dict[str, Any]:
    owner = binding.script_name or worker
    namespace = room.namespace(owner, binding.class_name)
    return {
        "id": namespace.unique_key,
        "bindingName": binding.name,
        "className": binding.class_name,
        "scriptName": owner,
        "useSqlite": namespace.sqlite,
    }


def _workflow(room: Any, worker: str, binding: Any) -> dict[str, Any]:
    return {
        "id": binding.name,
        "bindingName": binding.binding,
        "className": binding.class_name,
        "scriptName": binding.script_name or worker,
    }


def _from_here(request: Request) -> None:
    """A browser may act only from the page itself: other pages of this machine have another port, thus Origin."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise Refused(403, "Invalid Origin header")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Refused(403, "Invalid Sec-Fetch-Site header")
