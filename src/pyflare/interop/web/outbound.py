"""Requests that leave the machine's workers: over aiohttp, which is imported by the first one.

One client session an event loop, so that connections are kept; `close` ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pyflare.interop import scope
from pyflare.interop.errors import JsException, error
from pyflare.interop.promise import as_exception
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.readable import LOST
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.interop.web.status import NULL_BODY_STATUSES

if TYPE_CHECKING:
    import aiohttp

MAX_HEADER_BYTES = 128 * 1024  # of one line; Cloudflare takes 128 KB of headers in all

# What the connection itself decides, whatever the worker says.
_OF_THE_CONNECTION = frozenset(
    {"connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade", "cf-connecting-ip"}
)
_DECODED = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})
_AUTOMATIC = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")

_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = WeakKeyDictionary()


def session() -> aiohttp.ClientSession:
    """The client of the running loop."""
    import aiohttp  # noqa: PLC0415  (heavy, and many workers never fetch)

    loop = asyncio.get_running_loop()
    known = _sessions.get(loop)
    if known is None or known.closed:
        known = _sessions[loop] = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0),
            skip_auto_headers=_AUTOMATIC,
            max_line_size=MAX_HEADER_BYTES,
            max_field_size=MAX_HEADER_BYTES,
        )
    return known


async def close() -> None:
    """End the running loop's client; a server calls it when it closes."""
    known = _sessions.pop(asyncio.get_running_loop(), None)
    if known is not None:
        await known.close()


def outgoing_headers(headers: Headers) -> list[tuple[str, str]]:
    """What goes over the wire: the worker's headers and the mark that a worker sent them."""
    pairs = [pair for pair in headers.pairs() if pair[0] not in _OF_THE_CONNECTION and pair[0] != "cf-worker"]
    running = scope.current.get()
    name = "worker" if running is None else getattr(running.worker, "name", "worker")
    pairs.append(("cf-worker", f"{name}.example.com"))
    if headers.first("accept-encoding") is None:
        pairs.append(("accept-encoding", "gzip"))
    return pairs


async def send(request: Request, body: Body | None) -> Response:
    """One exchange, without following redirects. The answer comes with its headers; its body is a stream."""
    import aiohttp  # noqa: PLC0415  (see `session`)
    from yarl import URL  # noqa: PLC0415  (comes with aiohttp)

    headers = outgoing_headers(request.headers)
    data: Any = None
    if body is not None:
        data = body.take()
        if data is None:
            data = body.rest()
            if body.length is not None:
                headers.append(("content-length", str(body.length)))
    try:
        answer = await session().request(
            request.method, URL(request.url, encoded=True), headers=headers, data=data, allow_redirects=False
        )
    except (aiohttp.ClientError, OSError) as raised:
        raise network_error(raised) from None
    return _response(request, answer)


def network_error(raised: BaseException) -> JsException:
    """What a worker sees of a connection that failed."""
    return raised if isinstance(raised, JsException) else error(LOST)


def _response(request: Request, answer: aiohttp.ClientResponse) -> Response:
    pairs = [(name.decode("latin-1"), _text(value)) for name, value in answer.raw_headers]
    headers: Headers = Headers.make(pairs, True)
    encoded = (headers.first("content-encoding") or "").strip().lower() in _DECODED
    length = None if encoded else answer.content_length
    body = None
    if request.method == "HEAD" or answer.status in NULL_BODY_STATUSES:
        answer.release()
    else:
        body = Body.make(Chunks(answer), length)
    url = request.url.partition("#")[0]
    return Response.make(answer.status, answer.reason or "", headers, body, None, "automatic", url)


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


class Chunks:
    """The body of an answer; closing it early gives up the connection."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer
        self._pieces = answer.content.iter_any()
        self._reason: Any = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        import aiohttp  # noqa: PLC0415  (see `session`)

        try:
            return await anext(self._pieces)
        except (aiohttp.ClientError, OSError) as raised:
            raise (network_error(raised) if self._reason is None else as_exception(self._reason)) from None

    async def aclose(self) -> None:
        self._answer.close()

    def fail(self, reason: Any) -> None:
        """Give up the connection; who reads gets `reason`."""
        self._reason = reason
        self._answer.close()
