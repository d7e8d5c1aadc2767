"""What can be done to instances, for the binding, the REST paths, the command line and tests alike.

Texts are production's where they are documented or recorded; otherwise ours. Raises `JsException`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflare.engines.workflows.awake import Awake
from pyflare.engines.workflows.config import MAX_BATCH, MAX_ID_LENGTH, MAX_PAYLOAD_BYTES, NAME
from pyflare.engines.workflows.rows import (
    DO,
    EVENT,
    FINISHED,
    PAUSED,
    PAUSING,
    QUEUED,
    RUNNING,
    SLEEP,
    TERMINATED,
    WAITING,
    Event,
    Fault,
    Instance,
)  # fmt: skip
from pyflare.interop.errors import JsException, error

ADDRESSABLE = re.compile(r"[a-zA-Z0-9, */#_-]{1,271}")
STEP_KINDS = {"do": DO, "sleep": SLEEP, "waitForEvent": EVENT}

NOT_FOUND = "instance.not_found"
INVALID_ID = "Workflow instance has invalid id"
CANNOT_TERMINATE = "(instance.cannot_terminate) Cannot terminate instance since its on a finite state"


@dataclass(frozen=True)
class Draft:
    """An instance to create; `params` in V8's serialization, `keep`: seconds until a complete or errored one goes."""

    params: bytes
    name: str | None = None
    keep: tuple[float | None, float | None] = (None, None)


class Operations:
    """The verbs. An instance is named by workflow and id."""

    def __init__(self, awake: Awake) -> None:
        self.awake = awake
        self.store = awake.store

    # --- making -----------------------------------------------------------------------------------------------------

    def create(self, workflow: str, draft: Draft) -> str:
        """The new instance's id; refuses one that exists, as production does."""
        name = self._checked(draft)
        id = self.store.create(workflow, name, draft.params, self.awake.now(), draft.keep)
        if id is None:
            raise error(f'(instance.already_exists) Workflow instance with id "{name}" already exists')
        self.awake.start(id)
        return name

    def create_batch(self, workflow: str, drafts: Sequence[Draft]) -> list[str]:
        """The ids of those that are new, in order; ids that exist are left out."""
        self.check_batch(len(drafts))
        names = [self._checked(draft) for draft in drafts]
        created: list[tuple[int, str]] = []
        with self.store.together():
            for name, draft in zip(names, drafts, strict=True):
                id = self.store.create(workflow, name, draft.params, self.awake.now(), draft.keep)
                if id is not None:
                    created.append((id, name))
        for id, _ in created:
            self.awake.start(id)
        return [name for _, name in created]

    def check_batch(self, count: int) -> None:
        """Refuse batches that production does."""
        if not count:
            raise error("batchCreate should have at least 1 instance", "WorkflowError")
        if count > MAX_BATCH and self.awake.enforce_limits:
            raise error(f"batchCreate only supports {MAX_BATCH} instances at a time", "WorkflowError")

    def _checked(self, draft: Draft) -> str:
        if len(draft.params) > MAX_PAYLOAD_BYTES and self.awake.enforce_limits:
            raise error(f"The params are too large: {len(draft.params)} bytes of at most {MAX_PAYLOAD_BYTES}")
        if draft.name is None:
            return str(uuid.uuid4())
        if len(draft.name) > MAX_ID_LENGTH or not NAME.fullmatch(draft.name):
            raise error(INVALID_ID)
        return draft.name

    # --- looking ----------------------------------------------------------------------------------------------------

    def get(self, workflow: str, name: str) -> Instance:
        found = self.store.find(workflow, name)
        if found is None:
            raise error(NOT_FOUND)
        return found

    def status(self, instance: Instance) -> str:
        """`waiting` while it sleeps or waits and does nothing else."""
        if instance.status == RUNNING and instance.rollback is None and self.store.waits(instance.id):
            return WAITING
        return instance.status

    # --- steering ---------------------------------------------------------------------------------------------------

    def pause(self, workflow: str, name: str) -> None:
        """Let what is in flight come to its end, then stop. Nothing happens to an instance that does not run."""
        instance = self.get(workflow, name)
        if instance.status not in (RUNNING, QUEUED) or instance.rollback is not None:
            return
        run = self.awake.runs.get(instance.id)
        if run is None or run.pause():
            self.awake.stop(instance.id)
            self.store.pause(instance.id, self.awake.now())
        else:
            self.store.pausing(instance.id)

    def resume(self, workflow: str, name: str) -> None:
        instance = self.get(workflow, name)
        run = self.awake.runs.get(instance.id)
        if instance.status == PAUSING and run is not None:
            self.store.running(instance.id)
            run.resume()
        elif instance.status in (PAUSED, PAUSING):
            self.store.resume(instance.id, self.awake.now())
            self.awake.changed()
            self.awake.start(instance.id)

    def terminate(self, workflow: str, name: str, rollback: bool = False) -> None:
        """The end, from outside; with `rollback` after everything is undone."""
        instance = self.get(workflow, name)
        if instance.status in FINISHED:
            raise error(CANNOT_TERMINATE)
        now = self.awake.now()
        self.awake.stop(instance.id)
        if rollback:
            self.store.rolling_back(instance.id, "terminate", None, now)
            self.store.running(instance.id)
            self.awake.start(instance.id)
        else:
            self.store.finish(instance.id, TERMINATED, now)
            self.awake.changed()
            self.awake.over(workflow, name)

    def restart(self, workflow: str, name: str, step: str | None = None, count: int = 1, kind: str = "do") -> None:
        """Run it again: all of it, or from a step on."""
        instance = self.get(workflow, name)
        position: int | None = 0
        if step is not None:
            position = self.store.position_of(instance.id, STEP_KINDS.get(kind, DO), step, count)
        if position is None:
            raise error(f'(instance.cannot_restart) Step "{step}" not found in execution history')
        self.awake.stop(instance.id)
        self.store.restart(instance.id, self.awake.now(), position)
        self.awake.start(instance.id)

    def send_event(self, workflow: str, name: str, type: str, payload: bytes) -> None:
        """Give it to the wait for that type that began first, or keep it for the next one."""
        instance = self.get(workflow, name)
        if instance.status in FINISHED:
            raise error(f'(instance.cannot_send_event) Workflow instance "{name}" is {instance.status}')
        if len(payload) > MAX_PAYLOAD_BYTES and self.awake.enforce_limits:
            raise error(f"The event payload is too large: {len(payload)} bytes of at most {MAX_PAYLOAD_BYTES}")
        now = self.awake.now()
        step = self.store.send_event(instance.id, type, payload, now)
        if step is not None:
            self.awake.received(instance.id, step, Event(0, now, payload))

    def delete(self, workflow: str, name: str) -> None:
        """Forget the instance, whatever it is doing."""
        if not ADDRESSABLE.fullmatch(name):
            raise error("(instance.invalid_id) Instance ID is invalid")
        instance = self.store.find(workflow, name)
        if instance is None:
            raise error("(instance.not_found) Instance does not exist")
        self.awake.stop(instance.id)
        self.store.delete(instance.id)

    def delete_batch(self, workflow: str, names: Any) -> tuple[list[str], list[Mapping[str, Any]]]:
        """The ids deleted, and {id, code, message} of the others."""
        if not isinstance(names, list) or any(not isinstance(name, str) for name in names):
            raise error("(body) Provided argument is invalid")
        if not names:
            raise error("(body) batchDeleteInstances should have at least 1 instance")
        if len(names) > MAX_BATCH:
            raise error(f"(body) batchDeleteInstances only supports {MAX_BATCH} instances at a time")
        deleted: list[str] = []
        errors: list[Mapping[str, Any]] = []
        for name in names:
            try:
                self.delete(workflow, name)
            except JsException:
                errors.append({"id": name, "code": 10400, "message": "workflows.api.error.instance.not_found"})
            else:
                deleted.append(name)
        return deleted, errors

    def clear(self, workflow: str) -> int:
        """Delete all instances of a workflow; how many."""
        cleared = 0
        while page := self.store.catalogue.list(workflow):
            for instance in page:
                self.delete(workflow, instance.name)
                cleared += 1
        return cleared


def fault_of(instance: Instance) -> Fault | None:
    """The error of an instance."""
    return None if instance.error is None else Fault.from_json(instance.error)
