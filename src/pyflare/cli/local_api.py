"""The way to a running `pyflare dev`: `v3/pyflare/server.json` says where it listens, its token authorises us."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

import orjson

from pyflare.errors import EngineError
from pyflare.storage.lock import Holder, is_locked, read_holder

DO = "/cdn-cgi/pyflare/do"
API = "/cdn-cgi/pyflare/explorer/api"


class _NotFound(EngineError):
    """The server has no such thing."""


class LocalApi:
    """One server."""

    def __init__(self, holder: Holder) -> None:
        self._holder = holder

    @classmethod
    def of(cls, state: Path) -> LocalApi | None:
        """The server that holds the state folder `…/v3`; None when nobody does, or when it does not serve yet."""
        holder = read_holder(state) if is_locked(state) else None
        return cls(holder) if holder is not None and holder.url is not None else None

    def do(self, room: str, action: str, **fields: Any) -> Any:
        """What an action of a room's panel gives, as JSON. EngineError with what the room says against it."""
        body = _written({"room": room, "action": action, "fields": fields})
        headers = {"authorization": f"Bearer {self._holder.token}", "content-type": "application/json"}
        with self._open("POST", DO, body, headers) as response:
            return json.load(response)["result"]

    def ask(self, path: str, data: Any = None, method: str | None = None) -> Any:
        """The `result` of a call of the explorer's REST API; POST with `data`, else GET, unless `method` is given."""
        body = None if data is None else json.dumps(data).encode()
        method = method or ("GET" if body is None else "POST")
        with self.open(method, path, body, {"content-type": "application/json"}) as response:
            return json.load(response)["result"]

    def open(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """The response of the REST API, to be read and closed. `body`: bytes, or an iterable of them."""
        return self._open(method, f"{API}{path}", body, headers or {})

    def find(self, path: str) -> Any:
        """The response of a GET; None when there is nothing."""
        try:
            return self.open("GET", path)
        except _NotFound:
            return None

    def _open(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        holder = self._holder
        try:
            return open_url(Request(f"{holder.url}{path}", body, dict(headers), method=method))
        except HTTPError as refused:
            with refused:
                kind = _NotFound if refused.code == 404 else EngineError
                raise kind(_said(refused.read(), refused.code)) from None
        except (OSError, HTTPException) as failed:
            where = f"The server at {holder.url} (pid {holder.pid})"
            raise EngineError(f"{where} does not answer: {failed}") from None


def open_url(request: Request) -> Any:
    """The response; HTTPError for a status from 400 on. No proxy is asked: the server is on this machine, with a
    certificate that it made for itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return build_opener(ProxyHandler({}), HTTPSHandler(context=context)).open(request)


def _written(value: Any) -> bytes:
    """As JSON; a script of SQL may be megabytes long."""
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate, or an integer of more than 64 bits
        return json.dumps(value).encode()


def _said(body: bytes, status: int) -> str:
    try:
        answer = json.loads(body)
        return str(answer["error"] if "error" in answer else answer["errors"][0]["message"])
    except (ValueError, LookupError, TypeError):
        return f"The server answered {status}: {body.decode(errors='replace')[:200]}"
