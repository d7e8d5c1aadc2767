"""`EmailMessage` of the module `cloudflare:email`: a message and its envelope.

developers.cloudflare.com/email-routing/email-workers/runtime-api
"""

from __future__ import annotations

from typing import Any, ClassVar

from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.containers import to_text
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import JsProxy
from pyflare.interop.web.bytes import utf8
from pyflare.interop.web.readable import ReadableStream


class EmailMessage(JsProxy):
    """`_raw` is the MIME message: its bytes, or a stream of them."""

    js_name: ClassVar[str] = "EmailMessage"

    def __init__(self, sender: str, recipient: str, raw: bytes | ReadableStream) -> None:
        self.__dict__["from"] = sender
        self.to = recipient
        self._raw = raw

    @classmethod
    def construct(cls, sender: Any = None, recipient: Any = None, raw: Any = None) -> EmailMessage:
        if isinstance(raw, str):
            data: bytes | ReadableStream = utf8(raw)
        elif is_buffer(raw):
            data = as_bytes(raw)
        elif isinstance(raw, ReadableStream):
            data = raw
        else:
            raise type_error(
                "Failed to construct 'EmailMessage': constructor parameter 3 is not of type 'ReadableStream or string'."
            )
        message: EmailMessage = cls.make(to_text(sender), to_text(recipient), data)
        return message
