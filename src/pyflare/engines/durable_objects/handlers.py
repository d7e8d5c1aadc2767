"""How an object's methods are called, within its scope: fetch, RPC, alarm, the WebSocket handlers.

`fetch`, `alarm` and `webSocket*` are called with as many arguments as they take; `alarm` and `webSocket*` get values of
JavaScript as they are. Classes of dates before 2025-08-14 may name them `on_fetch`, `on_alarm`, `on_webSocketMessage`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from pyflare.interop import scope
from pyflare.interop.errors import error, type_error
from pyflare.interop.modules.pyodide_code import positional_count
from pyflare.interop.rpc import invoke, of_python, remote
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.worker.signature import explain

Work = Callable[[Any], Awaitable[Any]]


def handler(target: Any, name: str) -> Callable[..., Any] | None:
    found = getattr(target, name, None) or getattr(target, f"on_{name}", None)
    return found if callable(found) else None


def relaxed(target: Any, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call with surplus arguments cut off."""
    running = scope.current.get()
    assert running is not None
    arities, key = running.worker.arities, (type(target), name)
    count = arities.get(key)
    if count is None:
        count = arities[key] = positional_count(function, len(args))
    return function(*args[:count])


async def call(target: Any, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        result = relaxed(target, name, function, args)
    except TypeError as raised:
        explain(raised, function, name, positional_count(function, len(args)))
        raise
    return await result if inspect.isawaitable(result) else result


def call_method(method: str, args: tuple[Any, ...]) -> Work:
    """Arguments are copies already; the result is copied."""

    async def work(target: Any) -> Any:
        return await invoke(target, method, args)

    return work


def call_fetch(request: Request) -> Work:
    async def work(target: Any) -> Response:
        running = scope.current.get()
        assert running is not None
        function = handler(target, "fetch")
        if function is None:
            raise remote(error("Handler does not export a fetch() function."))
        try:
            result = await call(target, "fetch", function, (running.worker.sdk.Request(request), None, None))
        except Exception as raised:
            raise of_python(raised) from None
        return _response(result, f"{type(target).__name__}.fetch")

    return work


def _response(result: Any, name: str) -> Response:
    response = getattr(result, "js_object", result)
    if isinstance(response, Response):
        return response
    given = "None" if result is None else type(result).__name__
    wrong = type_error(
        "Incorrect type for Promise: the Promise did not resolve to 'Response'. "
        f"{name} returned {given}: return Response(...) or Response.json(...)"
    )
    raise remote(wrong)
