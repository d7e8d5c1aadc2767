"""The rooms' panels for pyflare's own commands: what a room shows, and the actions it offers (`dashboard.panels`).

    GET  /cdn-cgi/pyflare/rooms                 all panels as JSON
    POST /cdn-cgi/pyflare/do  {"room": …, "action": …, "fields": {…}}

Commands prove with the token of `server.json` that they may read the state folder; a browser on this machine, whose
Host and Origin were checked, needs none for reading.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any, Protocol

from pyflare import engines
from pyflare.dashboard import panels
from pyflare.front.control import JSON, Answer, Call, Control

PREFIX = "/cdn-cgi/pyflare"


class Rooms(Protocol):
    engines: dict[str, Any]

    def room(self, name: str) -> Any: ...


class Panels:
    def __init__(self, server: Rooms, token: str) -> None:
        self._server, self._panels, self._token = server, panels.Panels(server.engines), token

    def add_to(self, control: Control) -> None:
        control.add(f"{PREFIX}/rooms", self.show, quiet=True)
        control.add(f"{PREFIX}/do", self.act, quiet=True)

    async def show(self, call: Call) -> Answer:
        return _json(self._panels.shown())

    async def act(self, call: Call) -> Answer:
        if call.method != "POST":
            return _json({"error": "Use POST"}, 405)
        given = call.headers.get("authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return _json({"error": "The token of server.json is missing"}, 401)
        try:
            wanted = call.json()
            room, action = wanted["room"], wanted["action"]
        except (ValueError, KeyError, TypeError) as missing:
            return _json({"error": f"No room and action are given: {missing}"}, 404)
        try:
            if room in engines.ENGINES:
                self._server.room(room)  # also one that no worker uses: it is empty, as it is without a server
            return _json({"result": await self._panels.act(room, action, _fields(wanted))})
        except panels.NoSuchAction as missing:
            return _json({"error": str(missing)}, 404)
        except Exception as raised:
            return _json({"error": str(raised), "type": type(raised).__name__}, 400)


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(json.dumps(value, separators=(",", ":"), default=panels.plain), status, JSON)


def _fields(wanted: Mapping[str, Any]) -> dict[str, Any]:
    fields = wanted.get("fields")
    return fields if isinstance(fields, dict) else {}
