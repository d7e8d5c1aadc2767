"""Cloudflare's REST paths of queues (api/resources/queues), so that a pull consumer written for Cloudflare works by
changing its base URL. A queue's id is its name, or 32 hex digits made of it; any account id will do.

What is ours: `GET …/messages` lists, `POST …/messages/preview`, `…/retry` and `…/redrive`. Queues and consumers come
from the configuration, so the paths that make, rename or delete them refuse.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pyflare.engines.queues import body, shapes
from pyflare.engines.queues.config import (
    DEFAULT_PULL_SIZE,
    MAX_BATCH_BYTES,
    MAX_BATCH_MESSAGES,
    MAX_DELAY_SECONDS,
    MAX_MESSAGE_BYTES,
    MAX_RETENTION_SECONDS,
    MAX_VISIBILITY_TIMEOUT_MS,
    MIN_RETENTION_SECONDS,
)
from pyflare.engines.queues.rows import NO_STANDING, Draft, Listed
from pyflare.interop.web.bytes import utf8

if TYPE_CHECKING:
    from pyflare.engines.queues.engine import Queues

Answer = tuple[int, dict[str, Any]]
Handler = Callable[[Any, Mapping[str, str]], Awaitable[Answer]]
Route = tuple[str, str, Handler]

ALL = "/accounts/{account_id}/queues"
ONE = f"{ALL}/{{queue_id}}"
CONSUMER = f"{ONE}/consumers/{{consumer_id}}"
STATES = ("all", "waiting", "ready", "delayed", "leased")
INVALID, MALFORMED, NO_METHOD, NO_ROUTE, PAUSED = 10207, 10208, 7001, 7003, 10252


class Refused(Exception):
    """A request that cannot be served, with Cloudflare's code (queues/reference/error-codes)."""

    def __init__(self, status: int, code: int, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(message)


def routes(engine: Queues) -> Sequence[Route]:
    """Each handler takes the request's JSON and the parameters of path and query; it gives status and JSON."""
    api = Api(engine)
    served = (
        ("GET", ALL, api.queues),
        ("POST", ALL, api.create),
        ("GET", ONE, api.queue),
        ("PATCH", ONE, api.change),
        ("PUT", ONE, api.replace),
        ("DELETE", ONE, api.delete),
        ("GET", f"{ONE}/metrics", api.metrics),
        ("GET", f"{ONE}/consumers", api.consumers),
        ("POST", f"{ONE}/consumers", api.change_consumers),
        ("GET", CONSUMER, api.consumer),
        ("PUT", CONSUMER, api.change_consumers),
        ("DELETE", CONSUMER, api.change_consumers),
        ("GET", f"{ONE}/messages", api.messages),
        ("POST", f"{ONE}/messages", api.push),
        ("POST", f"{ONE}/messages/batch", api.push_many),
        ("POST", f"{ONE}/messages/pull", api.pull),
        ("POST", f"{ONE}/messages/ack", api.ack),
        ("POST", f"{ONE}/messages/peek", api.peek),
        ("POST", f"{ONE}/messages/preview", api.peek),
        ("POST", f"{ONE}/messages/purge", api.purge_messages),
        ("GET", f"{ONE}/purge", api.purge_status),
        ("POST", f"{ONE}/purge", api.purge),
        ("POST", f"{ONE}/retry", api.retry),
        ("POST", f"{ONE}/redrive", api.redrive),
    )
    return [(method, path, _answered(serve)) for method, path, serve in served]


def _answered(serve: Callable[[Any, Mapping[str, str]], Any]) -> Handler:
    async def handler(request: Any, params: Mapping[str, str]) -> Answer:
        if request is not None and not isinstance(request, dict):
            return _failed(Refused(400, INVALID, "The request body must be a JSON object"))
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


class Api:
    """One method a path."""

    def __init__(self, engine: Queues) -> None:
        self._engine = engine

    def queues(self, _: Any, params: Mapping[str, str]) -> Any:
        """Every queue, with its consumers and counts."""
        return [shapes.queue(self._engine.overview(name)) for name in self._engine.names()]

    def create(self, request: Any, params: Mapping[str, str]) -> Any:
        """Refused."""
        name = request.get("queue_name")
        raise Refused(405, NO_METHOD, f'Queues come from the configuration here: name "{name}" in "queues" there')

    def queue(self, _: Any, params: Mapping[str, str]) -> Any:
        """One queue."""
        return shapes.queue(self._engine.overview(self._name(params)))

    def delete(self, _: Any, params: Mapping[str, str]) -> Any:
        """Delete what is left of a queue that no configuration names any more."""
        name = self._name(params)
        if self._engine.configured(name):
            raise Refused(405, NO_METHOD, f'Queue "{name}" comes from the configuration: remove it there first')
        self._engine.forget(name)

    def change(self, request: Any, params: Mapping[str, str]) -> Any:
        """Set some of: {"settings": {"delivery_delay": 60, "delivery_paused": true, "message_retention_period": 3600}},
        all but the second in seconds."""
        return self._set(request, params, {})

    def replace(self, request: Any, params: Mapping[str, str]) -> Any:
        """The same; what is not given becomes what it is by default."""
        usual = NO_STANDING
        return self._set(request, params, {
            "delivery_delay": usual.delivery_delay,
            "delivery_paused": usual.paused,
            "message_retention_period": usual.retention,
        })  # fmt: skip

    def _set(self, request: Any, params: Mapping[str, str], usual: Mapping[str, Any]) -> Any:
        engine, name = self._engine, self._name(params)
        if request.get("queue_name", name) != name:
            raise Refused(400, INVALID, f'The name of queue "{name}" cannot be changed')
        settings = request.get("settings") or {}
        if not isinstance(settings, dict):
            raise Refused(400, INVALID, '"settings" must be an object')
        given = {**usual, **settings}
        delay = _number(given, "delivery_delay", None, 0, MAX_DELAY_SECONDS)
        kept = _number(given, "message_retention_period", None, MIN_RETENTION_SECONDS, MAX_RETENTION_SECONDS)
        paused = given.get("delivery_paused")
        if paused is not None and not isinstance(paused, bool):
            raise Refused(400, INVALID, '"delivery_paused" must be true or false')
        if delay is not None:
            engine.set_delivery_delay(name, delay)
        if kept is not None:
            engine.set_retention(name, kept)
        if paused is not None:
            (engine.pause_delivery if paused else engine.resume_delivery)(name)
        return self.queue(request, params)

    def metrics(self, _: Any, params: Mapping[str, str]) -> Any:
        """The backlog: what is not acknowledged."""
        return self._metrics(self._name(params))

    def consumers(self, _: Any, params: Mapping[str, str]) -> Any:
        """The consumer of a queue, in a list."""
        return shapes.consumers(self._engine.overview(self._name(params)))

    def consumer(self, _: Any, params: Mapping[str, str]) -> Any:
        """One consumer."""
        for found in self.consumers(_, params):
            if found["consumer_id"] == params["consumer_id"]:
                return found
        raise Refused(404, NO_ROUTE, f'Queue "{self._name(params)}" has no consumer "{params["consumer_id"]}"')

    def change_consumers(self, _: Any, params: Mapping[str, str]) -> Any:
        """Refused."""
        self._name(params)
        raise Refused(405, NO_METHOD, 'Consumers come from the configuration here: change "queues.consumers" there')

    def messages(self, _: Any, params: Mapping[str, str]) -> Any:
        """Messages in order of arrival; filters: state, id, contains, after, limit."""
        state = params.get("state", "all")
        if state not in STATES:
            raise Refused(400, INVALID, f'"state" must be one of {", ".join(STATES)}, not {state!r}')
        found = self._engine.messages(
            self._name(params),
            state,
            params.get("id"),
            params.get("contains"),
            _number(params, "after", 0, 0, 2**62),
            _number(params, "limit", 100, 1, 1000),
        )
        return {"messages": [shapes.listed(message) for message in found]}

    def peek(self, request: Any, params: Mapping[str, str]) -> Any:
        """The next messages, which stay where they are."""
        limit = _number(request, "batch_size", 10, 1, MAX_BATCH_MESSAGES)
        return shapes.peeked(self._engine.peek(self._name(params), limit))

    def push(self, request: Any, params: Mapping[str, str]) -> Any:
        """Send a message: body, content_type, delay_seconds."""
        return self._push(params, [request], None)

    def push_many(self, request: Any, params: Mapping[str, str]) -> Any:
        """Send up to 100 messages."""
        messages = request.get("messages")
        if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
            raise Refused(400, INVALID, '"messages" must be a list of objects')
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
        # The page shows `visibility_timeout` too; both are milliseconds.
        key = "visibility_timeout_ms" if "visibility_timeout_ms" in request else "visibility_timeout"
        visibility = _number(request, key, None, 0, MAX_VISIBILITY_TIMEOUT_MS)
        if self._engine.paused(name):
            raise Refused(409, PAUSED, "queue_delivery_paused")
        messages = [shapes.pulled(message) for message in self._engine.pull(name, size, visibility)]
        metrics = self._metrics(name)
        return {
            "message_backlog_count": metrics["backlog_count"],
            "metadata": {"metrics": metrics},
            "messages": messages,
        }

    def ack(self, request: Any, params: Mapping[str, str]) -> Any:
        """Acknowledge or retry leases: acks, retries."""
        name = self._pulled(params)
        acks = [_text(item, "lease_id") for item in _list(request, "acks")]
        retries = [
            (_text(item, "lease_id"), _number(item, "delay_seconds", None, 0, MAX_DELAY_SECONDS, 10203))
            for item in _list(request, "retries")
        ]
        outcome = self._engine.acknowledge(name, acks, retries)
        return {"ackCount": outcome.acked, "retryCount": outcome.retried, "warnings": dict(outcome.warnings)}

    def purge(self, request: Any, params: Mapping[str, str]) -> Any:
        """Delete every message."""
        name = self._name(params)
        if request.get("delete_messages_permanently") is not True:
            raise Refused(400, INVALID, '"delete_messages_permanently" must be true')
        purged = self._engine.purge(name)
        return {**shapes.queue(self._engine.overview(name)), "purged": purged}

    def purge_status(self, _: Any, params: Mapping[str, str]) -> Any:
        """When the queue was last purged, while this server runs. A purge has ended when its answer comes."""
        at = self._engine.purged_at(self._name(params))
        if at is None:
            return {"completed": "", "started_at": ""}
        started = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        return {"completed": "true", "started_at": started.replace("+00:00", "Z")}

    def purge_messages(self, request: Any, params: Mapping[str, str]) -> Any:
        """Delete some messages: refs, as `messages/peek` gives them."""
        name, warnings = self._name(params), {}
        refs = [_text(item, "ref") for item in _list(request, "refs")]
        for ref in refs:
            if not self._engine.delete_message(name, *shapes.parse_reference(ref)):
                warnings[ref] = f'Queue "{name}" has no such message'
        return {"errors": [], "warnings": warnings}

    def retry(self, request: Any, params: Mapping[str, str]) -> Any:
        """Make delayed messages due now: all, or the one with this id."""
        name, id = self._name(params), _id(request)
        self._has(name, id)
        return {"retried": self._engine.retry_now(name, id)}

    def redrive(self, request: Any, params: Mapping[str, str]) -> Any:
        """Move dead letters back, or to another queue."""
        to, name, id = request.get("to"), self._name(params), _id(request)
        target = None if to is None else self._name({"queue_id": to})
        found = self._has(name, id)
        if found is not None and found.origin is None and target is None:
            raise Refused(400, INVALID, f'Message "{id}" died in no queue: say where to move it')
        return {"moved": dict(self._engine.redrive(name, target, id))}

    # --- inside ---------------------------------------------------------------------------------------------------

    def _name(self, params: Mapping[str, str]) -> str:
        given = params["queue_id"]
        for name in self._engine.names():
            if given in (name, shapes.hex_id(name)):
                return name
        known = ", ".join(self._engine.names()) or "none"
        raise Refused(404, 10104, f'Queue "{given}" does not exist; there are: {known}')

    def _pulled(self, params: Mapping[str, str]) -> str:
        name = self._name(params)
        if not self._engine.pulls(name):
            raise Refused(405, 10105, f'Queue "{name}" has no HTTP consumer: give its consumer "type": "http_pull"')
        return name

    def _has(self, name: str, id: str | None) -> Listed | None:
        """The message that is meant, which no consumer holds; None: all are."""
        if id is None:
            return None
        for found in self._engine.messages(name, id=id):
            if found.state == "leased":
                raise Refused(409, INVALID, f'Message "{id}" of queue "{name}" is with a consumer now')
            return found
        raise Refused(404, NO_ROUTE, f'Queue "{name}" has no message "{id}"')

    def _metrics(self, name: str) -> dict[str, Any]:
        return shapes.metrics(self._engine.tally(name), self._engine.oldest(name))


def _encoded(message: Mapping[str, Any]) -> tuple[str, bytes]:
    """Content type and bytes of a pushed message; bytes and v8 come in base64."""
    if "body" not in message:
        raise Refused(400, INVALID, '"body" is missing')
    kind, value = message.get("content_type", "json"), message["body"]
    if kind not in body.CONTENT_TYPES:
        raise Refused(400, 10203, f"Invalid content type: {kind}")
    if kind == "json":
        return kind, utf8(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    if not isinstance(value, str):
        raise Refused(400, INVALID, f"A message of type {kind} needs a string as body")
    if kind == "text":
        return kind, utf8(value)
    try:
        return kind, base64.b64decode(value, validate=True)
    except binascii.Error:
        raise Refused(400, INVALID, f"A message of type {kind} needs base64 as body") from None


def _id(request: Mapping[str, Any]) -> str | None:
    """The message that is meant; None: all."""
    given = request.get("id")
    if given is not None and not isinstance(given, str):
        raise Refused(400, INVALID, '"id" must be a string')
    return given


def _list(request: Mapping[str, Any], key: str) -> Sequence[Any]:
    given = request.get(key) or []
    if not isinstance(given, list):
        raise Refused(400, INVALID, f'"{key}" must be a list')
    return given


def _text(item: Any, key: str) -> str:
    given = item.get(key) if isinstance(item, dict) else None
    if not isinstance(given, str):
        raise Refused(400, INVALID, f'Each entry needs a "{key}"')
    return given


def _number(source: Mapping[str, Any], key: str, default: Any, least: int, greatest: int, code: int = INVALID) -> Any:
    """An integer from a request or from a query string."""
    given = source.get(key)
    if given is None:
        return default
    try:
        number = int("no number" if isinstance(given, bool) else given)
    except (TypeError, ValueError, OverflowError):
        raise Refused(400, code, f'"{key}" must be a number') from None
    if not least <= number <= greatest:
        raise Refused(400, code, f'"{key}" must be between {least} and {greatest}, not {number}')
    return number
