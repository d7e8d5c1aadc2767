"""What a request or a response carries: bytes that are known, or a stream; and the methods that read it.

`Body` is for Python; JavaScript's side of it are the members of `WithBody`. Known bytes become a ReadableStream only
when somebody asks for `body`. Streams are never gathered but by the methods that give the whole.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from pyflare.interop import json as js_json
from pyflare.interop import scope
from pyflare.interop.buffers import ArrayBuffer, as_bytes, is_buffer
from pyflare.interop.containers import JsArray, JsSet
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import error, type_error
from pyflare.interop.promise import FULFILLED, JsPromise, start
from pyflare.interop.proxy import JsProxy, jsnull
from pyflare.interop.web.blob import Blob
from pyflare.interop.web.bytes import byte_array, decode_utf8, string_bytes, utf8
from pyflare.interop.web.form_data import NO_TYPE, FormData, parse_form
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.media_type import extract as extract_type
from pyflare.interop.web.multipart import encode
from pyflare.interop.web.readable import LOCKED, LOST, ReadableStream, close_iterator
from pyflare.interop.web.url import URLSearchParams

USED = "Body has already been used. It can only be used once. Use tee() first if you need to read it twice."
BODY_LOCKED = "This ReadableStream is locked to a reader, and cannot be used as a body."
BODY_DISTURBED = "This ReadableStream is disturbed (has already been read from), and cannot be used as a body."

CLONE_LOCKED = "This ReadableStream is currently locked to a reader,"

TEXT_TYPE = "text/plain;charset=UTF-8"
FORM_TYPE = "application/x-www-form-urlencoded;charset=UTF-8"


class Body:
    """`length` is the number of bytes, where it is known before they are."""

    __slots__ = ("_data", "_native", "_stream", "_taken", "length")

    def __init__(
        self,
        data: bytes | None = None,
        stream: ReadableStream | None = None,
        native: AsyncIterator[bytes] | None = None,
        length: int | None = None,
    ) -> None:
        self._data, self._stream, self._native = data, stream, native
        self._taken = False
        self.length = length

    @classmethod
    def make(cls, source: bytes | ReadableStream | AsyncIterator[bytes], length: int | None = None) -> Body:
        if isinstance(source, bytes):
            return cls(source, length=len(source))
        if isinstance(source, ReadableStream):
            return cls(None, source, length=source._length)
        return cls(None, None, source, length)

    @property
    def known(self) -> bytes | None:
        """All of the body, if it is known and nobody has read it."""
        return None if self.used else self._data

    @property
    def used(self) -> bool:
        return self._taken or (self._stream is not None and self._stream._disturbed)

    @property
    def stream(self) -> ReadableStream:
        """The body as JavaScript sees it."""
        if self._stream is None:
            if self._native is not None:
                self._stream = ReadableStream.of(self._native, self.length)
            else:
                self._stream = ReadableStream.of_bytes(b"" if self._data is None else self._data)
            if self._taken:
                self._stream.hold(self)
                self._stream._disturbed = True
        return self._stream

    def take(self) -> bytes | None:
        """Use the body: its bytes if they are known, else None (then `rest` has them). TypeError when it is used."""
        if self.used:
            raise type_error(USED)
        if self._stream is not None and self._stream.locked:
            raise type_error(LOCKED)
        if self._data is not None and self._stream is not None:
            self._stream.hold(self)
            self._stream._disturbed = True
        self._taken = self._data is not None or self._stream is None
        return self._data

    def rest(self, sent: bool = False) -> AsyncIterator[bytes]:
        """The chunks of a body that `take` gave None for; `sent`: see `ReadableStream.drain`."""
        if self._stream is None:
            assert self._native is not None
            return self._native
        return self._stream.drain(sent)

    def chunks(self) -> AsyncIterator[bytes]:
        """The whole body, piece by piece, to send it; uses it at once."""
        data = self.take()
        return self.rest(sent=True) if data is None else _once(data)

    async def gather(self) -> bytes:
        """The whole body; uses it."""
        return b"".join([chunk async for chunk in self.chunks()])

    def move(self) -> Body:
        """The same body for somebody else; this one is used from now on."""
        data = self.take()
        return Body(data, native=None if data is not None else self.rest(), length=self.length)

    def fail(self, reason: Any) -> None:
        """What is left of the body will not come: whoever reads it gets `reason`."""
        if self._stream is not None:
            self._stream._fail(reason)
        give_up = getattr(self._native, "fail", None)
        if give_up is not None:
            give_up(reason)

    async def discard(self) -> None:
        """Nobody wants the body: let its source go."""
        if self.used:
            return
        stream = self._stream
        if stream is not None:
            if not stream.locked:
                await stream._cancel(error(LOST))
        elif self._native is not None:
            self._taken = True
            await close_iterator(self._native)

    def again(self) -> Body | None:
        """The same body once more, though this one was used; None when it came from a stream."""
        return None if self._data is None else Body(self._data, length=self.length)

    def copy(self) -> Body:
        """A second body with the same content; this one stays readable."""
        if self.used or (self._stream is not None and self._stream.locked):
            raise type_error(CLONE_LOCKED)
        if self._data is not None:
            return Body(self._data, length=self.length)
        first, second = self.stream.tee()
        self._stream, self._native = first, None
        return Body(None, second, length=self.length)


async def _once(data: bytes) -> AsyncIterator[bytes]:
    if data:
        yield data


def extract(value: Any) -> tuple[Body, str | None]:
    """(body, content type) of what JavaScript code gives as a body; not for null and undefined."""
    if type(value) is str:
        data = utf8(value)
        return Body(data, length=len(data)), TEXT_TYPE
    if is_buffer(value):
        data = as_bytes(value)
        return Body(data, length=len(data)), None
    value = unwrap(value)
    if isinstance(value, ReadableStream):
        if value._disturbed:
            raise type_error(BODY_DISTURBED)
        if value.locked:
            raise type_error(BODY_LOCKED)
        return Body(value._content, value, length=value._length), None
    if isinstance(value, Blob):
        return Body.make(value.data), value.type or None
    if isinstance(value, FormData):
        data, kind = encode(value.entries_list())
        return Body.make(data), kind
    if isinstance(value, URLSearchParams):
        return Body.make(utf8(value.toString())), FORM_TYPE
    if isinstance(value, (JsArray, JsSet)) and scope.enabled("fetch_iterable_type_support"):
        return Body.make(ReadableStream.from_(value)), None
    # Everything else is turned into a string, Python's bytes included: they are no BufferSource before `to_js`.
    return Body.make(string_bytes(value)), TEXT_TYPE


def resolved(value: Any) -> JsPromise:
    """A promise that is fulfilled already."""
    promise: JsPromise = JsPromise.make()
    promise._settle(FULFILLED, value)
    return promise


class WithBody(JsProxy):
    """What requests and responses share."""

    _body: Body | None
    headers: Any  # Headers; a property in some

    @property
    def body(self) -> Any:
        return jsnull if self._body is None else self._body.stream

    @property
    def bodyUsed(self) -> bool:
        return self._body is not None and self._body.used

    def text(self) -> JsPromise:
        return self._whole(decode_utf8)

    def json(self) -> JsPromise:
        return self._whole(_parse_json)

    def arrayBuffer(self) -> JsPromise:
        return self._whole(ArrayBuffer.make)

    def blob(self) -> JsPromise:
        return self._whole(lambda data: Blob.make(data, _media_type(self.headers)))

    def formData(self) -> JsPromise:
        kind = self.headers.first("content-type")
        if kind is None and not self.bodyUsed:  # nothing is read then
            return JsPromise.reject(type_error(NO_TYPE))
        return self._whole(lambda data: parse_form(data, kind))

    def _bytes(self) -> JsPromise:
        return self._whole(byte_array)

    def _whole(self, convert: Callable[[bytes], Any]) -> JsPromise:
        """A promise of the body, converted."""
        body = self._body
        try:
            data = b"" if body is None else body.take()
            if data is not None:
                return resolved(convert(data))
        except Exception as raised:
            return JsPromise.reject(raised)
        assert body is not None
        return start(_gather(body.rest(), convert))


async def _gather(chunks: AsyncIterator[bytes], convert: Callable[[bytes], Any]) -> Any:
    return convert(b"".join([chunk async for chunk in chunks]))


def _parse_json(data: bytes) -> Any:
    return js_json.parse(decode_utf8(data))


def _media_type(headers: Headers) -> str:
    """The content type as a Blob has it: "text/csv;charset=x"."""
    return str(extract_type(headers.first("content-type") or "") or "")


# Named so only now: within the class, `bytes` is the type.
WithBody.bytes = WithBody._bytes  # type: ignore[attr-defined]
