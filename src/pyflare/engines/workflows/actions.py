"""The room's actions for the dashboard and the command line: plain values in, JSON out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action
from pyflare.engines.workflows.history import history
from pyflare.engines.workflows.operations import NOT_FOUND, Draft
from pyflare.engines.workflows.rest import described, instance_json, workflow_json
from pyflare.errors import EngineError
from pyflare.interop import json as js_json
from pyflare.interop import v8
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsObject

if TYPE_CHECKING:
    from pyflare.engines.workflows.engine import Workflows

LATEST = "latest"
DANGERS = ("terminate", "restart", "delete")


def actions(engine: Workflows) -> Mapping[str, Action]:
    verbs = Verbs(engine)
    table: list[tuple[str, Callable[..., Any], tuple[str, ...]]] = [
        ("list", verbs.list, ()),
        ("instances", verbs.instances, ("workflow", "status", "limit")),
        ("describe", verbs.describe, ("workflow", "id")),
        ("trigger", verbs.trigger, ("workflow", "params", "id")),
        ("send-event", verbs.send_event, ("workflow", "id", "type", "payload")),
        ("pause", verbs.pause, ("workflow", "id")),
        ("resume", verbs.resume, ("workflow", "id")),
        ("terminate", verbs.terminate, ("workflow", "id", "rollback")),
        ("restart", verbs.restart, ("workflow", "id", "step", "count", "kind")),
        ("delete", verbs.delete, ("workflow", "id")),
    ]
    return {name: Action(name, _plainly(verb), fields, name in DANGERS) for name, verb, fields in table}


def _plainly(verb: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(verb)
    def run(**fields: Any) -> Any:
        try:
            return verb(**fields)
        except JsException as refused:
            raise EngineError(refused.message) from None

    return run


class Verbs:
    """One method an action; an id may be "latest"."""

    def __init__(self, engine: Workflows) -> None:
        self._engine, self._operations = engine, engine.operations

    def list(self) -> Any:
        return [workflow_json(self._engine, name) for name in self._engine.definitions]

    def instances(self, workflow: str, status: str | None = None, limit: int = 100) -> Any:
        found = self._operations.store.catalogue.list(self._known(workflow), status, limit)
        return [instance_json(instance, self._operations.status(instance)) for instance in found]

    def describe(self, workflow: str, id: str = LATEST) -> Any:
        return described(history(self._operations, self._known(workflow), self._id(workflow, id)))

    def trigger(self, workflow: str, params: Any = None, id: str | None = None) -> Any:
        data = v8.dumps(JsObject.make() if params is None else js_json.from_plain(params))
        name = self._operations.create(self._known(workflow), Draft(data, id))
        return self._state(workflow, name)

    def send_event(self, workflow: str, id: str, type: str, payload: Any = None) -> Any:
        name = self._id(workflow, id)
        self._operations.send_event(self._known(workflow), name, type, v8.dumps(js_json.from_plain(payload)))
        return self._state(workflow, name)

    def pause(self, workflow: str, id: str) -> Any:
        return self._steer(workflow, id, self._operations.pause)

    def resume(self, workflow: str, id: str) -> Any:
        return self._steer(workflow, id, self._operations.resume)

    def terminate(self, workflow: str, id: str, rollback: bool = False) -> Any:
        return self._steer(workflow, id, self._operations.terminate, rollback)

    def restart(self, workflow: str, id: str, step: str | None = None, count: int = 1, kind: str = "do") -> Any:
        return self._steer(workflow, id, self._operations.restart, step, count, kind)

    def delete(self, workflow: str, id: str) -> Any:
        name = self._id(workflow, id)
        self._operations.delete(self._known(workflow), name)
        return {"id": name}

    def _steer(self, workflow: str, id: str, verb: Callable[..., None], *rest: Any) -> Any:
        name = self._id(workflow, id)
        verb(workflow, name, *rest)
        return self._state(workflow, name)

    def _state(self, workflow: str, name: str) -> Any:
        return {"id": name, "status": self._operations.status(self._operations.get(workflow, name))}

    def _id(self, workflow: str, id: str) -> str:
        if id != LATEST:
            if self._operations.store.find(self._known(workflow), id) is None:
                raise EngineError(f'({NOT_FOUND}) Workflow "{workflow}" has no instance "{id}"')
            return id
        found = self._operations.store.catalogue.list(self._known(workflow), limit=1)
        if not found:
            raise EngineError(f'Workflow "{workflow}" has no instances')
        return found[0].name

    def _known(self, workflow: str) -> str:
        if workflow not in self._engine.definitions:
            known = ", ".join(self._engine.definitions) or "none"
            raise EngineError(f'There is no workflow "{workflow}" (there are: {known})')
        return workflow
