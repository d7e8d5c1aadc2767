"""From the wire to JavaScript's Request, decorated as Cloudflare's edge does.

The host of the URL is the Host header's (or what `--host` or a route say), dot segments are resolved and percent
escapes stay; `accept-encoding` is always `br, gzip`, what the client sent is in `request.cf.clientAcceptEncoding`;
`CF-Connecting-IP` is the client's address unless it sent one (wrangler's miniflare, `entry.worker.ts`).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from functools import partial

from pyflare.config.model import DevSettings
from pyflare.front.cf import placeholder
from pyflare.front.exchange import ClientGone, Exchange
from pyflare.interop.errors import error
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.url import normalize

ACCEPT_ENCODING = "br, gzip"
KNOWN_HOSTS = 256  # origins that are remembered

# A target that URL parsing leaves as it is: nothing to escape, no dot segments.
_PLAIN = re.compile(r"(?:/(?!\.|%2[eE])[A-Za-z0-9\-._~!$&()*+,;=:@%]*)+(?:\?[A-Za-z0-9\-._~!$&()*+,;=:@%/?]*)?")


class BadHost(ValueError):
    """The Host header cannot be part of a URL."""


class Incoming:
    """Makes requests for one worker."""

    def __init__(self, dev: DevSettings | None) -> None:
        self._dev = dev or DevSettings()
        self._origins: dict[tuple[str, str], str] = {}

    def request(self, exchange: Exchange) -> Request:
        """Raises `BadHost`."""
        headers = exchange.headers
        host = client_encoding = ""
        ip_at = encoding_at = -1
        length: int | None = None
        framed = False
        for at, (name, value) in enumerate(headers):
            if name == "host":
                host = value
            elif name == "accept-encoding":
                encoding_at, client_encoding = at, value
            elif name == "cf-connecting-ip":
                ip_at = at
            elif name == "content-length":
                framed, length = True, int(value)
            elif name == "transfer-encoding":
                framed = True
        if encoding_at < 0:
            headers.append(("accept-encoding", ACCEPT_ENCODING))
        else:
            headers[encoding_at] = ("accept-encoding", ACCEPT_ENCODING)
        if ip_at < 0:
            headers.append(("cf-connecting-ip", exchange.connection.client))
        exchange.accepts = client_encoding
        scheme = exchange.connection.scheme
        origin = self._origins.get((scheme, host)) or self._origin(scheme, host)
        if self._dev.host is not None:
            headers[:] = [("host", self._dev.host) if pair[0] == "host" else pair for pair in headers]
        return Request.make(
            exchange.method,
            _url(origin, exchange.target),
            Headers.make(headers, True),
            _body(exchange, length) if framed and exchange.method not in ("GET", "HEAD") else None,
            partial(placeholder, client_encoding),
        )

    def _origin(self, scheme: str, host: str) -> str:
        if self._dev.host is not None:
            url = normalize(f"{self._dev.upstream_protocol}://{self._dev.host}/")
        else:
            url = normalize(f"{scheme}://{host or 'localhost'}/")
        if url is None or url.count("/") != 3:
            raise BadHost(host)
        if len(self._origins) >= KNOWN_HOSTS:
            self._origins.clear()
        origin = self._origins[scheme, host] = url[:-1]
        return origin


def path_of(target: str) -> str:
    """The path of a request's target, for logs and comparisons."""
    return target.partition("?")[0]


def _url(origin: str, target: str) -> str:
    if _PLAIN.fullmatch(target):
        return origin + target
    target = target.partition("#")[0]
    if target.startswith("/"):
        return normalize(origin + target) or f"{origin}/"
    return normalize(target) or f"{origin}/"  # the absolute form, as proxies send it; `OPTIONS *`


def _body(exchange: Exchange, length: int | None) -> Body:
    whole = exchange.whole()
    return Body.make(_pieces(exchange), length) if whole is None else Body.make(whole)


async def _pieces(exchange: Exchange) -> AsyncIterator[bytes]:
    try:
        while piece := await exchange.read():
            yield piece
    except ClientGone as gone:
        raise error(str(gone)) from gone
