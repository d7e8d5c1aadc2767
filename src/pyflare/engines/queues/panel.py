"""What the dashboard and the command line may show and do here, as data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table
from pyflare.engines.queues import body

if TYPE_CHECKING:
    from pyflare.engines.queues.engine import Overview, Queues

SHOWN_MESSAGES = 20  # of each queue


def panel(engine: Queues) -> Panel:
    """Queues with their counts, and the next messages of those that have some."""
    views = [engine.overview(name) for name in engine.names()]
    columns = (
        "queue", "waiting", "in flight", "bytes", "oldest", "consumer", "paused", "dead-lettered", "dropped", "expired",
    )  # fmt: skip
    tables = [Table("Queues", columns, [_row(view) for view in views])]
    tables += [_messages(engine, view.name) for view in views if view.tally.waiting]
    return Panel("Queues", tables, _actions(engine))


def _row(view: Overview) -> Sequence[Any]:
    consumer = view.worker or ("HTTP" if view.consumer else "none")
    return (
        view.name, view.tally.waiting, view.tally.leased, view.tally.bytes, _time(view.oldest), consumer,
        view.standing.paused, view.standing.dead_lettered, view.standing.dropped, view.standing.expired,
    )  # fmt: skip


def _messages(engine: Queues, queue: str) -> Table:
    rows = [
        (
            message.id, body.preview(message.body, message.content_type), message.content_type, message.attempts,
            _time(message.sent_at), _time(message.due_at), message.origin or "",
        )
        for message in engine.peek(queue, SHOWN_MESSAGES)
    ]  # fmt: skip
    columns = ("id", "body", "type", "attempts", "sent", "due", "died in")
    return Table(f"Messages of {queue}", columns, rows)


def _actions(engine: Queues) -> dict[str, Action]:
    actions = (
        Action("pause", engine.pause_delivery, ("queue",)),
        Action("resume", engine.resume_delivery, ("queue",)),
        Action("purge", engine.purge, ("queue",)),
        Action("retry", engine.retry_now, ("queue", "id")),
        Action("redrive", engine.redrive, ("queue", "to", "id")),
    )
    return {action.name: action for action in actions}


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")
