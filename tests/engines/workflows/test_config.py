"""The wrangler section, durations, and the options of a step."""

from pathlib import Path
from typing import Any

import pytest

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.workflows.config import Workflow, WorkflowsConfig, parse
from pyflare.engines.workflows.duration import StepConfig, milliseconds, step_config
from pyflare.interop.containers import JsArray
from pyflare.interop.convert import from_entries, to_js

ONE = {"binding": "FLOW", "name": "flow", "class_name": "Flow"}


def read(*workflows: Any) -> tuple[WorkflowsConfig, Diagnostics]:
    diagnostics = Diagnostics()
    return parse(WorkerConfig("w", Path("."), sections={"workflows": list(workflows)}), diagnostics), diagnostics


def test_a_workflow_is_read() -> None:
    config, diagnostics = read(ONE)
    assert (config.workflows, diagnostics.faults) == ((Workflow("FLOW", "flow", "Flow"),), [])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": None}, "workflows[0].name: is missing"),
        ({"binding": 3}, "workflows[0].binding: must be a non-empty string, not 3"),
        ({"name": "a b"}, "workflows[0].name: 'a b' must have at most 64 letters"),
        ({"name": "a" * 65}, "must have at most 64 letters"),
        ({"limits": {"steps": 0}}, "workflows[0].limits: must be"),
        ({"limits": 5}, "workflows[0].limits: must be"),
        ({"limits": {"steps": 5}, "script_name": "other"}, 'has "limits" configured but references external script'),
        ({"schedules": ["* * * * *"], "script_name": "other"}, 'has "schedules" configured but references external'),
    ],
)
def test_faults_are_named_with_their_path(change: dict[str, Any], fault: str) -> None:
    _, diagnostics = read({**ONE, **change})
    assert any(fault in found for found in diagnostics.faults), diagnostics.faults


def test_two_workflows_of_one_name_are_refused() -> None:
    _, diagnostics = read(ONE, {**ONE, "binding": "OTHER"})
    assert "two workflows are named 'flow'" in diagnostics.faults[0]


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1 second", 1000),
        ("10 seconds", 10_000),
        ("1.5 hours", 5_400_000),
        ("2 days", 172_800_000),
        ("1 week", 604_800_000),
        ("30 minutes", 1_800_000),
        ("1 hour, 30 minutes", 5_400_000),
        ("1 hour and 30 minutes", 5_400_000),
        ("5 min", 300_000),
        ("250", 250),
        (1500, 1500),
    ],
)
def test_durations(text: str | int, ms: float) -> None:
    assert milliseconds(text) == ms


@pytest.mark.parametrize("text", ["", "soon", "1 fortnight", "hours", True, None, float("inf"), "1 second later"])
def test_what_is_no_duration(text: Any) -> None:
    with pytest.raises(ValueError):
        milliseconds(text)


def js(value: Any) -> Any:
    return to_js(value, dict_converter=from_entries)


@pytest.mark.parametrize(
    "given",
    [
        {"retries": {"limit": 1}},
        {"retries": {"delay": 1}},
        {"retries": {"limit": -1, "delay": 1}},
        {"retries": {"limit": True, "delay": 1}},
        {"retries": {"limit": 1, "delay": -1}},
        {"retries": {"limit": 1, "delay": 1, "backoff": "wild"}},
        {"retries": {"limit": 1, "delay": 1, "jitter": True}},
        {"timeout": 0},
        {"timeout": "soon"},
        {"speed": "high"},
        {"sensitive": "input"},
    ],
)
def test_bad_options_of_a_step(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        step_config(js(given))


def test_options_must_be_an_object() -> None:
    with pytest.raises(ValueError):
        step_config(JsArray.make([]))


def test_defaults_of_a_step() -> None:
    assert step_config(None) == StepConfig(5, 1000, "exponential", "10 minutes")


@pytest.mark.parametrize(
    ("backoff", "waits"), [("constant", [10, 10, 10]), ("linear", [10, 20, 30]), ("exponential", [10, 20, 40])]
)
def test_backoff(backoff: str, waits: list[float]) -> None:
    config = StepConfig(backoff=backoff)
    assert [config.wait_after(attempt, 10) for attempt in (1, 2, 3)] == waits
