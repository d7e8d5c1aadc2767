"""What a `tail` handler gets: one TraceItem for an event of the producer.

developers.cloudflare.com/workers/runtime-apis/handlers/tail, workerd `api/trace.h`. What an event lacks is undefined.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pyflare.interop import json
from pyflare.interop.containers import JsArray
from pyflare.interop.dates import JsDate
from pyflare.interop.proxy import JsObject, JsProxy, get, jsnull
from pyflare.interop.web.request import Request
from pyflare.worker import event as events
from pyflare.worker.trace import Failure, Line, Trace

REDACTED = "REDACTED"
SECRET_HEADERS = ("cookie", "set-cookie")
SECRET_WORDS = ("auth", "jwt", "key", "secret", "token")  # within a header's name
MIN_HEX_ID, MIN_BASE64_ID = 32, 21  # hex digits, characters
OF_AN_ID = re.compile(r"[A-Za-z0-9+_-]+")
OF_A_SOCKET = {"webSocketMessage": "message", "webSocketClose": "close", "webSocketError": "error"}


class TraceItem(JsProxy):
    js_name: ClassVar[str] = "TraceItem"

    def __init__(self, trace: Trace) -> None:
        self.scriptName = trace.worker
        self.entrypoint = trace.entrypoint
        self.event = _event_info(trace)
        self.eventTimestamp = trace.began_ms
        self.logs = JsArray.make([_log(line) for line in trace.lines])
        self.exceptions = JsArray.make([_exception(failure) for failure in trace.failures])
        self.diagnosticsChannelEvents = JsArray.make([])
        self.outcome = trace.outcome
        self.executionModel = trace.model
        self.truncated = trace.truncated
        self.cpuTime = 0
        self.wallTime = trace.ended_ms - trace.began_ms


class TraceRequest(JsProxy):
    """The request of an event, without what may be secret."""

    js_name: ClassVar[str] = "Request"

    def __init__(self, request: Request, redacted: bool = True) -> None:
        pairs = request.headers.combined()
        self.url = redact_url(request.url) if redacted else request.url
        self.method = request.method
        self.headers = JsObject.make(
            {name: REDACTED if redacted and _is_secret(name) else value for name, value in pairs}
        )
        if request.cf is not None:
            self.cf = request.cf
        self._request = request

    def getUnredacted(self) -> TraceRequest:
        made: TraceRequest = TraceRequest.make(self._request, False)
        return made


def redact_url(url: str) -> str:
    """Without what looks like an id: 32 hex digits, or 21 characters of base64."""
    return OF_AN_ID.sub(_redacted, url)


def _redacted(found: re.Match[str]) -> str:
    text = found[0]
    digits = sum(char in "0123456789abcdefABCDEF" for char in text)
    if digits >= MIN_HEX_ID and digits + sum(char in "+-_" for char in text) == len(text):
        return REDACTED
    kinds = (sum(map(kind, text)) for kind in (str.isupper, str.islower, str.isdigit))
    return REDACTED if len(text) >= MIN_BASE64_ID and all(count >= 2 for count in kinds) else text


def _is_secret(header: str) -> bool:
    return header in SECRET_HEADERS or any(word in header for word in SECRET_WORDS)


def _log(line: Line) -> JsObject:
    return JsObject.make({"timestamp": line.at_ms, "level": line.level, "message": json.parse(line.message)})


def _exception(failure: Failure) -> JsObject:
    return JsObject.make(
        {"timestamp": failure.at_ms, "name": failure.name, "message": failure.message, "stack": failure.stack}
    )


def _event_info(trace: Trace) -> Any:
    """What the worker was called for; null for what production does not describe either."""
    event = trace.event
    if isinstance(event, events.Fetch):
        response = {} if trace.status is None else {"response": JsObject.make({"status": trace.status})}
        return JsObject.make({"request": TraceRequest.make(event.request), **response})
    if isinstance(event, events.Rpc):
        return JsObject.make({"rpcMethod": event.method})
    if isinstance(event, events.Scheduled):
        controller = event.controller
        return JsObject.make({"cron": controller.cron, "scheduledTime": controller.scheduledTime})
    if isinstance(event, events.Queue):
        return JsObject.make({"queue": event.batch.queue, "batchSize": event.batch.messages.length})
    return _handler_info(event) if isinstance(event, events.Handler) else jsnull


def _handler_info(event: events.Handler) -> Any:
    given = event.argument
    if event.name == "alarm":
        return JsObject.make({"scheduledTime": JsDate.make(float(given))})
    if event.name == "email":
        return JsObject.make({"mailFrom": get(given, "from"), "rcptTo": given.to, "rawSize": given.rawSize})
    if event.name not in OF_A_SOCKET:
        return jsnull
    socket_event: dict[str, Any] = {"webSocketEventType": OF_A_SOCKET[event.name]}
    if event.name == "webSocketClose":
        socket_event |= {"code": given[0], "wasClean": given[2]}
    return JsObject.make({"getWebSocketEvent": JsObject.make(socket_event)})
