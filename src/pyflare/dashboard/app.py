"""The two ASGI apps of the explorer, as `front` mounts them."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pyflare.dashboard import d1, durable_objects, hooks, kv, openapi, r2, rooms, workers
from pyflare.dashboard.answers import FAILED, Json, Refused, failure, not_served, refused, refused_by_a_room
from pyflare.dashboard.source import Source
from pyflare.interop.errors import JsException

PAGE = Path(__file__).parent / "static"

ACCOUNT = "/accounts/{account_id}"
WITHOUT_ACCOUNT = ("/local/", "/accounts/")  # what is ours alone, and what has its account already

METHODS = "GET, POST, PUT, PATCH, DELETE, OPTIONS"
HEADERS = "Content-Type, cf-metadata-only, cf-r2-custom-metadata"
PREFLIGHT_SECONDS = 86_400


def explorer(server: Source) -> ASGIApp:
    """The page and the REST API."""
    modules = (workers, kv, d1, durable_objects, r2, rooms)
    api = [route for module in modules for route in module.routes(server)]
    api += [_of_an_account(route) for route in api if not route.path.startswith(WITHOUT_ACCOUNT)]

    async def description(request: Request) -> Response:
        return Json(openapi.document(api))

    return _app(
        server,
        [
            Route("/api", description, methods=["GET"]),
            Mount("/api", routes=api),
            Mount("/", Page(directory=PAGE, html=True)),
        ],
    )


def _of_an_account(route: Route) -> Route:
    """A path of Cloudflare's as its clients ask for it; any account will do."""
    return Route(f"{ACCOUNT}{route.path}", route.endpoint, methods=list(route.methods or ()))


def objects(server: Source) -> ASGIApp:
    """The hooks of Durable Objects."""
    return _app(server, hooks.routes(server))


def _app(server: Source, routes: Sequence[BaseRoute]) -> ASGIApp:
    async def failed(request: Request, raised: Exception) -> Response:
        server.log.error("".join(traceback.format_exception(raised)).rstrip())
        return failure(500, FAILED, str(raised) or type(raised).__name__)

    expected = {Refused: refused, HTTPException: not_served, JsException: refused_by_a_room}
    # Starlette would raise the rest once more after its answer, which would cut the connection.
    rest = Middleware(ExceptionMiddleware, handlers={Exception: failed})
    middleware = [Middleware(AtRoot), Middleware(Cors), rest]
    return Starlette(routes=routes, middleware=middleware, exception_handlers=expected)


class Page(StaticFiles):
    """Files that a browser asks for again each time, since an upgrade changes them under their names."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "no-cache"
        return response


class AtRoot:
    """Serves the prefix itself as the prefix with a slash."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == scope["root_path"]:
            scope = {**scope, "path": f"{scope['path']}/"}
        await self._app(scope, receive, send)


class Cors:
    """Lets pages of this machine read: which Origin is this machine's was checked before (miniflare does the same)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Request(scope).headers.get("origin") if scope["type"] == "http" else None
        if scope["type"] == "http" and scope["method"] == "OPTIONS":
            await _preflight(origin)(scope, receive, send)
            return

        async def allow(message: Message) -> None:
            if message["type"] == "http.response.start" and origin is not None:
                pair = (b"access-control-allow-origin", origin.encode("latin-1"))
                message = {**message, "headers": [*message.get("headers", ()), pair]}
            await send(message)

        await self._app(scope, receive, allow)


def _preflight(origin: str | None) -> Response:
    return Response(
        status_code=204,
        headers={
            "access-control-allow-origin": origin or "*",
            "access-control-allow-methods": METHODS,
            "access-control-allow-headers": HEADERS,
            "access-control-max-age": str(PREFLIGHT_SECONDS),
        },
    )
