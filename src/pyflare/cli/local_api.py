"""The way to a running `pyflare dev`: `v3/pyflare/server.json` says where it listens, its token authorises us.

api = LocalApi.of(state)                   # None: no server holds that state folder
api.do("queues", "pause", queue="jobs")    # an action of a room, by its name in the room's panel; gives its result
api.ask("GET", "/workflows")               # a path of the explorer's REST API; gives the `result` of the envelope
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyflare.config.load import read_workers, state_folder
from pyflare.config.options import DevOptions
from pyflare.errors import PyflareError
from pyflare.storage.lock import is_locked, read_holder

REST = "/cdn-cgi/local/explorer/api"
ROOMS, DO = "/cdn-cgi/pyflare/rooms", "/cdn-cgi/pyflare/do"
CONNECT_SECONDS = 5.0  # what is asked for may take as long as the worker's code does


class Unreachable(PyflareError):
    """No server answers there."""

    def __init__(self, port: int, reason: str = "") -> None:
        self.port = port
        more = f"\n  {reason}" if reason else ""
        super().__init__(
            f'Could not connect to local dev session on port {port}. Make sure "pyflare dev" is running.{more}'
        )


class Refused(PyflareError):
    """The server answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(f"Local API error: {message}")


class LocalApi:
    """One server. Raises `Unreachable` and `Refused`."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url, self._token = url, token

    @classmethod
    def of(cls, state: Path) -> LocalApi | None:
        """The server that holds the state folder `…/v3`; None when nobody does, or when it does not serve yet."""
        holder = read_holder(state) if is_locked(state) else None
        return cls(holder.url, holder.token) if holder is not None and holder.url is not None else None

    @classmethod
    def of_project(cls, options: DevOptions, environ: Mapping[str, str] = os.environ) -> LocalApi | None:
        """The server of the project that the command line names."""
        return cls.of(state_folder(options, read_workers(options, environ)[0].config))

    @classmethod
    def at_port(cls, port: int) -> LocalApi:
        """Whatever listens there; it is not asked for its token, so that only `ask` will do."""
        return cls(f"http://localhost:{port}")

    # --- asking -----------------------------------------------------------------------------------------------------

    def rooms(self) -> dict[str, Any]:
        """The panels of all rooms by name: {title, tables, actions}."""
        shown: dict[str, Any] = self._json("GET", ROOMS)
        return shown

    def do(self, room: str, action: str, **fields: Any) -> Any:
        """The result of an action, as JSON gives it."""
        return self._json("POST", DO, {"room": room, "action": action, "fields": fields})["result"]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What a REST path gives; `path` is quoted and below the API, e.g. `/workflows/onboarding/instances`."""
        return self.envelope(method, path, body)["result"]

    def envelope(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """The same with `result_info` and `messages` beside the result."""
        answer: dict[str, Any] = self._json(method, REST + path, body)
        return answer

    def _json(self, method: str, path: str, body: Any = None) -> Any:
        status, text = self._send(method, path, None if body is None else json.dumps(body).encode())
        try:
            answer = json.loads(text)
        except ValueError:
            raise Refused(status, text.decode("utf-8", "replace").strip() or f"HTTP {status}") from None
        if status >= 400:
            raise Refused(status, _fault(answer) or f"HTTP {status}")
        return answer

    def _send(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        headers = {"content-type": "application/json"} if body is not None else {}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        connection = self._connection()
        try:
            connection.connect()
            connection.sock.settimeout(None)
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as failed:
            raise Unreachable(connection.port, str(failed)) from None
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        address = urlsplit(self.url)
        host, port = address.hostname or "localhost", address.port
        if address.scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)
        # Its certificate is made on this machine and signed by nobody.
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=context)


def _fault(answer: Any) -> str | None:
    """The message of either kind of error: {"error": text} or Cloudflare's envelope."""
    if not isinstance(answer, dict):
        return None
    errors = answer.get("errors")
    if isinstance(errors, list) and errors:
        return str(errors[0].get("message"))
    return answer.get("error")
