"""The message that the worker's `email` handler gets, and what it does with it.

developers.cloudflare.com/email-routing/email-workers/runtime-api
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pyflare.engines.email.message import Mime, fault_of_reply, is_replyable, read, with_references
from pyflare.interop.arguments import promised, to_string
from pyflare.interop.errors import error, type_error
from pyflare.interop.promise import JsPromise, confirmed, perform, start
from pyflare.interop.proxy import JsObject, JsProxy, is_nullish
from pyflare.interop.web.email_message import EmailMessage
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.readable import ReadableStream

Keep = Callable[[str, str, str, bytes], str]  # (kind, sender, recipient, raw) -> the id of the new message


@dataclass
class Delivery:
    """What became of a message; the events are of the form that miniflare's hook answers with."""

    sender: str
    recipient: str
    raw: bytes
    mime: Mime
    reject_reason: str | None = None
    forwards: list[dict[str, Any]] = field(default_factory=list)
    replies: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


class ForwardableEmailMessage(JsProxy):
    js_name: ClassVar[str] = "ForwardableEmailMessage"

    def __init__(self, delivery: Delivery, keep: Keep, now: Callable[[], str], log: Callable[[str], None]) -> None:
        self.__dict__["from"] = delivery.sender
        self.to = delivery.recipient
        self.rawSize = len(delivery.raw)
        self.raw = ReadableStream.of_bytes(delivery.raw)
        self.headers = Headers.make([(name, " ".join(value.split())) for name, value in delivery.mime.headers], True)
        self._delivery = delivery
        self._keep = keep
        self._now = now
        self._log = log

    def setReject(self, reason: Any = None) -> None:
        text = to_string(reason)
        self._delivery.reject_reason = text
        self._note("reject")
        self._log(f'Email handler rejected message with the following reason: "{text}"')

    @promised
    def forward(self, recipient: Any = None, headers: Any = None) -> JsPromise:
        pairs = [] if is_nullish(headers) else Headers.construct(headers).combined()
        return perform(self._forward, to_string(recipient), pairs)

    def _forward(self, recipient: str, headers: list[tuple[str, str]]) -> JsObject:
        delivery = self._delivery
        added = "".join(f"{name}: {value}\r\n" for name, value in headers).encode()
        message_id = self._keep("forwarded", delivery.sender, recipient, added + delivery.raw)
        self._note("forward", message_id)
        pairs = [list(pair) for pair in headers]
        delivery.forwards.append({"messageId": message_id, "recipient": recipient, "headers": pairs})
        self._log(f"Email handler forwarded message with\n  rcptTo: {recipient}")
        return JsObject.make({"messageId": message_id})

    @promised
    def reply(self, message: Any = None) -> JsPromise:
        if not isinstance(message, EmailMessage):
            raise type_error(
                "Failed to execute 'reply' on 'ForwardableEmailMessage': parameter 1 is not of type 'EmailMessage'."
            )
        sender, raw = getattr(message, "from"), message._raw
        if isinstance(raw, bytes):
            return perform(self._reply, sender, message.to, raw)
        return start(self._reply_stream(sender, message.to, raw))

    async def _reply_stream(self, sender: str, recipient: str, raw: ReadableStream) -> JsObject:
        await confirmed()
        return self._reply(sender, recipient, b"".join([chunk async for chunk in raw.drain()]))

    def _reply(self, sender: str, recipient: str, raw: bytes) -> JsObject:
        delivery = self._delivery
        if not is_replyable(delivery.mime):
            raise error("Original email is not replyable")
        mime = read(raw)
        fault = fault_of_reply(delivery.mime, mime, sender)
        if fault is not None:
            raise error(fault)
        final = with_references(delivery.mime, mime, raw)
        message_id = self._keep("replied", sender, recipient, final)
        self._note("reply", message_id)
        text = final.decode("utf-8", "replace")
        delivery.replies.append({"messageId": message_id, "sender": sender, "raw": text})
        return JsObject.make({"messageId": message_id})

    def _note(self, kind: str, message_id: str | None = None) -> None:
        event = {"type": kind, "timestamp": self._now()}
        if message_id is not None:
            event["messageId"] = message_id
        self._delivery.events.append(event)
