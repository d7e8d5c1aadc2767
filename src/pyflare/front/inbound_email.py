"""`POST /cdn-cgi/local/email?from=…&to=…`: a MIME message for the worker's `email` handler.

The texts and the JSON (`format=json`) are those of miniflare's hook (`core/email.ts`).
"""

from __future__ import annotations

from typing import Any, Protocol

from pyflare.front.control import Answer, Call, Control
from pyflare.interop import traces

HOOKS = ("/cdn-cgi/local/email", "/cdn-cgi/handler/email")
INVALID = (
    "Invalid email. Your request must include URL parameters specifying the `from` and `to` addresses, as well as an "
    "email in the body"
)


class Mailbox(Protocol):
    """What the hook asks of a server: `room("email")`, and who gets the message."""

    @property
    def primary(self) -> Any: ...

    def room(self, name: str) -> Any: ...


class InboundEmail:
    def __init__(self, server: Mailbox) -> None:
        self._server = server

    def add_to(self, control: Control) -> None:
        for path in HOOKS:
            control.add(path, self.receive)

    async def receive(self, call: Call) -> Answer:
        sender, recipient = call.query.get("from"), call.query.get("to")
        if not sender or not recipient or not call.body:
            return Answer(INVALID, 400)
        try:
            delivery, raised = await self._server.room("email").receive(
                self._server.primary.name, sender, recipient, call.body
            )
        except ValueError as refused:
            return Answer(str(refused), 400)
        if call.query.get("format") == "json":
            result = {"outcome": "ok" if raised is None else "exception"}
            if delivery.reject_reason is not None:
                result["rejectReason"] = delivery.reject_reason
            result |= {"forwards": delivery.forwards, "replies": delivery.replies, "events": delivery.events}
            return Answer.of_json(result, 200 if raised is None else 500)
        if raised is not None:
            return Answer(traces.render(raised) + "\n", 500)
        if delivery.reject_reason is not None:
            return Answer(f"Worker rejected email with the following reason: {delivery.reject_reason}", 400)
        return Answer("Worker successfully processed email")
