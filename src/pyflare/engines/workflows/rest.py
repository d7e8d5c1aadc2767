"""The REST paths that the explorer and `wrangler workflows … --local` use, below `/cdn-cgi/local/explorer/api`.

Each handler takes the request's JSON and the parameters of path and query; it gives status and JSON, in Cloudflare's
envelope {success, errors, messages, result}.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyflare.engines.workflows.duration import StepConfig
from pyflare.engines.workflows.history import Attempt, History, StepHistory
from pyflare.engines.workflows.operations import NOT_FOUND, Draft
from pyflare.engines.workflows.rows import STATUSES, Fault, Instance
from pyflare.interop import json as js_json
from pyflare.interop import v8
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsObject

if TYPE_CHECKING:
    from pyflare.engines.workflows.engine import Workflows

Answer = tuple[int, dict[str, Any]]
Handler = Callable[[Any, Mapping[str, str]], Awaitable[Answer]]
Route = tuple[str, str, Handler]

ACTIONS = ("pause", "resume", "restart", "terminate")
DEFAULT_PAGE_SIZE = 25
MAX_PAGE_SIZE = 100
FAULT_CODE, NOT_FOUND_CODE = 10001, 10501  # Cloudflare's


class Refused(Exception):
    """A request that cannot be served."""

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(message)


def routes(engine: Workflows) -> Sequence[Route]:
    api = Api(engine)
    one = "/workflows/{workflow}"
    instance = f"{one}/instances/{{id}}"
    return [
        ("GET", "/workflows", _answered(api.workflows)),
        ("GET", one, _answered(api.workflow)),
        ("DELETE", one, _answered(api.clear)),
        ("GET", f"{one}/instances", _answered(api.instances)),
        ("POST", f"{one}/instances", _answered(api.create)),
        ("POST", f"{one}/instances/batch/delete", _answered(api.delete_batch)),
        ("GET", instance, _answered(api.instance)),
        ("DELETE", instance, _answered(api.delete)),
        ("PATCH", f"{instance}/status", _answered(api.change)),
        ("POST", f"{instance}/events/{{type}}", _answered(api.send_event)),
    ]


def _answered(serve: Callable[[Any, Mapping[str, str]], Any]) -> Handler:
    async def handler(body: Any, params: Mapping[str, str]) -> Answer:
        try:
            result = serve(body, params)
        except Refused as refused:
            return _failed(refused.status, refused.message)
        except JsException as raised:
            return _failed(404 if NOT_FOUND in raised.message else 400, raised.message)
        info = result.pop("result_info", None) if isinstance(result, dict) else None
        answer: dict[str, Any] = {"success": True, "errors": [], "messages": []}
        answer["result"] = result["items"] if info is not None else result
        return 200, {**answer, **({"result_info": info} if info is not None else {})}

    return handler


def _failed(status: int, message: str) -> Answer:
    errors = [{"code": NOT_FOUND_CODE if status == 404 else FAULT_CODE, "message": message}]
    return status, {"success": False, "errors": errors, "messages": [], "result": None}


class Api:
    """One method a path."""

    def __init__(self, engine: Workflows) -> None:
        self._engine, self._operations = engine, engine.operations

    def workflows(self, body: Any, params: Mapping[str, str]) -> Any:
        return [workflow_json(self._engine, name) for name in self._engine.definitions]

    def workflow(self, body: Any, params: Mapping[str, str]) -> Any:
        return workflow_json(self._engine, self._known(params))

    def clear(self, body: Any, params: Mapping[str, str]) -> Any:
        """Delete all instances."""
        return {"deleted": self._operations.clear(self._known(params))}

    def instances(self, body: Any, params: Mapping[str, str]) -> Any:
        workflow, status = self._known(params), params.get("status")
        if status is not None and status not in STATUSES:
            raise Refused(400, f"Invalid status '{status}'. Must be one of: {', '.join(STATUSES)}.")
        page, size = _number(params, "page", 1), min(_number(params, "per_page", DEFAULT_PAGE_SIZE), MAX_PAGE_SIZE)
        found = self._operations.store.catalogue.list(workflow, status, size, (page - 1) * size)
        counts = self._operations.store.catalogue.counts(workflow)
        total = counts.get(status, 0) if status else sum(counts.values())
        info = {
            "page": page,
            "per_page": size,
            "count": len(found),
            "total_count": total,
            "total_pages": max(1, -(-total // size)),
            "status_counts": {status: counts.get(status, 0) for status in STATUSES},
        }
        return {"items": [instance_json(instance) for instance in found], "result_info": info}

    def create(self, body: Any, params: Mapping[str, str]) -> Any:
        body = _object(body)
        given = body.get("params")
        if not isinstance(body.get("id") or "", str):
            raise Refused(400, "'id' must be a string.")
        draft = Draft(v8.dumps(JsObject.make() if given is None else js_json.from_plain(given)), body.get("id"))
        workflow = self._known(params)
        name = self._operations.create(workflow, draft)
        return {"id": name, "status": self._operations.status(self._operations.get(workflow, name))}

    def delete_batch(self, body: Any, params: Mapping[str, str]) -> Any:
        names = body.get("instances") if isinstance(body, dict) else body
        deleted, errors = self._operations.delete_batch(self._known(params), names)
        return {"deleted": [{"id": name} for name in deleted], "errors": errors}

    def instance(self, body: Any, params: Mapping[str, str]) -> Any:
        workflow = self._known(params)
        self._existing(workflow, params["id"])
        return described(self._engine.history(workflow, params["id"]))

    def delete(self, body: Any, params: Mapping[str, str]) -> Any:
        workflow = self._known(params)
        self._existing(workflow, params["id"])
        self._operations.delete(workflow, params["id"])
        return {"id": params["id"]}

    def change(self, body: Any, params: Mapping[str, str]) -> Any:
        """Pause, resume, restart or terminate."""
        workflow, name, body = self._known(params), params["id"], _object(body)
        self._existing(workflow, name)
        action, start = body.get("action"), body.get("from") or {}
        if action not in ACTIONS:
            raise Refused(400, f"Invalid action '{action}'. Must be one of: {', '.join(ACTIONS)}.")
        if body.get("rollback") and action != "terminate":
            raise Refused(400, "'rollback' is only valid when terminating.")
        if body.get("from") is not None and not (isinstance(start, dict) and start.get("name")):
            raise Refused(400, "'from.name' is required when restarting from a specific step.")
        if action == "terminate":
            self._operations.terminate(workflow, name, bool(body.get("rollback")))
        elif action == "restart":
            self._operations.restart(workflow, name, start.get("name"), start.get("count", 1), start.get("type", "do"))
        else:
            getattr(self._operations, action)(workflow, name)
        return {"id": name, "status": self._operations.status(self._operations.get(workflow, name))}

    def send_event(self, body: Any, params: Mapping[str, str]) -> Any:
        """The body is the payload."""
        workflow = self._known(params)
        self._existing(workflow, params["id"])
        self._operations.send_event(workflow, params["id"], params["type"], v8.dumps(js_json.from_plain(body)))
        return None

    def _known(self, params: Mapping[str, str]) -> str:
        name = params["workflow"]
        if name not in self._engine.definitions:
            raise Refused(404, f"Workflow '{name}' not found.")
        return name

    def _existing(self, workflow: str, name: str) -> Instance:
        found = self._operations.store.find(workflow, name)
        if found is None:
            raise Refused(404, f"Workflow instance '{name}' not found.")
        return found


def workflow_json(engine: Workflows, name: str) -> dict[str, Any]:
    worker, workflow = engine.definitions[name]
    counts = engine.operations.store.catalogue.counts(name)
    return {
        "id": name,
        "name": name,
        "class_name": workflow.class_name,
        "script_name": worker,
        "instances": {status: counts.get(status, 0) for status in STATUSES},
    }


def described(one: History) -> dict[str, Any]:
    """An instance with its steps, as JSON."""
    instance = one.instance
    return {
        **instance_json(instance, one.status),
        "params": _parsed(one.params),
        "output": None if instance.output is None else json.loads(instance.output),
        "error": _fault(one.error),
        "at": one.at,
        "queued": _iso(instance.created_at),
        "start": _iso(instance.started_at),
        "end": _iso(instance.ended_at),
        "success": None if instance.ended_at is None else one.status == "complete",
        "step_count": len(one.steps),
        "steps": [_step(step) for step in one.steps],
        "log": [
            {"at": _iso(entry.at), "event": entry.event, "attempt": entry.attempt, "detail": _parsed(entry.detail)}
            for entry in one.log
        ],
    }


def instance_json(instance: Instance, status: str | None = None) -> dict[str, Any]:
    return {
        "id": instance.name,
        "workflow": instance.workflow,
        "status": status or instance.status,
        "created_on": _iso(instance.created_at),
        "started_on": _iso(instance.started_at),
        "ended_on": _iso(instance.ended_at),
        "rollback": instance.rollback,
    }


def _step(step: StepHistory) -> dict[str, Any]:
    ended = step.end is not None
    return {
        **({"success": (step.error is None) if ended else None} if step.type == "step" else {"finished": ended}),
        "config": _config(step),
        "type": step.type,
        "name": step.name,
        "count": step.count,
        "state": step.state,
        "start": _iso(step.start),
        "end": _iso(step.end),
        "due": _iso(step.due_at),
        "remaining": step.remaining,
        "error": _fault(step.error),
        "output": _parsed(step.output),
        "attempts": [_attempt(attempt) for attempt in step.attempts],
    }


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "start": _iso(attempt.start),
        "end": _iso(attempt.end),
        "success": None if attempt.end is None else attempt.error is None,
        "error": _fault(attempt.error),
    }


def _config(step: StepHistory) -> Any:
    """How a step is retried; defaults where the worker said nothing."""
    if step.type not in ("step", "rollback"):
        return None
    return StepConfig().as_plain() if step.about is None else json.loads(step.about)


def _fault(fault: Fault | None) -> dict[str, str] | None:
    return None if fault is None else {"name": fault.name, "message": fault.message}


def _iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _parsed(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text


def _object(body: Any) -> Mapping[str, Any]:
    """A request's JSON, which may be missing."""
    if body is not None and not isinstance(body, dict):
        raise Refused(400, "The request body must be a JSON object.")
    return body or {}


def _number(params: Mapping[str, str], name: str, default: int) -> int:
    value = params.get(name, str(default))
    if not value.isdecimal() or int(value) < 1:
        raise Refused(400, f"{name} must be a whole number from 1, not {value!r}")
    return int(value)
