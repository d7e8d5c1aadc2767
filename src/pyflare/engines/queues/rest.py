"""Cloudflare's REST paths of queues (api/resources/queues), so that a pull consumer written for Cloudflare works by
changing its base URL. A queue's id is its name, or 32 hex digits made of it; any account id will do.

What is ours: `GET …/messages` lists, `POST …/retry` and `POST …/redrive`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyflare.engines.queues import body
from pyflare.engines.queues.config import (
    DEFAULT_PULL_SIZE,
    MAX_BATCH_BYTES,
    MAX_BATCH_MESSAGES,
    MAX_DELAY_SECONDS,
    MAX_MESSAGE_BYTES,
)
from pyflare.engines.queues.rows import Draft, Listed
from pyflare.interop.web.bytes import utf8

if TYPE_CHECKING:
    from pyflare.engines.queues.engine import Overview, Queues

Answer = tuple[int, dict[str, Any]]
Handler = Callable[[Any, Mapping[str, str]], Awaitable[Answer]]
Route = tuple[str, str, Handler]

ONE = "/accounts/{account_id}/queues/{queue_id}"


class Refused(Exception):
    """A request that cannot be served, with Cloudflare's code (queues/reference/error-codes)."""

    def __init__(self, status: int, code: int, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message)


def routes(engine: Queues) -> Sequence[Route]:
    """Each handler takes the request's JSON and the parameters of path and query; it gives status and JSON."""
    api = Api(engine)
    return [
        ("GET", "/accounts/{account_id}/queues", _answered(api.queues)),
        ("GET", ONE, _answered(api.queue)),
        ("PATCH", ONE, _answered(api.change)),
        ("PUT", ONE, _answered(api.change)),
        ("GET", f"{ONE}/messages", _answered(api.messages)),
        ("POST", f"{ONE}/messages", _answered(api.push)),
        ("POST", f"{ONE}/messages/batch", _answered(api.push_many)),
        ("POST", f"{ONE}/messages/pull", _answered(api.pull)),
        ("POST", f"{ONE}/messages/ack", _answered(api.ack)),
        ("POST", f"{ONE}/messages/preview", _answered(api.preview)),
        ("POST", f"{ONE}/purge", _answered(api.purge)),
        ("POST", f"{ONE}/retry", _answered(api.retry)),
        ("POST", f"{ONE}/redrive", _answered(api.redrive)),
    ]


def _answered(serve: Callable[[Any, Mapping[str, str]], Any]) -> Handler:
    async def handler(request: Any, params: Mapping[str, str]) -> Answer:
        if request is not None and not isinstance(request, dict):
            return _failed(Refused(400, 10207, "The request body must be a JSON object"))
        try:
            result = serve(request or {}, params)
        except Refused as refused:
            return _failed(refused)
        return 200, {"success": True, "errors": [], "messages": [], "result": result}

    handler.__doc__ = serve.__doc__
    return handler


def _failed(refused: Refused) -> Answer:
    errors = [{"code": refused.code, "message": refused.message}]
    return refused.status, {"success": False, "errors": errors, "messages": [], "result": None}


def queue_id(name: str) -> str:
    """32 hex digits that stand for a queue's name."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


class Api:
    """One method a path."""

    def __init__(self, engine: Queues) -> None:
        self._engine = engine

    def queues(self, _: Any, params: Mapping[str, str]) -> Any:
        """Every queue, with its consumers and counts."""
        return [self._described(self._engine.overview(name)) for name in self._engine.names()]

    def queue(self, _: Any, params: Mapping[str, str]) -> Any:
        """One queue."""
        return self._described(self._engine.overview(self._name(params)))

    def change(self, request: Any, params: Mapping[str, str]) -> Any:
        """Pause or resume delivery, set the delay of messages that have none: {"settings": {"delivery_paused": true,
        "delivery_delay": 60}}."""
        name = self._name(params)
        given = request.get("settings") or {}
        if not isinstance(given, dict):
            raise Refused(400, 10207, '"settings" must be an object')
        paused, delay = given.get("delivery_paused"), _number(given, "delivery_delay", None, 0, MAX_DELAY_SECONDS)
        if delay is not None:
            self._engine.set_delivery_delay(name, delay)
        if paused is True:
            self._engine.pause_delivery(name)
        elif paused is False:
            self._engine.resume_delivery(name)
        return self.queue(request, params)

    def messages(self, _: Any, params: Mapping[str, str]) -> Any:
        """Messages in order of arrival; filters: state, id, contains, after, limit."""
        found = self._engine.messages(
            self._name(params),
            params.get("state", "all"),
            params.get("id"),
            params.get("contains"),
            _number(params, "after", 0, 0, 2**62),
            _number(params, "limit", 100, 1, 1000),
        )
        return {"messages": [listed(message) for message in found]}

    def preview(self, request: Any, params: Mapping[str, str]) -> Any:
        """The next messages, which stay where they are."""
        limit = _number(request, "batch_size", 10, 1, MAX_BATCH_MESSAGES)
        return {"messages": [listed(message) for message in self._engine.peek(self._name(params), limit)]}

    def push(self, request: Any, params: Mapping[str, str]) -> Any:
        """Send a message: body, content_type, delay_seconds."""
        return self._push(params, [request], None)

    def push_many(self, request: Any, params: Mapping[str, str]) -> Any:
        """Send up to 100 messages."""
        messages = request.get("messages")
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            raise Refused(400, 10207, '"messages" must be a list of objects')
        if not 0 < len(messages) <= MAX_BATCH_MESSAGES:
            raise Refused(413, 10206, f"Batch count out of bounds: {len(messages)} of {MAX_BATCH_MESSAGES}")
        return self._push(params, messages, _number(request, "delay_seconds", None, 0, MAX_DELAY_SECONDS, 10202))

    def _push(self, params: Mapping[str, str], messages: Sequence[Any], delay: int | None) -> Any:
        name = self._name(params)
        usual = self._engine.delivery_delay(name) if delay is None else delay
        drafts = [
            Draft(
                self._engine.new_id(),
                *_encoded(message),
                _number(message, "delay_seconds", usual, 0, MAX_DELAY_SECONDS, 10203),
            )
            for message in messages
        ]
        largest, total = max(len(draft.body) for draft in drafts), sum(len(draft.body) for draft in drafts)
        if largest > MAX_MESSAGE_BYTES:
            raise Refused(413, 10204, f"Message size out of bounds: {largest} of {MAX_MESSAGE_BYTES} bytes")
        if total > MAX_BATCH_BYTES:
            raise Refused(413, 10205, f"Batch size out of bounds: {total} of {MAX_BATCH_BYTES} bytes")
        self._engine.send(name, drafts)
        return {"metadata": {"metrics": self._metrics(name)}, "ids": [draft.id for draft in drafts]}

    def pull(self, request: Any, params: Mapping[str, str]) -> Any:
        """Lease messages to an HTTP client: batch_size, visibility_timeout_ms."""
        name = self._pulled(params)
        size = _number(request, "batch_size", DEFAULT_PULL_SIZE, 1, MAX_BATCH_MESSAGES)
        # The page shows `visibility_timeout`, the reference `visibility_timeout_ms`; both are milliseconds.
        given = request.get("visibility_timeout_ms", request.get("visibility_timeout"))
        if given is not None and (isinstance(given, bool) or not isinstance(given, (int, float))):
            raise Refused(400, 10207, '"visibility_timeout_ms" must be a number')
        pulled = self._engine.pull(name, size, given)
        messages = [
            {
                "body": _pull_body(message.row.body, message.row.content_type),
                "id": message.row.id,
                "timestamp_ms": int(message.row.sent_at * 1000),
                "attempts": message.row.attempts,
                "metadata": {"CF-Content-Type": message.row.content_type, "CF-sourceMessageSource": "worker"},
                "lease_id": message.lease_id,
            }
            for message in pulled
        ]
        tally = self._engine.tally(name)
        return {
            "message_backlog_count": tally.waiting + tally.leased,
            "metadata": {"metrics": self._metrics(name)},
            "messages": messages,
        }

    def ack(self, request: Any, params: Mapping[str, str]) -> Any:
        """Acknowledge or retry leases: acks, retries."""
        name = self._pulled(params)
        acks = [_lease(item) for item in _list(request, "acks")]
        retries = [
            (_lease(item), _number(item, "delay_seconds", None, 0, MAX_DELAY_SECONDS, 10203))
            for item in _list(request, "retries")
        ]
        outcome = self._engine.acknowledge(name, acks, retries)
        return {"ackCount": outcome.acked, "retryCount": outcome.retried, "warnings": list(outcome.warnings)}

    def purge(self, request: Any, params: Mapping[str, str]) -> Any:
        """Delete every message."""
        name = self._name(params)
        if request.get("delete_messages_permanently") is not True:
            raise Refused(400, 10207, '"delete_messages_permanently" must be true')
        purged = self._engine.purge(name)
        return {**self._described(self._engine.overview(name)), "purged": purged}

    def retry(self, request: Any, params: Mapping[str, str]) -> Any:
        """Make delayed messages due now: all, or the one with this id."""
        return {"retried": self._engine.retry_now(self._name(params), _id(request))}

    def redrive(self, request: Any, params: Mapping[str, str]) -> Any:
        """Move dead letters back, or to another queue."""
        to = request.get("to")
        target = None if to is None else self._name({"queue_id": to})
        return {"moved": dict(self._engine.redrive(self._name(params), target, _id(request)))}

    # --- shapes ---------------------------------------------------------------------------------------------------

    def _name(self, params: Mapping[str, str]) -> str:
        given = params["queue_id"]
        for name in self._engine.names():
            if given in (name, queue_id(name)):
                return name
        known = ", ".join(self._engine.names()) or "none"
        raise Refused(404, 10104, f'Queue "{given}" does not exist; there are: {known}')

    def _pulled(self, params: Mapping[str, str]) -> str:
        name = self._name(params)
        if not self._engine.pulls(name):
            raise Refused(405, 10105, f'Queue "{name}" has no HTTP consumer: give its consumer "type": "http_pull"')
        return name

    def _metrics(self, name: str) -> dict[str, Any]:
        tally, oldest = self._engine.tally(name), self._engine.oldest(name)
        return {
            "backlog_count": tally.waiting,
            "backlog_bytes": tally.bytes,
            "oldest_message_timestamp_ms": int(oldest * 1000) if oldest is not None else 0,
        }

    def _described(self, view: Overview) -> dict[str, Any]:
        consumer, standing = view.consumer, view.standing
        consumers = []
        if consumer is not None:
            consumers.append(
                {
                    "type": consumer.type,
                    "script": view.worker,
                    "dead_letter_queue": consumer.dead_letter_queue,
                    "settings": {
                        "batch_size": consumer.max_batch_size,
                        "max_wait_time_ms": int(consumer.max_batch_timeout * 1000),
                        "max_retries": consumer.max_retries,
                        "max_concurrency": consumer.max_concurrency,
                        "retry_delay": consumer.retry_delay,
                        "visibility_timeout_ms": consumer.visibility_timeout_ms,
                    },
                }
            )
        return {
            "queue_id": queue_id(view.name),
            "queue_name": view.name,
            "settings": {"delivery_delay": standing.delivery_delay, "delivery_paused": standing.paused},
            "producers": [{"type": "worker", "script": name.split(".")[0]} for name in view.producers],
            "producers_total_count": len(view.producers),
            "consumers": consumers,
            "consumers_total_count": len(consumers),
            "metrics": self._metrics(view.name),
            "delayed": view.delayed,
            "in_flight": view.tally.leased,
            "dropped": standing.dropped,
            "dead_lettered": standing.dead_lettered,
            "expired": standing.expired,
        }


def listed(message: Listed) -> dict[str, Any]:
    """A message as the listings show it; times in milliseconds."""
    return {
        "seq": message.seq,
        "id": message.id,
        "body": _pull_body(message.body, message.content_type),
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


def _encoded(message: Mapping[str, Any]) -> tuple[str, bytes]:
    """Content type and bytes of a pushed message; bytes and v8 come in base64."""
    kind, value = message.get("content_type", "json"), message.get("body")
    if kind not in body.CONTENT_TYPES:
        raise Refused(400, 10203, f"Invalid content type: {kind}")
    if kind == "json":
        return kind, utf8(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    if not isinstance(value, str):
        raise Refused(400, 10207, f"A message of type {kind} needs a string as body")
    if kind == "text":
        return kind, utf8(value)
    try:
        return kind, base64.b64decode(value, validate=True)
    except binascii.Error:
        raise Refused(400, 10207, f"A message of type {kind} needs base64 as body") from None


def _pull_body(data: bytes, kind: str) -> str:
    """Text is itself; all else is base64, as the page on pull consumers says."""
    return data.decode(errors="replace") if kind == "text" else base64.b64encode(data).decode()


def _id(request: Mapping[str, Any]) -> str | None:
    """The message that is meant; None: all."""
    given = request.get("id")
    if given is not None and not isinstance(given, str):
        raise Refused(400, 10207, '"id" must be a string')
    return given


def _list(request: Mapping[str, Any], key: str) -> Sequence[Any]:
    given = request.get(key) or []
    if not isinstance(given, list):
        raise Refused(400, 10207, f'"{key}" must be a list')
    return given


def _lease(item: Any) -> str:
    given = item.get("lease_id") if isinstance(item, dict) else None
    if not isinstance(given, str):
        raise Refused(400, 10207, 'Each entry needs a "lease_id"')
    return given


def _number(source: Mapping[str, Any], key: str, default: Any, least: int, greatest: int, code: int = 10207) -> Any:
    """An integer from a request or from a query string."""
    given = source.get(key)
    if given is None:
        return default
    try:
        number = int(given)
    except (TypeError, ValueError):
        raise Refused(400, code, f'"{key}" must be a number') from None
    if not least <= number <= greatest:
        raise Refused(400, code, f'"{key}" must be between {least} and {greatest}, not {number}')
    return number
