"""The network, as a test plays it for the workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pyflare.interop.awaiting import value_of
from pyflare.interop.rpc import Fetcher
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.outbound import network_error
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.interop.web.status import NULL_BODY_STATUSES
from pyflare.testing.views import Answer, Outgoing

Outbound = Callable[[Outgoing], "Answer | Awaitable[Answer]"]


class Network(Fetcher):
    """Where the `fetch` of a worker goes. An OSError that `outbound` raises is a connection that failed."""

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound

    async def _js_fetch(self, request: Request) -> Response:
        content = b"" if request._body is None else await request._body.gather()
        try:
            answer = await value_of(
                self._outbound(Outgoing(request.method, request.url, request.headers.pairs(), content))
            )
        except OSError as raised:
            raise network_error(raised) from None
        body = None if answer.status in NULL_BODY_STATUSES else Body.make(answer.content)
        response: Response = Response.make(answer.status, answer.reason, Headers.make(list(answer.headers)), body)
        return response
