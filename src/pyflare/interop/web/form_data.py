"""FormData, and the two ways in which forms travel."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import is_nullish, jsnull
from pyflare.interop.web.blob import Blob, File
from pyflare.interop.web.bytes import decode_utf8, utf8
from pyflare.interop.web.pairs import PairList
from pyflare.interop.web.url import decode_form

Entry = tuple[str, "str | File"]

NO_TYPE = "Parsing a Body as FormData requires a Content-Type header."
WRONG_TYPE = (
    "Unrecognized Content-Type header value. FormData can only parse the following MIME types: multipart/form-data, "
    "application/x-www-form-urlencoded"
)
NO_BOUNDARY = (
    "No boundary string in Content-Type header. The multipart/form-data MIME type requires a boundary parameter, e.g. "
    "'Content-Type: multipart/form-data; boundary=\"abcd\"'. See RFC 7578, section 4."
)
NO_START = "No initial boundary string (or you have a truncated message)."
NO_END = "No subsequent boundary string after multipart message."
NO_NAME = "Content-Disposition header in FormData part is missing a name."
NO_DISPOSITION = "No Content-Disposition header in FormData part."


class FormData(PairList):
    js_name: ClassVar[str] = "FormData"

    def __init__(self, entries: list[Entry] | None = None) -> None:
        self._entries: list[Entry] = [] if entries is None else entries

    @classmethod
    def construct(cls, *_: Any) -> FormData:
        return cls.make()

    def entries_list(self) -> list[Entry]:
        """For Python; not to be changed."""
        return self._entries

    def _listed(self) -> list[Entry]:
        return self._entries

    def get(self, name: Any) -> Any:
        wanted = to_text(name)
        return next((value for known, value in self._entries if known == wanted), jsnull)

    def getAll(self, name: Any) -> JsArray:
        wanted = to_text(name)
        return JsArray.make([value for known, value in self._entries if known == wanted])

    def has(self, name: Any) -> bool:
        wanted = to_text(name)
        return any(known == wanted for known, _ in self._entries)

    def append(self, name: Any, value: Any, filename: Any = None) -> None:
        self._entries.append(_entry(name, value, filename))

    def set(self, name: Any, value: Any, filename: Any = None) -> None:
        entry = _entry(name, value, filename)
        at = next((at for at, known in enumerate(self._entries) if known[0] == entry[0]), len(self._entries))
        self._entries[at:] = [entry, *(known for known in self._entries[at:] if known[0] != entry[0])]

    def delete(self, name: Any) -> None:
        wanted = to_text(name)
        self._entries[:] = [entry for entry in self._entries if entry[0] != wanted]


def _entry(name: Any, value: Any, filename: Any) -> Entry:
    value, key = unwrap(value), to_text(name)
    if not isinstance(value, Blob):
        return key, to_text(value)
    if isinstance(value, File) and is_nullish(filename):
        return key, value
    # A Blob without a name gets the field's, as recorded.
    own_name = key if is_nullish(filename) else to_text(filename)
    modified = value.lastModified if isinstance(value, File) else None
    return key, File.make(value.data, own_name, value.type, modified)


# --- what goes over the wire --------------------------------------------------------------------------------------


def encode_multipart(form: FormData) -> tuple[bytes, str]:
    """(body, content type)."""
    boundary = os.urandom(16).hex()
    parts: list[bytes] = []
    for name, value in form.entries_list():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(name)}"'
        if isinstance(value, File):
            kind = value.type or "application/octet-stream"
            head += f'; filename="{_quoted(value.name)}"\r\nContent-Type: {kind}'
            data = value.data
        else:
            data = utf8(value)
        parts += [utf8(head), b"\r\n\r\n", data, b"\r\n"]
    parts.append(f"--{boundary}--".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


def _quoted(text: str) -> str:
    """A name inside quotes (html.spec.whatwg.org, "multipart form data")."""
    return text.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def _unquoted(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%22", '"')


def parse_form(data: bytes, content_type: str | None) -> FormData:
    """The form in a body; TypeError for what is none."""
    if content_type is None:
        raise type_error(NO_TYPE)
    kind, parameters = parse_options_header(content_type)
    if kind == b"application/x-www-form-urlencoded":
        return FormData.make(list(decode_form(decode_utf8(data))))
    if kind != b"multipart/form-data":
        raise type_error(WRONG_TYPE)
    boundary = parameters.get(b"boundary")
    if not boundary:
        raise type_error(NO_BOUNDARY)
    return FormData.make(_parse_multipart(data, boundary))


def _parse_multipart(data: bytes, boundary: bytes) -> list[Entry]:
    if not data.startswith((b"--" + boundary, b"\r\n--" + boundary)):
        raise type_error(NO_START)
    if b"--" + boundary + b"--" not in data:
        raise type_error(NO_END)
    if data.startswith(b"--" + boundary + b"--"):
        return []
    collector = _Parts()
    parser = MultipartParser(boundary, collector.callbacks())  # type: ignore[arg-type]
    try:
        parser.write(data)
        parser.finalize()
    except FormParserError as raised:
        raise type_error(str(raised)) from None
    return collector.entries


class _Parts:
    """Gathers the events of the parser."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._headers: dict[str, bytes] = {}
        self._field = self._value = b""
        self._chunks: list[bytes] = []

    def callbacks(self) -> dict[str, Callable[..., None]]:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._on_field,
            "on_header_value": self._on_value,
            "on_header_end": self._on_header_end,
            "on_part_data": self._on_data,
            "on_part_end": self._end,
        }

    def _begin(self) -> None:
        self._headers, self._chunks = {}, []

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        self._headers[self._field.decode("latin-1").lower()] = self._value
        self._field = self._value = b""

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        self._chunks.append(data[start:end])

    def _end(self) -> None:
        disposition = self._headers.get("content-disposition")
        if disposition is None:
            raise type_error(NO_DISPOSITION)
        _, parameters = parse_options_header(disposition)
        if b"name" not in parameters:
            raise type_error(NO_NAME)
        name, data = _name(parameters[b"name"]), b"".join(self._chunks)
        if b"filename" not in parameters:
            self.entries.append((name, data.decode("utf-8", "replace")))
            return
        kind = self._headers.get("content-type", b"").decode("latin-1")
        self.entries.append((name, File.make(data, _name(parameters[b"filename"]), kind)))


def _name(raw: bytes) -> str:
    return _unquoted(raw.decode("utf-8", "replace"))
