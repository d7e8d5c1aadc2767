"""What the dashboard and the command line show of workflows: counts, and a time line for each instance."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from pyflare.engines.base import Action, Panel, Table
from pyflare.engines.workflows.config import Workflow
from pyflare.engines.workflows.history import History, history
from pyflare.engines.workflows.operations import Operations
from pyflare.engines.workflows.rows import STATUSES, Fault

LATEST = 50  # instances of each workflow


def of(operations: Operations, definitions: Mapping[str, tuple[str, Workflow]], actions: Mapping[str, Action]) -> Panel:
    tables = [_counts(operations, definitions)]
    for workflow in definitions:
        instances = operations.store.catalogue.list(workflow, limit=LATEST)
        if instances:
            found = [history(operations, workflow, instance.name) for instance in instances]
            tables.append(_instances(workflow, found))
    return Panel("Workflows", tables, actions)


def _counts(operations: Operations, definitions: Mapping[str, tuple[str, Workflow]]) -> Table:
    rows = []
    for name, (worker, workflow) in definitions.items():
        counts = operations.store.catalogue.counts(name)
        rows.append((name, workflow.class_name, worker, *(counts.get(status, 0) for status in STATUSES)))
    return Table("Workflows", ("workflow", "class", "worker", *STATUSES), rows, ("workflow",))


def _instances(workflow: str, found: list[History]) -> Table:
    rows = [
        (
            one.instance.name,
            one.status,
            one.at or "",
            clock(one.instance.created_at),
            _end(one),
            time_line(one),
        )
        for one in found
    ]
    columns = ("id", "status", "at", "created", "ended", "steps")
    return Table(f"Instances of {workflow}", columns, rows, ("id",), {"workflow": workflow})


def _end(one: History) -> str:
    if one.error is not None:
        return _line(one.error)
    return clock(one.instance.ended_at)


def time_line(one: History) -> str:
    """Each step with what it took: "create db 0.2s · nap waits until … · ship 3 attempts"."""
    parts = []
    for step in one.steps:
        text = step.name if step.type == "step" else f"{step.type} {step.name}"
        if step.end is not None:
            text += f" {round(step.end - step.start, 3):g}s"
        elif step.due_at is not None:
            text += f" {step.state} until {clock(step.due_at)}"
        elif step.remaining is not None:
            text += f" {step.state}, {round(step.remaining, 3):g}s after it is resumed"
        if len(step.attempts) > 1:
            text += f", {len(step.attempts)} attempts"
        if step.error is not None:
            text += f" ({_line(step.error)})"
        parts.append(text)
    return " · ".join(parts)


def _line(fault: Fault) -> str:
    lines = fault.message.strip().splitlines() or [""]
    return lines[-1] if len(lines) > 1 else f"{fault.name}: {fault.message}"


def clock(at: float | None) -> str:
    """UTC, to the second."""
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
