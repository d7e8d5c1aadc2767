"""What the dashboard and the command line may show and do here, as data."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table
from pyflare.engines.queues.body import preview
from pyflare.engines.queues.rest import MALFORMED, Api, Refused
from pyflare.engines.queues.rows import Overview

if TYPE_CHECKING:
    from pyflare.engines.queues.engine import Queues

SHOWN_MESSAGES = 20  # of each queue


def panel(engine: Queues) -> Panel:
    """Queues with their counts, and the next messages of those that have some."""
    views = [engine.overview(name) for name in engine.names()]
    columns = (
        "queue", "waiting", "in flight", "bytes", "oldest", "consumer", "paused", "dead-lettered", "dropped", "expired",
    )  # fmt: skip
    tables = [Table("Queues", columns, [_row(view) for view in views], ("queue",))]
    tables += [_messages(engine, view.name) for view in views if view.tally.waiting]
    return Panel("Queues", tables, actions(engine))


def _row(view: Overview) -> Sequence[Any]:
    consumer = view.worker or ("HTTP" if view.consumer else "none")
    return (
        view.name, view.tally.waiting, view.tally.leased, view.tally.bytes, _time(view.oldest), consumer,
        view.standing.paused, view.standing.dead_lettered, view.standing.dropped, view.standing.expired,
    )  # fmt: skip


def _messages(engine: Queues, queue: str) -> Table:
    rows = [
        (
            message.id, preview(message.body, message.content_type), message.content_type, message.attempts,
            _time(message.sent_at), _time(message.due_at), message.origin or "",
        )
        for message in engine.peek(queue, SHOWN_MESSAGES)
    ]  # fmt: skip
    columns = ("id", "body", "type", "attempts", "sent", "due", "died in")
    return Table(f"Messages of {queue}", columns, rows, ("id",), {"queue": queue})


def actions(engine: Queues) -> dict[str, Action]:
    """Each answers with JSON, in the shapes of the REST paths."""
    api = Api(engine)

    def send(queue: str, body: Any, content_type: str = "json", delay_seconds: int | None = None) -> Any:
        """`body` of type json may be a value or its text."""
        value = _value(body) if content_type == "json" and isinstance(body, str) else body
        message = {"body": value, "content_type": content_type, "delay_seconds": delay_seconds}
        return api.push(message, {"queue_id": queue})

    def messages(
        queue: str, state: str = "all", id: str | None = None, contains: str | None = None,
        after: int = 0, limit: int = 100,
    ) -> Any:  # fmt: skip
        filters: dict[str, Any] = {"id": id or None, "contains": contains or None, "after": after, "limit": limit}
        return api.messages(None, {"queue_id": queue, "state": state or "all", **filters})

    def peek(queue: str, limit: int = 10) -> Any:
        return api.peek({"batch_size": limit}, {"queue_id": queue})

    def pause(queue: str) -> Any:
        return api.change({"settings": {"delivery_paused": True}}, {"queue_id": queue})

    def resume(queue: str) -> Any:
        return api.change({"settings": {"delivery_paused": False}}, {"queue_id": queue})

    def update(queue: str, delivery_delay: int | None = None, message_retention_period: int | None = None) -> Any:
        settings = {"delivery_delay": delivery_delay, "message_retention_period": message_retention_period}
        return api.change({"settings": settings}, {"queue_id": queue})

    def purge(queue: str) -> Any:
        return api.purge({"delete_messages_permanently": True}, {"queue_id": queue})

    def retry(queue: str, id: str | None = None) -> Any:
        return api.retry({"id": id or None}, {"queue_id": queue})

    def redrive(queue: str, to: str | None = None, id: str | None = None) -> Any:
        return api.redrive({"to": to or None, "id": id or None}, {"queue_id": queue})

    actions = (
        Action("list", lambda: api.queues(None, {})),
        Action("messages", messages, ("queue", "state", "id", "contains", "after", "limit")),
        Action("peek", peek, ("queue", "limit")),
        Action("send", send, ("queue", "body", "content_type", "delay_seconds")),
        Action("pause", pause, ("queue",)),
        Action("resume", resume, ("queue",)),
        Action("update", update, ("queue", "delivery_delay", "message_retention_period")),
        Action("purge", purge, ("queue",), danger=True),
        Action("retry", retry, ("queue", "id")),
        Action("redrive", redrive, ("queue", "to", "id")),
    )
    return {action.name: action for action in actions}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as fault:
        hint = "a text needs its quotes, or the type text (--type text)"
        raise Refused(400, MALFORMED, f"The body is not valid JSON ({fault}); {hint}") from None


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")
