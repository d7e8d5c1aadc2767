"""WebSocketRequestResponsePair: what a Durable Object answers to a text frame without waking."""

from __future__ import annotations

from typing import Any, ClassVar

from pyflare.interop.arguments import to_string
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import JsProxy


class WebSocketRequestResponsePair(JsProxy):
    js_name: ClassVar[str] = "WebSocketRequestResponsePair"

    def __init__(self, request: str, response: str) -> None:
        self.request, self.response = request, response

    @classmethod
    def construct(cls, request: Any = None, response: Any = None) -> WebSocketRequestResponsePair:
        for number, value in ((1, request), (2, response)):
            if value is None:
                raise type_error(
                    "Failed to construct 'WebSocketRequestResponsePair': "
                    f"constructor parameter {number} is not of type 'string'."
                )
        return cls.make(to_string(request), to_string(response))
