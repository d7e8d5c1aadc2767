"""The rooms' panels as JSON, and their actions by name. Without Starlette: pyflare's own commands use it too.

shown()   {room: {title, tables: [{title, columns, rows, keys, fixed}], actions: {name: {fields, danger}}}}
fields    [{name, kind, required}], in order; kind: text, number, boolean, json (any value); one that is not required
          may be left out
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from pyflare.engines.base import Action, Panel

KINDS = {"int": "number", "float": "number", "bool": "boolean", "Any": "json"}  # by the annotation's first word


class NoSuchAction(LookupError):
    """No room of that name, or it has no such action."""


class Panels:
    """`engines`: the rooms that are awake, by name."""

    def __init__(self, engines: Mapping[str, Any]) -> None:
        self._engines = engines

    def shown(self, only: str | None = None) -> dict[str, Any]:
        """Of all rooms, or of one. Raises `NoSuchAction`."""
        names = list(self._engines) if only is None else [only]
        return {name: _shown(self._panel(name)) for name in names}

    async def act(self, room: str, action: str, fields: Mapping[str, Any]) -> Any:
        """What the action gives. Raises `NoSuchAction`, TypeError for wrong fields, and what the action raises."""
        actions = self._panel(room).actions
        if action not in actions:
            raise NoSuchAction(f'{room} has no action "{action}"; there are: {", ".join(actions) or "none"}')
        run = actions[action].run
        try:
            inspect.signature(run).bind(**fields)
        except TypeError as wrong:  # in words that do not name our functions
            raise TypeError(f"{room} {action}: {wrong}") from None
        result = run(**fields)
        return await result if inspect.isawaitable(result) else result

    def _panel(self, room: str) -> Panel:
        engine = self._engines.get(room)
        if engine is None:
            raise NoSuchAction(f'Nothing here is called "{room}"; there are: {", ".join(self._engines)}')
        panel: Panel = engine.panel()
        return panel


def _shown(panel: Panel) -> dict[str, Any]:
    return {
        "title": panel.title,
        "tables": [asdict(table) for table in panel.tables],
        "actions": {name: {"fields": _fields(one), "danger": one.danger} for name, one in panel.actions.items()},
    }


def _fields(action: Action) -> list[dict[str, Any]]:
    parameters = inspect.signature(action.run).parameters
    return [_field(name, parameters.get(name)) for name in action.fields]


def _field(name: str, parameter: inspect.Parameter | None) -> dict[str, Any]:
    """`parameter` None: the action takes it in its `**`."""
    if parameter is None:
        return {"name": name, "kind": "text", "required": False}
    annotation = str(parameter.annotation)
    kind = next((kind for word, kind in KINDS.items() if annotation.startswith(word)), "text")
    return {"name": name, "kind": kind, "required": parameter.default is inspect.Parameter.empty}


def plain(value: Any) -> Any:
    """For `json.dumps(…, default=plain)`: what JSON does not know."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, bytes):
        return value.hex()
    return list(value) if isinstance(value, (set, frozenset)) else str(value)
