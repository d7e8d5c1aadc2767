"""The assets of one worker: which answer a request gets, if any.

Order, as on Cloudflare: `_redirects`; the file of the path, or the canonical path that leads to it; what
`not_found_handling` says. `_headers` are laid over every answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import ada_url

from pyflare.engines.assets.config import AssetsConfig
from pyflare.engines.assets.content_types import content_type
from pyflare.engines.assets.folder import MAX_FILE_BYTES, Folder, Stamp
from pyflare.engines.assets.pages import File, Found, resolve
from pyflare.engines.assets.paths import decode_path, encode_path, split_url
from pyflare.engines.assets.rules import HeaderRules, Redirects
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.storage.blobs import CHUNK_BYTES, chunks
from pyflare.storage.pieces import Pieces

BROWSER_CACHE = "public, max-age=0, must-revalidate"
TEMPORARY_REDIRECT = 307


class Site:
    """Answers from one folder with one configuration."""

    def __init__(self, config: AssetsConfig, heard: Callable[[Path, Stamp, HeaderRules | Redirects], None]) -> None:
        self._config = config
        self.folder = Folder(config.directory, config.html_handling, heard)

    def route(self, request: Request) -> Response | None:
        """The answer to a request that comes from outside; None: it is the worker's."""
        config = self._config
        host, path, search = split_url(request.url)
        decided = config.routing.decide(path) if config.routing is not None else None
        if config.has_worker and (decided == "worker" or (decided is None and config.worker_first)):
            return None
        response = self._answer(request, host, path, search, self._not_found(request, decided))
        if response is None and config.has_worker and decided is None:
            return None
        return response if response is not None else self._with_headers(host, path, 404, {})

    def fetch(self, request: Request) -> Response:
        """The answer of `env.ASSETS.fetch`, where the rules of `run_worker_first` do not count."""
        host, path, search = split_url(request.url)
        response = self._answer(request, host, path, search, self._config.not_found_handling)
        return response if response is not None else self._with_headers(host, path, 404, {})

    def _not_found(self, request: Request, decided: str | None) -> str:
        """How a missing file is handled. Where a worker may answer, only navigations of a browser get the page that
        stands for missing files, and all requests when there are rules that say what is the worker's."""
        config = self._config
        if not config.has_worker or decided == "assets" or config.routing is not None:
            return config.not_found_handling
        navigates = config.navigation_prefers_assets and request.headers.get("sec-fetch-mode") == "navigate"
        return config.not_found_handling if navigates else "none"

    def _answer(self, request: Request, host: str, path: str, search: str, not_found: str) -> Response | None:
        asked = path  # `_headers` go by the path that was asked for
        redirect = self.folder.redirects.match(host, path)
        if redirect is not None:
            status, target = redirect
            try:
                if status != 200:
                    return self._with_headers(host, asked, status, {"location": _location(target, request.url, search)})
                path, not_found = str(ada_url.URL(target, request.url).pathname), self._config.not_found_handling
            except ValueError:  # the target is no URL
                return Response.make(500, None, Headers.make(), None)
        decoded = decode_path(path)
        found = resolve(self.folder, decoded, self._config.html_handling, not_found)
        if found is None:
            return self._with_headers(host, asked, 404, {}) if redirect is not None else None
        if request.method not in ("GET", "HEAD"):
            return self._with_headers(host, asked, 405, {})
        canonical = encode_path(decoded if found.redirect is None else found.redirect)
        if found.redirect is not None or canonical != path:
            return self._with_headers(host, asked, TEMPORARY_REDIRECT, {"location": canonical + search})
        return self._serve(request, host, asked, found)

    def _serve(self, request: Request, host: str, path: str, found: Found) -> Response:
        file = found.file
        assert file is not None
        if file.size > MAX_FILE_BYTES:
            message = f"Asset too large: {file.path} has {file.size} bytes, and Cloudflare takes at most 25 MiB."
            return self._with_headers(host, path, 500, {"content-type": "text/plain"}, Body.make(message.encode()))
        headers = {"etag": f'"{file.etag}"'}
        kind = content_type(file.path)
        if kind is not None:
            headers["content-type"] = kind
        if request.headers.first("authorization") is None and request.headers.first("range") is None:
            headers["cache-control"] = BROWSER_CACHE
        headers["cf-cache-status"] = "HIT"
        if request.headers.get("if-none-match") in (headers["etag"], f"W/{headers['etag']}"):
            return self._with_headers(host, path, 304, headers)
        body = _body(file)
        if body is None:  # deleted since it was found
            return self._with_headers(host, path, 404, {})
        return self._with_headers(host, path, found.status, headers, body)

    def _with_headers(
        self, host: str, path: str, status: int, headers: dict[str, str], body: Body | None = None
    ) -> Response:
        if not self.folder.headers.apply(host, path, headers):
            status, headers, body = 500, {}, None
        pairs = [(name, value) for name, value in headers.items() if name != "content-length"]
        response: Response = Response.make(status, None, Headers.make(pairs), body)
        return response


def _location(target: str, base: str, search: str) -> str:
    """Where a rule of `_redirects` leads: a path on the same origin; the request's query unless it has its own."""
    url, own = ada_url.URL(target, base), ada_url.URL(base)
    query = str(url.search) or search
    if url.origin == own.origin:
        return f"{url.pathname}{query}{url.hash}"
    stem = str(url.href)
    return stem[: len(stem) - len(url.search) - len(url.hash)] + query + str(url.hash)


def _body(file: File) -> Body | None:
    try:
        opened = open(file.location, "rb", buffering=0)  # noqa: SIM115  (the body closes it)
    except OSError:
        return None
    size = os.fstat(opened.fileno()).st_size
    if size <= CHUNK_BYTES:
        with opened:
            return Body.make(opened.read(size))
    return Body.make(Pieces(chunks(opened, 0, size), opened.close), size)
