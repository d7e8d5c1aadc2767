"""The REST paths of the explorer, and the panel."""

from typing import Any

import pytest

from pyflare.testing import Harness
from tests.engines.workflows.lab import CONFIG, HOUR, log, start, state

pytestmark = pytest.mark.pyflare(CONFIG)


async def ask(worker: Harness, method: str, path: str, body: Any = None, **query: str) -> tuple[int, Any]:
    """Status and result, or the message of the error."""
    for verb, template, handler in worker.engines["workflows"].routes():
        params = match(template, path)
        if verb == method and params is not None:
            status, answer = await handler(body, {**params, **query})
            await worker.settle()
            return status, answer["result"] if answer["success"] else answer["errors"][0]["message"]
    raise AssertionError(f"no route {method} {path}")


def match(template: str, path: str) -> dict[str, str] | None:
    parts, given = template.split("/"), path.split("/")
    if len(parts) != len(given):
        return None
    pairs = list(zip(parts, given, strict=True))
    if any(part != text for part, text in pairs if not part.startswith("{")):
        return None
    return {part.strip("{}"): text for part, text in pairs if part.startswith("{")}


async def test_workflows_are_listed_with_counts(worker: Harness) -> None:
    await start(worker, "echo")
    status, found = await ask(worker, "GET", "/workflows")
    assert (status, [one["name"] for one in found]) == (200, ["flow", "short"])
    assert (found[0]["class_name"], found[0]["instances"]["complete"]) == ("Flow", 1)


async def test_an_instance_is_made_steered_and_described(worker: Harness) -> None:
    params = {"flow": "waits"}
    assert (await ask(worker, "POST", "/workflows/flow/instances", {"id": "i", "params": params}))[1]["id"] == "i"
    await ask(worker, "POST", "/workflows/flow/instances/i/events/go", {"n": 1})
    status, found = await ask(worker, "GET", "/workflows/flow/instances/i")
    assert (status, found["status"], found["output"], found["params"]) == (200, "complete", {"n": 1}, params)
    assert [(step["type"], step["name"], step["output"]) for step in found["steps"]] == [
        ("waitForEvent", "wait", {"n": 1})
    ]


@pytest.mark.parametrize(
    ("actions", "status"),
    [(["pause"], "paused"), (["pause", "resume"], "waiting"), (["terminate"], "terminated"), (["restart"], "waiting")],
)
async def test_the_status_can_be_changed(worker: Harness, actions: list[str], status: str) -> None:
    await start(worker, "two_steps_around_a_nap")
    for action in actions:
        assert (await ask(worker, "PATCH", "/workflows/flow/instances/i/status", {"action": action}))[0] == 200
    assert (await state(worker))[0] == status


async def test_a_restart_may_begin_at_a_step(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap")
    await worker.advance(HOUR)
    body = {"action": "restart", "from": {"name": "two"}}
    await ask(worker, "PATCH", "/workflows/flow/instances/i/status", body)
    assert (await log(worker)).count("one") == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "text"),
    [
        ("GET", "/workflows/nothing", None, 404, "Workflow 'nothing' not found."),
        ("GET", "/workflows/flow/instances/nobody", None, 404, "Workflow instance 'nobody' not found."),
        ("PATCH", "/workflows/flow/instances/i/status", {"action": "wake"}, 400,
         "Invalid action 'wake'. Must be one of: pause, resume, restart, terminate."),
        ("POST", "/workflows/flow/instances", {"id": "i"}, 400, "already exists"),
        ("POST", "/workflows/flow/instances", {"id": "a b"}, 400, "Workflow instance has invalid id"),
    ],
)  # fmt: skip
async def test_what_cannot_be_done_says_why(
    worker: Harness, method: str, path: str, body: Any, status: int, text: str
) -> None:
    await start(worker, "waits")
    found = await ask(worker, method, path, body)
    assert (found[0], text in found[1]) == (status, True)


async def test_instances_come_in_pages_and_by_status(worker: Harness) -> None:
    for number in range(3):
        await start(worker, "echo", f"e{number}")
    await start(worker, "waits", "w")
    _, page = await ask(worker, "GET", "/workflows/flow/instances", page="2", per_page="2")
    assert [one["id"] for one in page] == ["e1", "e0"]
    _, waiting = await ask(worker, "GET", "/workflows/flow/instances", status="waiting")
    assert [one["id"] for one in waiting] == ["w"]


async def test_all_instances_of_a_workflow_can_be_cleared(worker: Harness) -> None:
    await start(worker, "echo", "a")
    await start(worker, "waits", "b")
    assert (await ask(worker, "DELETE", "/workflows/flow"))[1] == {"deleted": 2}
    assert (await ask(worker, "GET", "/workflows/flow/instances"))[1] == []


async def test_the_panel_has_a_time_line_for_each_instance(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap")
    counts, instances = worker.engines["workflows"].panel().tables
    assert counts.rows[0][:3] == ("flow", "Flow", "lab")
    [row] = instances.rows
    assert row[:3] == ("i", "waiting", "nap")
    assert row[-1].startswith("one 0s · sleep nap waiting until 2023-11-14 23:13:20")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "instances", [1]),
        ("POST", "instances", {"id": 5}),
        ("PATCH", "instances/i/status", ["pause"]),
        ("POST", "instances/batch/delete", {"instances": 5}),
        ("POST", "instances/batch/delete", "i"),
    ],
)
async def test_bodies_of_the_wrong_shape_are_refused(worker: Harness, method: str, path: str, body: Any) -> None:
    await start(worker, "echo")
    assert (await ask(worker, method, f"/workflows/flow/{path}", body))[0] == 400


async def test_a_paused_sleep_shows_what_is_left_of_it(worker: Harness) -> None:
    await start(worker, "two_steps_around_a_nap")
    await worker.advance(HOUR / 2)
    await ask(worker, "PATCH", "/workflows/flow/instances/i/status", {"action": "pause"})
    _, found = await ask(worker, "GET", "/workflows/flow/instances/i")
    assert [(step["due"], step["remaining"]) for step in found["steps"] if step["type"] == "sleep"] == [
        (None, HOUR / 2)
    ]
    panel = worker.engines["workflows"].panel()
    assert "waiting, 1800s after it is resumed" in panel.tables[1].rows[0][-1]
