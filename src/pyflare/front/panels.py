"""The rooms' panels for pyflare's own commands and for tools: what a room shows, and the actions it offers.

    GET  /cdn-cgi/pyflare/rooms                 all panels as JSON
    POST /cdn-cgi/pyflare/do  {"room": …, "action": …, "fields": {…}}

Commands prove with the token of `server.json` that they may read the state folder; a browser on this machine, whose
Host and Origin were checked, needs none for reading.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Protocol

from pyflare.engines.base import Panel
from pyflare.front.control import Answer, Call, Control

PREFIX = "/cdn-cgi/pyflare"


class Rooms(Protocol):
    engines: dict[str, Any]


class Panels:
    def __init__(self, server: Rooms, token: str) -> None:
        self._server, self._token = server, token

    def add_to(self, control: Control) -> None:
        control.add(f"{PREFIX}/rooms", self.show)
        control.add(f"{PREFIX}/do", self.act)

    async def show(self, call: Call) -> Answer:
        return Answer.of_json({name: _shown(engine.panel()) for name, engine in self._server.engines.items()})

    async def act(self, call: Call) -> Answer:
        if call.method != "POST":
            return Answer.of_json({"error": "Use POST"}, 405)
        given = call.headers.get("authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return Answer.of_json({"error": "The token of server.json is missing"}, 401)
        try:
            wanted = call.json()
            action = self._server.engines[wanted["room"]].panel().actions[wanted["action"]]
        except (ValueError, KeyError, TypeError) as missing:
            return Answer.of_json({"error": f"No such room or action: {missing}"}, 404)
        try:
            result = action.run(**_fields(wanted))
            if inspect.isawaitable(result):
                result = await result
        except Exception as raised:
            return Answer.of_json({"error": str(raised), "type": type(raised).__name__}, 400)
        return Answer.of_json({"result": result})


def _fields(wanted: Mapping[str, Any]) -> dict[str, Any]:
    fields = wanted.get("fields")
    return fields if isinstance(fields, dict) else {}


def _shown(panel: Panel) -> dict[str, Any]:
    actions = {name: list(action.fields) for name, action in panel.actions.items()}
    return {"title": panel.title, "tables": [asdict(table) for table in panel.tables], "actions": actions}
