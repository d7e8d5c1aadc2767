"""`pyflare workflows` on the files alone; what a server does with the same actions is tested with the room."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pyflare.cli import main
from pyflare.cli.workflows import step_state

FIXTURE = Path(__file__).parents[2] / "fixtures" / "onboarding" / "wrangler.jsonc"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def run(state: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["workflows", *arguments, "-c", str(FIXTURE), "--persist-to", str(state)])


def test_workflows_are_listed(state: Path) -> None:
    found = run(state, "list", "--json")
    [workflow] = json.loads(found.output)
    assert (workflow["name"], workflow["class_name"], workflow["script_name"]) == (
        "onboard-tenant",
        "OnboardTenant",
        "onboarding",
    )


def test_without_a_server_an_instance_waits_for_the_next_one(state: Path) -> None:
    made = run(state, "trigger", "onboard-tenant", '{"slug": "acme"}', "--id", "i")
    assert (made.exit_code, made.output) == (0, "Created instance i of onboard-tenant (queued)\n")
    assert "│ i  │ queued" in run(state, "list", "onboard-tenant").output


def test_latest_is_the_instance_made_last(state: Path) -> None:
    for id in ("first", "second"):
        run(state, "trigger", "onboard-tenant", "--id", id)
    assert run(state, "describe", "onboard-tenant").output.startswith("second: queued")


def test_wranglers_names_work_too(state: Path) -> None:
    run(state, "trigger", "onboard-tenant", "--id", "i")
    assert run(state, "instances", "terminate", "onboard-tenant", "i").output == "i is terminated\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("describe", "nothing"), 'There is no workflow "nothing" (there are: onboard-tenant)'),
        (("pause", "onboard-tenant", "nobody"), 'Workflow "onboard-tenant" has no instance "nobody"'),
        (("describe", "onboard-tenant", "nobody"), 'Workflow "onboard-tenant" has no instance "nobody"'),
        (("describe", "onboard-tenant"), 'Workflow "onboard-tenant" has no instances'),
        (("trigger", "onboard-tenant", "not json"), "PARAMS must be JSON"),
        (("trigger", "onboard-tenant", "--id", "a b"), "Workflow instance has invalid id"),
    ],
)
def test_what_cannot_be_done_is_one_line(state: Path, arguments: tuple[str, ...], text: str) -> None:
    refused = run(state, *arguments)
    assert refused.exit_code != 0
    assert text in refused.output + refused.stderr


@pytest.mark.parametrize(
    ("due", "remaining", "text"),
    [
        ("2026-01-01T00:00:00Z", None, "waiting until 2026-01-01 00:00:00"),
        (None, 5400.2, "waiting, 1:30:00 after it is resumed"),
        (None, None, "waiting"),
    ],
)
def test_a_step_that_waits_shows_when_it_goes_on(due: str | None, remaining: float | None, text: str) -> None:
    assert step_state({"state": "waiting", "due": due, "remaining": remaining}) == text
