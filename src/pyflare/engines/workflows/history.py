"""An instance as an operator sees it: every step with its times, attempts, errors and output."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyflare.engines.workflows.operations import Operations, fault_of
from pyflare.engines.workflows.rows import DO, EVENT, ROLLBACK, Entry, Fault, Instance, Step
from pyflare.engines.workflows.store import Store
from pyflare.interop import json as js_json
from pyflare.interop import v8
from pyflare.interop.buffers import is_buffer
from pyflare.interop.errors import JsException

REDACTED = "[REDACTED]"
TYPES = {DO: "step", EVENT: "waitForEvent", "sleep": "sleep", ROLLBACK: "rollback"}


@dataclass(frozen=True)
class Attempt:
    number: int
    start: float
    end: float | None = None
    error: Fault | None = None


@dataclass(frozen=True)
class StepHistory:
    """`output` is JSON text, cut for display; `state`: running, retrying, waiting, done or failed."""

    type: str
    name: str
    count: int
    state: str
    start: float
    end: float | None
    due_at: float | None
    about: str | None
    error: Fault | None
    output: str | None
    attempts: Sequence[Attempt] = ()
    remaining: float | None = None  # seconds until it is due, once the instance is resumed


@dataclass(frozen=True)
class History:
    instance: Instance
    status: str
    params: str
    error: Fault | None
    steps: Sequence[StepHistory] = ()
    log: Sequence[Entry] = field(default_factory=tuple)

    @property
    def at(self) -> str | None:
        """The step that the instance is at."""
        open_steps = [step.name for step in self.steps if step.end is None]
        return open_steps[-1] if open_steps else None


def history(operations: Operations, workflow: str, name: str) -> History:
    """Raises as `Operations.get`."""
    instance, store = operations.get(workflow, name), operations.store
    log = store.catalogue.log(instance.id)
    steps = [_step(store, step, log) for step in store.steps(instance.id)]
    params = _text(store.params(instance.id))
    return History(instance, operations.status(instance), params, fault_of(instance), steps, log)


def _attempts(step: Step, log: Sequence[Entry]) -> Sequence[Attempt]:
    """The log has the begins of later attempts and the failures; the row has the rest."""
    if step.kind not in (DO, ROLLBACK):
        return ()
    made = [Attempt(1, step.started_at)]
    for entry in log:
        if entry.step != step.id or entry.attempt is None:
            continue
        if entry.event == "ATTEMPT_START":
            made.append(Attempt(entry.attempt, entry.at))
        else:
            made[-1] = replace(made[-1], end=entry.at, error=Fault.from_json(entry.detail or "{}"))
    if made[-1].end is None and step.ended_at is not None:
        made[-1] = replace(made[-1], end=step.ended_at)
    return made


def _step(store: Store, step: Step, log: Sequence[Entry]) -> StepHistory:
    fault = Fault.from_json(step.error) if step.error else None
    return StepHistory(
        TYPES.get(step.kind, step.kind), step.name, step.nth, step.state, step.started_at, step.ended_at, step.due_at,
        step.about, fault, _output(store, step), _attempts(step, log), step.remaining,
    )  # fmt: skip


def _output(store: Store, step: Step) -> str | None:
    if step.about and step.kind in (DO, ROLLBACK) and json.loads(step.about).get("sensitive"):
        return REDACTED
    if step.streamed:
        return "[ReadableStream]"
    event = store.event_of(step.id) if step.kind == EVENT else None
    data = event.payload if event else store.result(step.id)
    return None if data is None else _text(data)


def _text(data: bytes) -> str:
    value: Any = v8.loads(data)
    if is_buffer(value):
        return f"[{len(data)} bytes]"
    try:
        return js_json.stringify(value) or "null"
    except JsException:
        return "[not JSON]"
