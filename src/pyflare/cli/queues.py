"""`pyflare queues`: look into the local queues and act on them."""

from __future__ import annotations

import datetime
import json
from typing import Any

import click

from pyflare.cli.rooms import Rooms, json_option, room_options
from pyflare.cli.table import table

STATES = ("all", "waiting", "ready", "delayed", "leased")
LATEST_MS = 253_402_300_799_000  # the end of the year 9999
TYPES = ("json", "text", "bytes", "v8")
DELAY = click.IntRange(0, 86_400)  # seconds


@click.group()
def queues() -> None:
    """Look into local queues and act on them, while `pyflare dev` runs or not."""


def _act(given: dict[str, Any], action: str, **fields: Any) -> Any:
    return Rooms(given).act("queues", action, **fields)


@queues.command("list")
@json_option
@room_options
def list_(json_output: bool, **given: Any) -> None:
    """Every queue with its counts."""
    found = _act(given, "list")
    if json_output:
        click.echo(json.dumps(found, indent=2))
        return
    click.echo(table([_line(queue) for queue in found]) if found else "There are no queues.")


def _line(queue: dict[str, Any]) -> dict[str, str]:
    consumers = [consumer.get("script") or "HTTP" for consumer in queue["consumers"]]
    return {
        "name": queue["queue_name"],
        "ready": str(queue["metrics"]["backlog_count"] - queue["in_flight"] - queue["delayed"]),
        "delayed": str(queue["delayed"]),
        "in flight": str(queue["in_flight"]),
        "bytes": str(queue["metrics"]["backlog_bytes"]),
        "consumer": ", ".join(consumers) or "none",
        "delivery": "paused" if queue["settings"]["delivery_paused"] else "on",
        "dead-lettered": str(queue["dead_lettered"]),
        "dropped": str(queue["dropped"]),
        "expired": str(queue["expired"]),
    }


@queues.command()
@click.argument("queue")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@json_option
@room_options
def peek(queue: str, limit: int, json_output: bool, **given: Any) -> None:
    """The next messages of QUEUE, which stay where they are."""
    _show(_act(given, "peek", queue=queue, limit=limit)["messages"], json_output)


@queues.command()
@click.argument("queue")
@click.option("--state", type=click.Choice(STATES), default="all", show_default=True)
@click.option("--id", "id_", metavar="ID", help="One message.")
@click.option("--contains", metavar="TEXT", help="Messages whose body holds this text.")
@click.option("--after", type=int, default=0, metavar="SEQ", help="Go on after this number of a former list.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@json_option
@room_options
def messages(queue: str, id_: str | None, json_output: bool, **given: Any) -> None:
    """The messages of QUEUE, by filter."""
    filters = {name: given.pop(name) for name in ("state", "contains", "after", "limit")}
    _show(_act(given, "messages", queue=queue, id=id_, **filters)["messages"], json_output)


def _show(found: list[dict[str, Any]], json_output: bool) -> None:
    if json_output:
        click.echo(json.dumps(found, indent=2))
        return
    rows = [
        {
            "seq": str(message["seq"]),
            "id": message["id"],
            "type": message["content_type"],
            "attempts": str(message["attempts"]),
            "state": message["state"],
            "due (UTC)": _moment(message["due_ms"]),
            "died in": message["origin"] or "",
            "body": message["preview"],
        }
        for message in found
    ]
    click.echo(table(rows) if rows else "There are no such messages.")


def _moment(ms: int) -> str:
    """Empty for a message that a batch holds: it is due when the batch says so."""
    if ms > LATEST_MS:
        return ""
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).isoformat(" ", "seconds").partition("+")[0]


@queues.command()
@click.argument("queue")
@click.argument("body")
@click.option("--type", "content_type", type=click.Choice(TYPES), default="json", show_default=True)
@click.option("--delay", type=DELAY, metavar="SECONDS", help="Instead of the queue's own.")
@room_options
def send(queue: str, body: str, content_type: str, delay: int | None, **given: Any) -> None:
    """Send BODY to QUEUE: JSON, or what --type says (bytes and v8 in base64)."""
    sent = _act(given, "send", queue=queue, body=body, content_type=content_type, delay_seconds=delay)
    click.echo(f"Sent {sent['ids'][0]} to {queue}")


@queues.command()
@click.argument("queue")
@click.option(
    "--delivery-delay-secs",
    "delay",
    type=DELAY,
    metavar="SECONDS",
    help="How long messages wait when neither they nor their batch or producer say.",
)
@click.option(
    "--message-retention-period-secs",
    "retention",
    type=click.IntRange(60, 1_209_600),
    metavar="SECONDS",
    help="How long messages are kept; four days unless set.",
)
@room_options
def update(queue: str, delay: int | None, retention: int | None, **given: Any) -> None:
    """Change the settings of QUEUE."""
    if delay is None and retention is None:
        raise click.UsageError("Nothing to change: give --delivery-delay-secs or --message-retention-period-secs")
    _act(given, "update", queue=queue, delivery_delay=delay, message_retention_period=retention)
    click.echo(f"Updated queue {queue}.")


@queues.command()
@click.argument("queue")
@room_options
def pause(queue: str, **given: Any) -> None:
    """Stop delivery of QUEUE; messages are still accepted."""
    _act(given, "pause", queue=queue)
    click.echo(f"Paused message delivery for queue {queue}.")


@queues.command()
@click.argument("queue")
@room_options
def resume(queue: str, **given: Any) -> None:
    """Deliver QUEUE again."""
    _act(given, "resume", queue=queue)
    click.echo(f"Resumed message delivery for queue {queue}.")


@queues.command()
@click.argument("queue")
@click.option("-f", "--force", is_flag=True, help="Do not ask.")
@room_options
def purge(queue: str, force: bool, **given: Any) -> None:
    """Delete every message of QUEUE."""
    question = f"This operation will permanently delete all the messages in queue {queue}. Type {queue} to proceed."
    if not force and click.prompt(question, default="", show_default=False) != queue:
        raise click.Abort
    purged = _act(given, "purge", queue=queue)["purged"]
    click.echo(f"Purged queue '{queue}' ({purged} messages)")


@queues.command()
@click.argument("queue")
@click.argument("id_", metavar="[ID]", required=False)
@room_options
def retry(queue: str, id_: str | None, **given: Any) -> None:
    """Deliver delayed messages of QUEUE now: all, or the one with this ID."""
    click.echo(f"{_act(given, 'retry', queue=queue, id=id_)['retried']} message(s) are due now")


@queues.command()
@click.argument("queue")
@click.option("--to", metavar="QUEUE", help="Where to; without it each goes back to the queue it died in.")
@click.option("--id", "id_", metavar="ID", help="Only this message.")
@room_options
def redrive(queue: str, to: str | None, id_: str | None, **given: Any) -> None:
    """Move dead letters of QUEUE back, with their attempts anew."""
    moved = _act(given, "redrive", queue=queue, to=to, id=id_)["moved"]
    for target, count in moved.items():
        click.echo(f"Moved {count} message(s) to {target}")
    if not moved:
        click.echo("There was nothing to move.")


for _alias, _command in (("pause-delivery", pause), ("resume-delivery", resume)):  # wrangler's names
    queues.add_command(_command, _alias)
