"""`env.WORKFLOW`: Cloudflare's names, checks and conversions. developers.cloudflare.com/workflows/build/workers-api"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pyflare.engines.workflows.duration import milliseconds
from pyflare.engines.workflows.operations import INVALID_ID, Draft, Operations, fault_of
from pyflare.engines.workflows.rows import Fault, Instance
from pyflare.interop import json, v8
from pyflare.interop.arguments import promised
from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.errors import JsException, type_error
from pyflare.interop.promise import JsPromise, perform
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish, jsnull


class WorkflowImpl(JsProxy):
    js_name: ClassVar[str] = "WorkflowImpl"

    def __init__(self, operations: Operations, workflow: str) -> None:
        self._operations, self._workflow = operations, workflow

    def js_properties(self) -> dict[str, Any]:
        return {}

    @promised
    def create(self, options: Any = None) -> JsPromise:
        return perform(self._create, _draft(options))

    @promised
    def createBatch(self, batch: Any = None) -> JsPromise:
        """A list of options gives the list of new instances; {instances: […]} and {count, params} give
        {created, errors}."""
        if isinstance(batch, JsObject):
            return perform(self._create_batch_object, *_drafts(batch))
        if not isinstance(batch, (JsArray, list)):
            raise type_error("createBatch takes an array of options")
        return perform(self._create_batch, [_draft(options) for options in batch])

    @promised
    def get(self, id: Any = None) -> JsPromise:
        return perform(self._get, to_text(id))

    @promised
    def deleteBatch(self, ids: Any = None) -> JsPromise:
        return perform(self._delete_batch, list(ids) if isinstance(ids, (JsArray, list)) else ids)

    # --- behind the promises ----------------------------------------------------------------------------------------

    def _instance(self, name: str) -> WorkflowInstance:
        made: WorkflowInstance = WorkflowInstance.make(self._operations, self._workflow, name)
        return made

    def _create(self, draft: Draft) -> WorkflowInstance:
        return self._instance(self._operations.create(self._workflow, draft))

    def _create_batch(self, drafts: list[Draft]) -> JsArray:
        names = self._operations.create_batch(self._workflow, drafts)
        made: JsArray = JsArray.make([self._instance(name) for name in names])
        return made

    def _create_batch_object(self, drafts: list[Draft]) -> JsObject:
        self._operations.check_batch(len(drafts))
        created: list[WorkflowInstance] = []
        errors: list[JsObject] = []
        for index, draft in enumerate(drafts):
            try:
                created.append(self._create(draft))
            except JsException as raised:
                about = {"code": _code(raised.message), "message": raised.message}
                errors.append(JsObject.make({"index": index, "id": draft.name, **about}))
        made: JsObject = JsObject.make({"created": JsArray.make(created), "errors": JsArray.make(errors)})
        return made

    def _get(self, name: str) -> WorkflowInstance:
        return self._instance(self._operations.get(self._workflow, name).name)

    def _delete_batch(self, ids: Any) -> JsObject:
        deleted, errors = self._operations.delete_batch(self._workflow, ids)
        made: JsObject = JsObject.make(
            {
                "deleted": JsArray.make([JsObject.make({"id": name}) for name in deleted]),
                "errors": JsArray.make([JsObject.make(fault) for fault in errors]),
            }
        )
        return made


class WorkflowInstance(JsProxy):
    js_name: ClassVar[str] = "WorkflowInstance"

    def __init__(self, operations: Operations, workflow: str, name: str) -> None:
        self._operations, self._workflow = operations, workflow
        self.id = name

    @promised
    def status(self) -> JsPromise:
        return perform(self._status)

    @promised
    def pause(self) -> JsPromise:
        return perform(self._operations.pause, self._workflow, self.id)

    @promised
    def resume(self) -> JsPromise:
        return perform(self._operations.resume, self._workflow, self.id)

    @promised
    def terminate(self, options: Any = None) -> JsPromise:
        return perform(self._operations.terminate, self._workflow, self.id, bool(get(options, "rollback")))

    @promised
    def restart(self, options: Any = None) -> JsPromise:
        """`options`: {from: {name, count, type}}."""
        start = get(options, "from")
        if is_nullish(start):
            return perform(self._operations.restart, self._workflow, self.id)
        count, kind = get(start, "count", 1), get(start, "type", "do")
        return perform(self._operations.restart, self._workflow, self.id, to_text(get(start, "name")), count, kind)

    @promised
    def delete(self) -> JsPromise:
        return perform(self._operations.delete, self._workflow, self.id)

    @promised
    def sendEvent(self, options: Any = None) -> JsPromise:
        """`options`: {type, payload}."""
        type = get(options, "type")
        if not isinstance(type, str) or not type:
            raise type_error("sendEvent needs {type, payload}; the type is a string")
        payload = v8.dumps(get(options, "payload"))
        return perform(self._operations.send_event, self._workflow, self.id, type, payload)

    def _status(self) -> JsObject:
        instance = self._operations.get(self._workflow, self.id)
        return status_of(instance, self._operations.status(instance))


def status_of(instance: Instance, status: str) -> JsObject:
    """{status, output, error}, and {rollback: {outcome, error}} of an instance that has undone something."""
    fault = fault_of(instance)
    made: dict[str, Any] = {
        "status": status,
        "output": jsnull if instance.output is None else json.parse(instance.output),
        "error": _error(fault),
    }
    if instance.rollback in ("complete", "failed"):
        failed = instance.rollback_error
        made["rollback"] = JsObject.make(
            {"outcome": instance.rollback, "error": _error(Fault.from_json(failed) if failed else None)}
        )
    shown: JsObject = JsObject.make(made)
    return shown


def _code(message: str) -> str:
    """What stands before a message in brackets."""
    coded = re.match(r"\((.+?)\)", message)
    if coded:
        return coded[1]
    return "instance.invalid_id" if message == INVALID_ID else "instance.error"


def _error(fault: Fault | None) -> Any:
    return jsnull if fault is None else JsObject.make({"name": fault.name, "message": fault.message})


def _draft(options: Any) -> Draft:
    id, params, retention = get(options, "id"), get(options, "params"), get(options, "retention")
    data = v8.dumps(JsObject.make() if params is None else params)
    keep = (_seconds(get(retention, "successRetention")), _seconds(get(retention, "errorRetention")))
    return Draft(data, None if is_nullish(id) else to_text(id), keep)


def _drafts(batch: JsObject) -> tuple[list[Draft]]:
    instances = get(batch, "instances")
    if isinstance(instances, (JsArray, list)):
        return ([_draft(options) for options in instances],)
    count = get(batch, "count")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise type_error("createBatch takes an array of options, {instances: […]} or {count, params}")
    draft = _draft(JsObject.make({"params": get(batch, "params")}))
    return ([draft] * count,)


def _seconds(duration: Any) -> float | None:
    try:
        return None if is_nullish(duration) else milliseconds(duration) / 1000
    except ValueError as raised:
        raise type_error(str(raised)) from None
