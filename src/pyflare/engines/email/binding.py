"""`env.EMAIL.send(…)`: an EmailMessage, or an object that describes a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pyflare.engines.email.message import Attachment, Description
from pyflare.interop.arguments import promised, to_string
from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.containers import JsArray
from pyflare.interop.convert import to_js, unwrap
from pyflare.interop.errors import error
from pyflare.interop.promise import JsPromise, confirmed, perform, start
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish
from pyflare.interop.web.bytes import utf8
from pyflare.interop.web.email_message import EmailMessage
from pyflare.interop.web.readable import ReadableStream


class SendEmail(JsProxy):
    """`send_raw(sender, recipient, raw)` and `send_described(description)` give the message's id."""

    js_name: ClassVar[str] = "SendEmail"

    def __init__(
        self, send_raw: Callable[[str, str, bytes], str], send_described: Callable[[Description], str]
    ) -> None:
        self._send_raw = send_raw
        self._send_described = send_described

    def js_properties(self) -> dict[str, Any]:
        return {}

    @promised
    def send(self, message: Any = None) -> JsPromise:
        message = unwrap(message)
        if isinstance(message, EmailMessage):
            sender, recipient, raw = getattr(message, "from"), message.to, message._raw
            if isinstance(raw, bytes):
                return perform(self._sent, self._send_raw, sender, recipient, raw)
            return start(self._send_stream(sender, recipient, raw))
        return perform(self._sent, self._send_described, describe(message))

    def _sent(self, send: Callable[..., str], *args: Any) -> JsObject:
        return JsObject.make({"messageId": send(*args)})

    async def _send_stream(self, sender: str, recipient: str, raw: ReadableStream) -> JsObject:
        await confirmed()
        data = b"".join([chunk async for chunk in raw.drain()])
        return self._sent(self._send_raw, sender, recipient, data)


def describe(value: Any) -> Description:
    """The message that an object describes; raises for what is missing."""
    if isinstance(value, dict):
        value = to_js(value)
    for name in ("from", "to", "subject"):
        if is_nullish(get(value, name)):
            raise error(f"The message has no {name}")
    return Description(
        sender=_address(get(value, "from")),
        to=_addresses(get(value, "to")),
        subject=to_string(get(value, "subject")),
        cc=_addresses(get(value, "cc")),
        bcc=_addresses(get(value, "bcc")),
        reply_to=None if is_nullish(get(value, "replyTo")) else _address(get(value, "replyTo")),
        headers=_headers(get(value, "headers")),
        text=_text(get(value, "text")),
        html=_text(get(value, "html")),
        attachments=[_attachment(item) for item in get(value, "attachments") or ()],
    )


def _text(value: Any) -> str | None:
    return None if is_nullish(value) else to_string(value)


def _headers(value: Any) -> dict[str, str]:
    properties = value.js_properties() if isinstance(value, JsProxy) else {}
    return {to_string(name): to_string(item) for name, item in properties.items()}


def _addresses(value: Any) -> list[tuple[str, str]]:
    if is_nullish(value):
        return []
    return [_address(item) for item in value] if isinstance(value, JsArray) else [_address(value)]


def _address(value: Any) -> tuple[str, str]:
    """(name, address) of `Ada <ada@example.com>`, `ada@example.com` or {name, email}."""
    if not isinstance(value, str):
        name = get(value, "name")
        return "" if is_nullish(name) else to_string(name), to_string(get(value, "email"))
    name, bracket, rest = value.rpartition("<")
    if bracket and rest.rstrip().endswith(">"):
        return name.strip().strip('"'), rest.rstrip()[:-1].strip()
    return "", value.strip()


def _attachment(value: Any) -> Attachment:
    content = get(value, "content")
    content_id = get(value, "contentId")
    return Attachment(
        filename=to_string(get(value, "filename", "attachment")),
        type=to_string(get(value, "type", "application/octet-stream")),
        content=as_bytes(content) if is_buffer(content) else utf8(to_string(content)),
        inline=get(value, "disposition") == "inline",
        content_id="" if is_nullish(content_id) else to_string(content_id),
    )
