"""What `GET /cdn-cgi/local/explorer/api` gives: the table of routes as an OpenAPI document."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from starlette.routing import Route

BASE = "/cdn-cgi/local/explorer/api"
PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")


def document(routes: Sequence[Route]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        path = PARAMETER.sub(r"{\1}", route.path)
        for method in sorted(set(route.methods or ()) - {"HEAD"}):
            paths.setdefault(path, {})[method.lower()] = _operation(route)
    info = {"title": "pyflare local explorer", "version": "1.0.0"}
    return {"openapi": "3.0.3", "info": info, "servers": [{"url": BASE}], "paths": paths}


def _operation(route: Route) -> dict[str, Any]:
    names = [name for name in PARAMETER.findall(route.path)]
    return {
        "summary": inspect.cleandoc(route.endpoint.__doc__ or "").replace("\n", " "),
        "parameters": [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names],
        "responses": {"default": {"description": "Cloudflare's envelope"}},
    }
