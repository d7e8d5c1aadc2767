"""What rooms offer by their own `routes()`: (method, path template, handler of JSON and parameters)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pyflare.dashboard.answers import Json, body_of
from pyflare.dashboard.source import Source

Handler = Callable[[Any, Mapping[str, str]], Awaitable[tuple[int, dict[str, Any]]]]


def routes(server: Source) -> list[Route]:
    found = []
    for engine in server.engines.values():
        for method, path, handler in engine.routes():
            found.append(Route(path, _endpoint(handler, engine.malformed), methods=[method]))
    return found


def _endpoint(handler: Handler, malformed: int) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        params = {name: request.query_params.getlist(name)[0] for name in request.query_params}
        status, answer = await handler(await body_of(request, malformed), {**params, **request.path_params})
        return Json(answer, status)

    endpoint.__doc__ = getattr(handler, "__doc__", None)
    return endpoint
