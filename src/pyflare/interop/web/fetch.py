"""js.fetch. developers.cloudflare.com/workers/runtime-apis/fetch

A bad URL or option is thrown at the call; everything later rejects the promise. The request is fixed at the call and
leaves after the writes of an object are committed.
"""

from __future__ import annotations

from typing import Any

from pyflare.interop import scope
from pyflare.interop.errors import JsException, error, type_error
from pyflare.interop.global_scope import check_not_global
from pyflare.interop.promise import JsPromise, confirmed, start
from pyflare.interop.proxy import is_nullish, jsnull
from pyflare.interop.web import outbound
from pyflare.interop.web.abort import AbortSignal
from pyflare.interop.web.body import Body
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response

NO_INTERNET = (
    "This worker is not permitted to access the internet via global functions like fetch(). It must use capabilities "
    "(such as bindings in 'env') to talk to the outside world."
)
MAX_REDIRECTS = 20  # fetch.spec.whatwg.org, "HTTP-redirect fetch"


def fetch(resource: Any = None, init: Any = None) -> JsPromise:
    check_not_global()
    request = resource if isinstance(resource, Request) and init is None else Request.construct(resource, init)
    fetcher = request.fetcher
    if not is_nullish(fetcher):
        return fetcher.fetch(request)  # type: ignore[no-any-return]
    running = scope.current.get()
    elsewhere = None if running is None else getattr(running.worker, "outbound", None)
    if elsewhere is jsnull:
        return JsPromise.reject(error(NO_INTERNET))
    if elsewhere is not None:
        return elsewhere.fetch(request)  # type: ignore[no-any-return]
    try:
        body = None if request._body is None else request._body.move()
    except JsException as raised:
        return JsPromise.reject(raised)
    signal = request._signal
    if signal is not None and signal.aborted:
        return JsPromise.reject(signal.reason)
    promise = start(_fetch(request, body, signal))
    if signal is not None:
        _abort_with(promise, signal)
    return promise


def _abort_with(promise: JsPromise, signal: AbortSignal) -> None:
    def abort(reason: Any) -> None:
        promise._reject(reason)
        if promise._task is not None:
            promise._task.cancel()

    forget = signal.when_aborted(abort)
    promise._when_settled(forget)


async def _fetch(request: Request, body: Body | None, signal: AbortSignal | None) -> Response:
    await confirmed()
    urls: list[str] = []
    request._body = body
    while len(urls) <= MAX_REDIRECTS:
        urls.append(request.url)
        response = await _send(request)
        following = request.redirected_by(response)
        if following is None:
            response._redirected = len(urls) > 1
            if signal is not None and response._body is not None:
                signal.when_aborted(response._body.fail)
            return response
        if response._body is not None:
            await response._body.discard()
        request = following
    raise type_error("Too many redirects." + ", ".join(urls))


async def _send(request: Request) -> Response:
    scheme = request.url.partition(":")[0]
    if scheme not in ("http", "https"):
        raise type_error(f"Fetch API cannot load: {request.url}")
    if (request.headers.first("upgrade") or "").lower() == "websocket":
        from pyflare.interop.web.websocket_client import upgrade  # noqa: PLC0415  (brings the WebSocket client)

        return await upgrade(request)
    return await outbound.send(request, request._body)
