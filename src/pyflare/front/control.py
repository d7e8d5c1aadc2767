"""Paths that pyflare answers itself: `/__scheduled` and what lies under `/cdn-cgi/`.

A control path may do what no web page should: Host and Origin must name this machine (miniflare, `entry.worker.ts`).
Further routes are entries of the table: `control.add("/cdn-cgi/local/thing", handler)`, or a whole ASGI app below a
prefix with `mount`, which is loaded when it is first asked for. Unknown paths are the worker's, but
for those that look like a handler's.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pyflare.front.asgi import AsgiApp, answer_with_asgi
from pyflare.front.exchange import Exchange
from pyflare.front.incoming import path_of
from pyflare.front.pages import plain
from pyflare.interop.web.status import status_text

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
HANDLERS = "/cdn-cgi/handler/"  # below it nothing is the worker's
SUGGESTION = 'Did you mean to use "/cdn-cgi/handler/scheduled" or "/cdn-cgi/handler/email"?'
TEXT, JSON, HTML = "text/plain;charset=UTF-8", "application/json", "text/html;charset=UTF-8"


@dataclass(frozen=True)
class Call:
    """A request to a control path. Of a query parameter given twice the first counts."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""

    def json(self) -> Any:
        """The body; ValueError when it is no JSON."""
        return json.loads(self.body or b"null")


@dataclass(frozen=True)
class Answer:
    body: str | bytes = ""
    status: int = 200
    kind: str = TEXT
    headers: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of_json(cls, value: Any, status: int = 200) -> Answer:
        return cls(json.dumps(value, separators=(",", ":"), default=str), status, JSON)


Handler = Callable[[Call], Awaitable[Answer]]


class Control:
    """The table of control routes. `hosts`: names besides this machine's that may use them."""

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self._hosts = frozenset((*LOCAL_HOSTS, *(host.strip("[]").lower() for host in hosts)))
        self._routes: dict[str, Handler] = {}
        self._mounts: dict[str, Callable[[], AsgiApp]] = {}
        self._loaded: dict[str, AsgiApp] = {}
        self._quiet: set[str] = set()

    def add(self, path: str, handler: Handler, quiet: bool = False) -> None:
        """Answer exactly `path`, whatever the method. `quiet`: its requests are no lines on the terminal."""
        self._routes[path] = handler
        if quiet:
            self._quiet.add(path)

    def mount(self, prefix: str, load: Callable[[], AsgiApp], quiet: bool = False) -> None:
        """Give everything at or below `prefix` to an ASGI app; its `root_path` is the prefix."""
        self._mounts[prefix] = load
        if quiet:
            self._quiet.add(prefix)

    def is_quiet(self, target: str) -> bool:
        path = path_of(target)
        return path in self._quiet or self._prefix_of(path) in self._quiet

    async def answer(self, exchange: Exchange) -> bool:
        """Answer the request if it is ours to answer; False: it is the worker's."""
        path = path_of(exchange.target)
        headers = dict(exchange.headers)
        if path.startswith("/cdn-cgi/") and not self._is_known(_host(headers.get("host", ""))):
            plain(exchange, 403, "Forbidden", "Invalid Host header")
            return True
        handler = self._routes.get(path)
        prefix = None if handler else self._prefix_of(path)
        ours = handler is not None or prefix is not None or path.startswith("/cdn-cgi/")
        if ours and "origin" in headers and not self._is_known(urlsplit(headers["origin"]).hostname):
            plain(exchange, 403, "Forbidden", "Invalid Origin header")
        elif handler is not None:
            await _answer(exchange, handler, path, headers)
        elif prefix is not None:
            await answer_with_asgi(exchange, self._app(prefix), prefix)
        elif path.startswith(HANDLERS):
            plain(exchange, 404, "Not Found", f'"{path}" is not a valid handler. {SUGGESTION}')
        else:
            return False
        return True

    def _is_known(self, host: str | None) -> bool:
        return host is not None and host.lower() in self._hosts

    def _prefix_of(self, path: str) -> str | None:
        below = (prefix for prefix in self._mounts if path == prefix or path.startswith(f"{prefix}/"))
        return max(below, key=len, default=None)

    def _app(self, prefix: str) -> AsgiApp:
        if prefix not in self._loaded:
            self._loaded[prefix] = self._mounts[prefix]()
        return self._loaded[prefix]


async def _answer(exchange: Exchange, handler: Handler, path: str, headers: Mapping[str, str]) -> None:
    pieces = []
    while piece := await exchange.read():
        pieces.append(piece)
    query: dict[str, str] = {}
    for name, value in parse_qsl(exchange.target.partition("?")[2], keep_blank_values=True):
        query.setdefault(name, value)
    answer = await handler(Call(exchange.method, path, query, headers, b"".join(pieces)))
    body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    exchange.respond(answer.status, status_text(answer.status), [("content-type", answer.kind), *answer.headers], body)


def _host(header: str) -> str | None:
    """The name in a Host header, without port and brackets."""
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None
