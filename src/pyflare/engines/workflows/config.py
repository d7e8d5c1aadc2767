"""What `workflows` means in wrangler's configuration, and the limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig

# developers.cloudflare.com/workflows/reference/limits
MAX_RESULT_BYTES = 1024 * 1024
MAX_PAYLOAD_BYTES = 1024 * 1024
MAX_STREAM_BYTES = 1024 * 1024 * 1024
MAX_SLEEP_SECONDS = 365 * 86_400.0
MAX_BATCH = 100
DEFAULT_STEP_LIMIT = 10_000
MAX_STEP_LIMIT = 25_000
MAX_NAME_LENGTH = 64  # of a workflow
MAX_ID_LENGTH = 100  # of an instance
MAX_STEP_NAME_LENGTH = 256

# workflows-shared, context.ts
DEFAULT_RETRY_LIMIT = 5
DEFAULT_RETRY_DELAY_MS = 1000
DEFAULT_BACKOFF = "exponential"
DEFAULT_TIMEOUT = "10 minutes"
DEFAULT_EVENT_TIMEOUT = "24 hours"
DELAY_FUNCTION_SECONDS = 5.0

PARK_AFTER_SECONDS = 10.0  # ours: an instance that only waits leaves the memory then
MAX_WAITING_AWAKE = 256  # ours: so many of them stay in memory for that long

NAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9-_]*")


@dataclass(frozen=True)
class Workflow:
    """`workflows[]`."""

    binding: str
    name: str
    class_name: str
    script_name: str | None = None  # the worker that has the class; None: this one
    step_limit: int = DEFAULT_STEP_LIMIT


@dataclass(frozen=True)
class WorkflowsConfig:
    """One worker's workflows."""

    workflows: Sequence[Workflow] = ()
    enforce_limits: bool = True  # False: `limits = "warn"` under [tool.pyflare]


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> WorkflowsConfig:
    section = config.sections.get("workflows") or []
    if not isinstance(section, list):
        diagnostics.fault("workflows", f"must be a list, not {section!r}")
        section = []
    found = [_workflow(f"workflows[{at}]", item, config, diagnostics) for at, item in enumerate(section)]
    workflows = tuple(workflow for workflow in found if workflow is not None)
    _check_distinct(workflows, diagnostics)
    return WorkflowsConfig(workflows, config.tool.get("limits") != "warn")


def _workflow(path: str, item: Any, config: WorkerConfig, diagnostics: Diagnostics) -> Workflow | None:
    if not isinstance(item, Mapping):
        diagnostics.fault(path, f"must be an object, not {item!r}")
        return None
    texts = {key: _text(path, item, key, diagnostics) for key in ("binding", "name", "class_name")}
    name = texts["name"]
    if name and (len(name) > MAX_NAME_LENGTH or not NAME.fullmatch(name)):
        diagnostics.fault(
            f"{path}.name", f"{name!r} must have at most {MAX_NAME_LENGTH} letters, digits, hyphens and underscores"
        )
    script = item.get("script_name")
    external = script if script and script != config.name else None
    if external:
        for key in ("limits", "schedules"):
            if item.get(key):
                diagnostics.fault(
                    f"{path}.{key}",
                    f'Workflow "{name}" has "{key}" configured but references external script "{external}". '
                    f"Configure {key} on the worker that defines the workflow.",
                )
    if item.get("schedules") and not external:
        diagnostics.warn(f"{path}.schedules: schedules do not fire locally, as in wrangler dev")
    limit = _step_limit(path, item.get("limits"), diagnostics)
    return Workflow(**texts, script_name=external, step_limit=limit) if all(texts.values()) else None


def _text(path: str, item: Mapping[str, Any], key: str, diagnostics: Diagnostics) -> str:
    value = item.get(key)
    if isinstance(value, str) and value:
        return value
    problem = "is missing" if value is None else f"must be a non-empty string, not {value!r}"
    diagnostics.fault(f"{path}.{key}", problem)
    return ""


def _step_limit(path: str, limits: Any, diagnostics: Diagnostics) -> int:
    if limits is None:
        return DEFAULT_STEP_LIMIT
    steps = limits.get("steps", DEFAULT_STEP_LIMIT) if isinstance(limits, Mapping) else None
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= MAX_STEP_LIMIT:
        diagnostics.fault(f"{path}.limits", f'must be {{"steps": 1 to {MAX_STEP_LIMIT}}}, not {limits!r}')
        return DEFAULT_STEP_LIMIT
    return steps


def _check_distinct(workflows: Sequence[Workflow], diagnostics: Diagnostics) -> None:
    names = [workflow.name for workflow in workflows if workflow.script_name is None]
    for name in sorted({name for name in names if names.count(name) > 1}):
        diagnostics.fault("workflows", f"two workflows are named {name!r}; the name is the identity of its instances")
