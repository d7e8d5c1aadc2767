"""FormData, and the two ways in which forms travel."""

from __future__ import annotations

from typing import Any, ClassVar

from pyflare.interop.arguments import requires
from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import jsnull
from pyflare.interop.web import media_type, multipart
from pyflare.interop.web.blob import Blob, File
from pyflare.interop.web.bytes import decode_utf8
from pyflare.interop.web.multipart import Entry
from pyflare.interop.web.pairs import PairList
from pyflare.interop.web.url import decode_form

NO_TYPE = "Parsing a Body as FormData requires a Content-Type header."
WRONG_TYPE = (
    "Unrecognized Content-Type header value. FormData can only parse the following MIME types: multipart/form-data, "
    "application/x-www-form-urlencoded"
)
NO_BOUNDARY = (
    "No boundary string in Content-Type header. The multipart/form-data MIME type requires a boundary parameter, e.g. "
    "'Content-Type: multipart/form-data; boundary=\"abcd\"'. See RFC 7578, section 4."
)


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

    @requires("string")
    def get(self, name: Any) -> Any:
        wanted = to_text(name)
        return next((value for known, value in self._entries if known == wanted), jsnull)

    @requires("string")
    def getAll(self, name: Any) -> JsArray:
        wanted = to_text(name)
        return JsArray.make([value for known, value in self._entries if known == wanted])

    @requires("string")
    def has(self, name: Any) -> bool:
        wanted = to_text(name)
        return any(known == wanted for known, _ in self._entries)

    @requires("string", "File or Blob or string")
    def append(self, name: Any, value: Any, filename: Any = None) -> None:
        self._entries.append(_entry(name, value, filename))

    @requires("string", "File or Blob or string")
    def set(self, name: Any, value: Any, filename: Any = None) -> None:
        entry = _entry(name, value, filename)
        at = next((at for at, known in enumerate(self._entries) if known[0] == entry[0]), len(self._entries))
        self._entries[at:] = [entry, *(known for known in self._entries[at:] if known[0] != entry[0])]

    @requires("string")
    def delete(self, name: Any) -> None:
        wanted = to_text(name)
        self._entries[:] = [entry for entry in self._entries if entry[0] != wanted]


def _entry(name: Any, value: Any, filename: Any) -> Entry:
    value, key = unwrap(value), to_text(name)
    if not isinstance(value, Blob):
        return key, to_text(value)
    if isinstance(value, File) and filename is None:
        return key, value
    # A Blob without a name gets the field's, as recorded.
    own_name = key if filename is None else to_text(filename)
    modified = value.lastModified if isinstance(value, File) else None
    return key, File.make(value.data, own_name, value.type, modified)


# --- what goes over the wire --------------------------------------------------------------------------------------


def parse_form(data: bytes, content_type: str | None) -> FormData:
    """The form in a body; TypeError for what is none."""
    if content_type is None:
        raise type_error(NO_TYPE)
    kind = media_type.extract(content_type)
    if kind is not None and kind.essence == "application/x-www-form-urlencoded":
        return FormData.make(list(decode_form(decode_utf8(data))))
    if kind is None or kind.essence != "multipart/form-data":
        raise type_error(WRONG_TYPE)
    boundary = kind.parameters.get("boundary")
    if not boundary:
        raise type_error(NO_BOUNDARY)
    return FormData.make(multipart.parse(data, boundary))
