"""`pyflare workflows`: look into local workflows and steer their instances. An instance's ID may be "latest"."""

from __future__ import annotations

import datetime
import json
from typing import Any

import click

from pyflare.cli.common import Command
from pyflare.cli.rooms import Rooms, json_option, room_options
from pyflare.cli.table import table

STATUSES = (
    "queued", "running", "waiting", "paused", "waitingForPause", "complete", "errored", "terminated",
)  # fmt: skip
KINDS = ("do", "sleep", "waitForEvent")
SHOWN = 60  # characters of an output


@click.group()
def workflows() -> None:
    """Look into local workflows and steer their instances, while `pyflare dev` runs or not."""


def _instance(command: Command) -> Command:
    return click.argument("workflow")(click.argument("id_", metavar="ID")(room_options(command)))


def _act(given: dict[str, Any], action: str, **fields: Any) -> Any:
    return Rooms(given).act("workflows", action, **fields)


@workflows.command("list")
@click.argument("workflow", required=False)
@click.option("--status", type=click.Choice(STATUSES), help="Only instances of this status.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)
@json_option
@room_options
def list_(workflow: str | None, status: str | None, limit: int, json_output: bool, **given: Any) -> None:
    """Every workflow with its counts, or the instances of WORKFLOW, the latest first."""
    if workflow is None:
        found = _act(given, "list")
        rows = [_workflow_line(one) for one in found]
    else:
        found = _act(given, "instances", workflow=workflow, status=status, limit=limit)
        rows = [_instance_line(one) for one in found]
    if json_output:
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(table(rows) if rows else "There are none.")


def _workflow_line(found: dict[str, Any]) -> dict[str, str]:
    counts = {status: str(count) for status, count in found["instances"].items() if count}
    shown = ", ".join(f"{count} {status}" for status, count in counts.items())
    return {"name": found["name"], "class": found["class_name"], "worker": found["script_name"], "instances": shown}


def _instance_line(found: dict[str, Any]) -> dict[str, str]:
    return {
        "id": found["id"],
        "status": found["status"],
        "created": _moment(found["created_on"]),
        "ended": _moment(found["ended_on"]),
    }


@workflows.command()
@click.argument("workflow")
@click.argument("id_", metavar="[ID]", default="latest")
@json_option
@room_options
def describe(workflow: str, id_: str, json_output: bool, **given: Any) -> None:
    """An instance with every step: times, attempts, errors, output."""
    found = _act(given, "describe", workflow=workflow, id=id_)
    if json_output:
        click.echo(json.dumps(found, indent=2))
        return
    click.echo(f"{found['id']}: {found['status']}" + (f", at {found['at']!r}" if found["at"] else ""))
    click.echo(f"created {_moment(found['created_on'])}, ended {_moment(found['ended_on']) or 'not yet'} (UTC)")
    click.echo(f"params  {json.dumps(found['params'])}")
    if found["error"]:
        click.echo(f"error   {found['error']['name']}: {_last_line(found['error']['message'])}")
    elif found["ended_on"]:
        click.echo(f"output  {json.dumps(found['output'])}")
    if found["rollback"]:
        click.echo(f"rollback {found['rollback']}")
    if found["steps"]:
        click.echo(table([_step_line(step) for step in found["steps"]]))


def _step_line(step: dict[str, Any]) -> dict[str, str]:
    number = f" ({step['count']})" if step["count"] > 1 else ""
    return {
        "step": step["name"] + number,
        "type": step["type"],
        "state": step_state(step),
        "began": _moment(step["start"]),
        "ended": _moment(step["end"]),
        "attempts": str(len(step["attempts"]) or ""),
        "result": _result(step),
    }


def step_state(step: dict[str, Any]) -> str:
    """With when it goes on."""
    if step["due"]:
        return f"{step['state']} until {_moment(step['due'])}"
    if step["remaining"] is not None:
        return f"{step['state']}, {datetime.timedelta(seconds=round(step['remaining']))} after it is resumed"
    return str(step["state"])


def _result(step: dict[str, Any]) -> str:
    if step["error"]:
        return _last_line(step["error"]["message"])[:SHOWN]
    text = "" if step["output"] is None else json.dumps(step["output"], ensure_ascii=False)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


@workflows.command()
@click.argument("workflow")
@click.argument("params", required=False)
@click.option("--params", "params_option", metavar="JSON", help="The same as PARAMS.")
@click.option("--id", "id_", metavar="ID", help="Without it a UUID.")
@room_options
def trigger(workflow: str, params: str | None, params_option: str | None, id_: str | None, **given: Any) -> None:
    """Create an instance of WORKFLOW with PARAMS, which are JSON."""
    made = _act(given, "trigger", workflow=workflow, params=_json(params or params_option, "PARAMS"), id=id_)
    click.echo(f"Created instance {made['id']} of {workflow} ({made['status']})")


@workflows.command("send-event")
@click.argument("workflow")
@click.argument("id_", metavar="ID")
@click.option("--type", "type_", required=True, metavar="TYPE", help="What the instance waits for.")
@click.option("--payload", metavar="JSON")
@room_options
def send_event(workflow: str, id_: str, type_: str, payload: str | None, **given: Any) -> None:
    """Send an event to an instance; it is kept when nothing waits for it yet."""
    done = _act(given, "send-event", workflow=workflow, id=id_, type=type_, payload=_json(payload, "--payload"))
    click.echo(f"Sent {type_!r} to {done['id']}, which is {done['status']}")


@workflows.command()
@_instance
def pause(workflow: str, id_: str, **given: Any) -> None:
    """Pause an instance once the steps in flight have ended."""
    _say(_act(given, "pause", workflow=workflow, id=id_))


@workflows.command()
@_instance
def resume(workflow: str, id_: str, **given: Any) -> None:
    """Let a paused instance go on."""
    _say(_act(given, "resume", workflow=workflow, id=id_))


@workflows.command()
@click.option("--rollback", is_flag=True, help="Undo what was done, the last step first.")
@_instance
def terminate(workflow: str, id_: str, rollback: bool, **given: Any) -> None:
    """End an instance."""
    _say(_act(given, "terminate", workflow=workflow, id=id_, rollback=rollback))


@workflows.command()
@click.option("--from-step-name", "step", metavar="STEP", help="Keep what came before this step.")
@click.option("--from-step-count", "count", type=int, default=1, help="Which of several steps of that name.")
@click.option("--from-step-type", "kind", type=click.Choice(KINDS), default="do")
@_instance
def restart(workflow: str, id_: str, step: str | None, count: int, kind: str, **given: Any) -> None:
    """Run an instance again from the beginning, or from a step."""
    _say(_act(given, "restart", workflow=workflow, id=id_, step=step, count=count, kind=kind))


@workflows.command()
@_instance
def delete(workflow: str, id_: str, **given: Any) -> None:
    """Forget an instance."""
    click.echo(f"Deleted {_act(given, 'delete', workflow=workflow, id=id_)['id']}")


def _say(state: dict[str, str]) -> None:
    click.echo(f"{state['id']} is {state['status']}")


def _json(text: str | None, what: str) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as fault:
        raise click.BadParameter(f"{what} must be JSON: {fault}") from None


def _moment(iso: str | None) -> str:
    return "" if iso is None else iso[:19].replace("T", " ")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


@workflows.group()
def instances() -> None:
    """The same commands, by wrangler's names."""


for _command in (list_, describe, send_event, pause, resume, terminate, restart, delete):
    instances.add_command(_command)
