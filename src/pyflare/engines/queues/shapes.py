"""Queues, consumers and messages as Cloudflare's REST API shows them (api/resources/queues).

Ours are `script` beside `script_name`, the counts of a queue, and most of `listed`. What is not there: `created_on`,
`modified_on`, since a queue exists when the configuration names it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from pyflare.engines.queues import body
from pyflare.engines.queues.pull import Pulled
from pyflare.engines.queues.rows import Listed, Overview, Tally
from pyflare.engines.queues.tokens import opened, sealed


def hex_id(name: str) -> str:
    """32 hex digits that stand for a name."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def metrics(tally: Tally, oldest: float | None) -> dict[str, Any]:
    """Of what is not acknowledged; the time is 0 when there is nothing."""
    return {
        "backlog_count": tally.unacknowledged,
        "backlog_bytes": tally.bytes,
        "oldest_message_timestamp_ms": int(oldest * 1000) if oldest is not None else 0,
    }


def queue(view: Overview) -> dict[str, Any]:
    standing, found = view.standing, consumers(view)
    return {
        "queue_id": hex_id(view.name),
        "queue_name": view.name,
        "settings": {
            "delivery_delay": standing.delivery_delay,
            "delivery_paused": standing.paused,
            "message_retention_period": standing.retention,
        },
        "producers": [{"type": "worker", "script": name.split(".")[0]} for name in view.producers],
        "producers_total_count": len(view.producers),
        "consumers": found,
        "consumers_total_count": len(found),
        "metrics": metrics(view.tally, view.oldest),
        "delayed": view.delayed,
        "in_flight": view.tally.leased,
        "dropped": standing.dropped,
        "dead_lettered": standing.dead_lettered,
        "expired": standing.expired,
    }


def consumers(view: Overview) -> list[dict[str, Any]]:
    """None or one."""
    consumer = view.consumer
    if consumer is None:
        return []
    settings: dict[str, Any] = {
        "batch_size": consumer.max_batch_size,
        "max_retries": consumer.max_retries,
        "retry_delay": consumer.retry_delay,
    }
    if consumer.type == "worker":
        settings["max_wait_time_ms"] = int(consumer.max_batch_timeout * 1000)
        settings["max_concurrency"] = consumer.max_concurrency
    else:
        settings["visibility_timeout_ms"] = consumer.visibility_timeout_ms
    found = {
        "consumer_id": hex_id(f"consumer of {view.name}"),
        "queue_name": view.name,
        "type": consumer.type,
        "dead_letter_queue": consumer.dead_letter_queue or "",
        "settings": settings,
    }
    return [found if view.worker is None else {**found, "script_name": view.worker, "script": view.worker}]


def pulled(message: Pulled) -> dict[str, Any]:
    row = message.row
    return {
        "body": _encoded(row.body, row.content_type),
        "id": row.id,
        "timestamp_ms": int(row.sent_at * 1000),
        "attempts": row.attempts,
        "metadata": _metadata(row.content_type),
        "lease_id": message.lease_id,
    }


def peeked(messages: Sequence[Listed]) -> dict[str, Any]:
    """With the `ref` by which `messages/purge` knows each."""
    found = [
        {**listed(one), "metadata": _metadata(one.content_type), "ref": sealed(one.seq, one.id)} for one in messages
    ]
    return {"messages": found}


def listed(message: Listed) -> dict[str, Any]:
    """A message as the listings show it; times in milliseconds."""
    return {
        "seq": message.seq,
        "id": message.id,
        "body": _encoded(message.body, message.content_type),
        "preview": body.preview(message.body, message.content_type),
        "content_type": message.content_type,
        "size": message.size,
        "timestamp_ms": int(message.sent_at * 1000),
        "attempts": message.attempts,
        "due_ms": int(message.due_at * 1000),
        "leased": message.lease is not None,
        "state": message.state,
        "origin": message.origin,
    }


def parse_reference(text: str) -> tuple[int, str]:
    """The parts of a reference; (-1, "") for what is none."""
    try:
        seq, id = opened(text)
        return int(seq), id
    except ValueError:
        return -1, ""


def _metadata(content_type: str) -> dict[str, str]:
    return {"CF-Content-Type": content_type, "CF-sourceMessageSource": "worker"}


def _encoded(data: bytes, kind: str) -> str:
    """Text is itself; all else is base64, as the page on pull consumers says."""
    return data.decode(errors="replace") if kind == "text" else base64.b64encode(data).decode()
