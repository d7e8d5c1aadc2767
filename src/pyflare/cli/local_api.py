"""The way to a running `pyflare dev`: `v3/pyflare/server.json` says where it listens, its token authorises us."""

from __future__ import annotations

import json
import ssl
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from pyflare.errors import EngineError
from pyflare.storage.lock import Holder, is_locked, read_holder

DO = "/cdn-cgi/pyflare/do"


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
        holder = self._holder
        request = Request(
            f"{holder.url}{DO}",
            json.dumps({"room": room, "action": action, "fields": fields}).encode(),
            {"authorization": f"Bearer {holder.token}", "content-type": "application/json"},
        )
        try:
            with open_url(request) as response:
                return json.load(response)["result"]
        except HTTPError as refused:
            with refused:
                raise EngineError(_said(refused.read(), refused.code)) from None
        except (OSError, HTTPException) as failed:
            where = f"The server at {holder.url} (pid {holder.pid})"
            raise EngineError(f"{where} does not answer: {failed}") from None


def open_url(request: Request) -> Any:
    """The response; HTTPError for a status from 400 on. No proxy is asked: the server is on this machine, with a
    certificate that it made for itself."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return build_opener(ProxyHandler({}), HTTPSHandler(context=context)).open(request)


def _said(body: bytes, status: int) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return f"The server answered {status}: {body.decode(errors='replace')[:200]}"
