"""Response. developers.cloudflare.com/workers/runtime-apis/response"""

from __future__ import annotations

from typing import Any, ClassVar

from pyflare.interop import json as js_json
from pyflare.interop.arguments import to_int32
from pyflare.interop.clone import clone
from pyflare.interop.containers import to_text
from pyflare.interop.errors import range_error, type_error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import is_nullish, jsnull, options
from pyflare.interop.web.body import Body, WithBody, extract
from pyflare.interop.web.bytes import utf8
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.init import cf_object, reader
from pyflare.interop.web.status import NULL_BODY_STATUSES, REDIRECT_STATUSES, status_text
from pyflare.interop.web.url import normalize

BAD_STATUS = "Responses may only be constructed with status codes in the range 200 to 599, inclusive."
NO_BODY = "Response with null body status (101, 204, 205, or 304) cannot have a body."


class _Json:
    """`Response.json(data)` makes a response, `response.json()` reads one."""

    def __get__(self, response: Response | None, owner: type[Response]) -> Any:
        return owner.from_data if response is None else response.read_json


class Response(WithBody):
    js_name: ClassVar[str] = "Response"

    def __init__(
        self,
        status: int = 200,
        status_text: str | None = None,
        headers: Headers | None = None,
        body: Body | None = None,
        web_socket: Any = None,
        encode_body: str = "automatic",
        url: str = "",
    ) -> None:
        """`status_text` None: the usual one of `status`. `web_socket`: of a 101."""
        self.status = status
        self._status_text = status_text
        self.headers = Headers.make() if headers is None else headers
        self._body = body
        self._web_socket = web_socket
        self._encode_body = encode_body
        self._url = url
        self._redirected = False
        self._type = "default"
        self._cf: Any = None

    @classmethod
    def construct(cls, body: Any = None, init: Any = None) -> Response:
        if init is None:
            plain: Response = cls.make()
            if body is not None and body is not jsnull:
                plain._take(body)
            return plain
        read = reader(init)
        if read is None:
            raise type_error(
                "Failed to construct 'Response': constructor parameter 2 is not of type 'InitializerDict or Response'."
            )
        headers = Headers.given(read("headers"), "InitializerDict")
        response: Response = cls.make(_status(read("status")), _text(read("statusText")), headers)
        _socket(response, read("webSocket"))
        encode = read("encodeBody")
        if encode is not None:
            response._encode_body = _encoding(encode)
        cf = read("cf")
        if cf is not None:
            response._cf = clone(cf_object(cf, "InitializerDict"))
        if body is not None and body is not jsnull:
            response._take(body)
        return response

    def _take(self, value: Any) -> None:
        body, kind = extract(value)
        if self.status in NULL_BODY_STATUSES:
            # An empty text is let through as no body at all, as recorded.
            if body.known != b"":
                raise type_error(NO_BODY)
            return
        self._body = body
        if kind is not None and self.headers.first("content-type") is None:
            self.headers._pairs.append(("content-type", kind))

    @classmethod
    @options
    def from_data(cls, data: Any = None, init: Any = None) -> Response:
        """`Response.json(data, init)`."""
        response = cls.construct(None, init)
        if response.status in NULL_BODY_STATUSES:
            raise type_error(NO_BODY)
        data = utf8(to_text(js_json.stringify(data)))
        response._body = Body(data, length=len(data))
        if response.headers.first("content-type") is None:
            response.headers.append("content-type", "application/json")
        return response

    @classmethod
    def redirect(cls, url: Any, status: Any = None) -> Response:
        code = 302 if status is None else _status(status, unchecked=True)
        if code not in REDIRECT_STATUSES:
            raise range_error(f"{code} is not a redirect status code. It must be one of: 301, 302, 303, 307, or 308.")
        location = normalize(to_text(url))
        if location is None:
            raise type_error(f"Unable to parse URL: {to_text(url)}")
        return cls.make(code, None, Headers.make([("location", location)], True))

    @classmethod
    def error(cls) -> Response:
        response: Response = cls.make(0, "")
        response._type = "error"
        return response

    def js_properties(self) -> dict[str, Any]:
        return {}

    json = _Json()

    def read_json(self) -> JsPromise:
        return WithBody.json(self)

    @property
    def statusText(self) -> str:
        return status_text(self.status) if self._status_text is None else self._status_text

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def redirected(self) -> bool:
        return self._redirected

    @property
    def type(self) -> str:
        return self._type

    @property
    def url(self) -> str:
        return self._url

    @property
    def cf(self) -> Any:
        return self._cf

    @property
    def webSocket(self) -> Any:
        return jsnull if self._web_socket is None else self._web_socket

    def received(self, url: str, redirected: bool) -> Response:
        """What is on the other side of a call: its headers cannot be changed there."""
        headers = self.headers.copy(True)
        made: Response = type(self).make(
            self.status, self._status_text, headers, self._body, self._web_socket, self._encode_body, url
        )
        made._redirected, made._cf = redirected, self._cf
        return made

    def clone(self) -> Response:
        if self._web_socket is not None:
            raise type_error("Cannot clone a response to a WebSocket handshake.")
        body = None if self._body is None else self._body.copy()
        headers = self.headers.copy(self.headers._immutable)
        made: Response = type(self).make(self.status, self._status_text, headers, body)
        made._encode_body, made._url, made._redirected = self._encode_body, self._url, self._redirected
        made._cf, made._type = self._cf, self._type
        return made


def _status(value: Any, unchecked: bool = False) -> int:
    if value is None:
        return 200
    if type(value) is not int or not 200 <= value <= 599:
        value = to_int32(value)
    if not (200 <= value <= 599 or value == 101 or unchecked):
        raise range_error(BAD_STATUS)
    return value  # type: ignore[no-any-return]


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = to_text(value)
    if any(char < " " for char in text):
        raise type_error("Invalid statusText")
    return text


def _socket(response: Response, socket: Any) -> None:
    if is_nullish(socket):
        if response.status == 101:
            raise range_error(BAD_STATUS)
        return
    if response.status != 101:
        raise range_error("Responses with a WebSocket must have status code 101.")
    response._web_socket = socket
    socket.couple()


def _encoding(value: Any) -> str:
    text = to_text(value)
    if text not in ("automatic", "manual"):
        raise type_error(f"encodeBody: unexpected value: {text}")
    return text
