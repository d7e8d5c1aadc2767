"""TextEncoder, TextDecoder, base64 and the escaping of URIs."""

from __future__ import annotations

import base64
import codecs
import re
from typing import Any, ClassVar
from urllib.parse import quote

from pyflare.interop.arguments import not_of_type
from pyflare.interop.buffers import Uint8Array, as_bytes, is_buffer
from pyflare.interop.containers import to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import dom_exception, error, range_error, type_error
from pyflare.interop.proxy import JsObject, JsProxy, get, options
from pyflare.interop.web.bytes import byte_array, string_bytes
from pyflare.interop.web.encodings import NAMES, decoder


class TextEncoder(JsProxy):
    js_name: ClassVar[str] = "TextEncoder"
    encoding = "utf-8"

    @classmethod
    def construct(cls, *_: Any) -> TextEncoder:
        return cls.make()

    def js_properties(self) -> dict[str, Any]:
        return {}

    def encode(self, text: Any = None) -> Uint8Array:
        return byte_array(b"" if text is None else string_bytes(text))

    def encodeInto(self, text: Any = None, target: Any = None) -> JsObject:
        target = unwrap(target)
        if not isinstance(target, Uint8Array):
            raise not_of_type(self, "encodeInto", 2, "Uint8Array")
        read, data, room = 0, b"", len(target)
        for character in to_text(text):
            encoded = string_bytes(character)
            if len(data) + len(encoded) > room:
                break
            data += encoded
            read += 2 if ord(character) > 0xFFFF else 1  # JavaScript counts UTF-16 units
        target.set(data)
        return JsObject.make({"read": read, "written": len(data)})


class TextDecoder(JsProxy):
    js_name: ClassVar[str] = "TextDecoder"

    def __init__(self, encoding: str = "utf-8", fatal: bool = False, ignore_bom: bool = False) -> None:
        self.encoding, self.fatal, self.ignoreBOM = encoding, fatal, ignore_bom
        self._decoder: codecs.IncrementalDecoder | None = None
        self._at_start = True

    @classmethod
    def construct(cls, label: Any = "utf-8", settings: Any = None) -> TextDecoder:
        wanted = "utf-8" if label is None else to_text(label)
        name = NAMES.get(wanted.strip("\t\n\f\r ").lower())
        if name is None:
            raise range_error(f'"{wanted}" is not a valid encoding.')
        return cls.make(name, bool(get(settings, "fatal", False)), bool(get(settings, "ignoreBOM", False)))

    def js_properties(self) -> dict[str, Any]:
        return {}

    @options
    def decode(self, data: Any = None, settings: Any = None) -> str:
        data = unwrap(data)
        if data is None:
            data = b""
        elif not is_buffer(data) and not isinstance(data, (bytes, bytearray, memoryview)):
            raise type_error("Failed to execute 'decode' on 'TextDecoder': parameter 1 is not of type 'Array'.")
        return self.decode_bytes(as_bytes(data), final=not get(settings, "stream", False))

    def decode_bytes(self, data: bytes, final: bool) -> str:
        """Text of the next bytes; `final`: no more will come."""
        if self._decoder is None:
            self._decoder, self._at_start = decoder(self.encoding, self.fatal), True
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError:
            self._decoder = None
            raise type_error("Failed to decode input.") from None
        if text and self._at_start:
            self._at_start = False
            if not self.ignoreBOM:
                text = text.removeprefix("\ufeff")
        if final:
            self._decoder = None
        return text


def btoa(value: Any = None) -> str:
    """Base64 of a string whose characters stand for bytes."""
    try:
        return base64.b64encode(to_text(value).encode("latin-1")).decode()
    except UnicodeEncodeError:
        raise dom_exception(
            "btoa() can only operate on characters in the Latin1 (ISO/IEC 8859-1) range.", "InvalidCharacterError"
        ) from None


def atob(value: Any = None) -> str:
    """The bytes of base64 text, each as a character; blanks and missing padding are allowed."""
    text = re.sub(r"[\t\n\f\r ]", "", to_text(value))
    if len(text) % 4 == 0:
        text = re.sub("={1,2}$", "", text)
    if len(text) % 4 == 1 or not re.fullmatch("[A-Za-z0-9+/]*", text):
        raise dom_exception(
            "atob() called with invalid base64-encoded data. (Only whitespace, '+', '/', alphanumeric ASCII, and up to "
            "two terminal '=' signs when the input data length is divisible by 4 are allowed.)",
            "InvalidCharacterError",
        )
    return base64.b64decode(text + "=" * (-len(text) % 4)).decode("latin-1")


# ECMAScript, "URI Handling Functions": what stays besides letters, digits and "_-.~".
_COMPONENT_KEEPS = "!*'()"
_URI_KEEPS = ";/?:@&=+$,#" + _COMPONENT_KEEPS


def _escape(value: Any, keep: str) -> str:
    try:
        return quote(to_text(value).encode("utf-16-le", "surrogatepass").decode("utf-16-le"), safe=keep)
    except UnicodeDecodeError:
        raise error("URI malformed", "URIError") from None


def encodeURIComponent(value: Any = None) -> str:
    return _escape(value, _COMPONENT_KEEPS)


def encodeURI(value: Any = None) -> str:
    return _escape(value, _URI_KEEPS)


def _unescape(value: Any, kept: str) -> str:
    """`kept`: a pattern of the hexadecimal digits of escapes that stay."""
    text = to_text(value)

    def run(match: re.Match[str]) -> str:
        try:
            return bytes.fromhex(match[0].replace("%", "")).decode()
        except ValueError:
            raise error("URI malformed", "URIError") from None

    if re.search("%(?![0-9A-Fa-f]{2})", text):
        raise error("URI malformed", "URIError")
    return re.sub(f"(?:%(?!{kept})[0-9A-Fa-f]{{2}})+", run, text)


def decodeURIComponent(value: Any = None) -> str:
    return _unescape(value, "$^")


def decodeURI(value: Any = None) -> str:
    return _unescape(value, "(?i:23|24|26|2b|2c|2f|3a|3b|3d|3f|40)")


__all__ = [
    "TextDecoder", "TextEncoder", "atob", "btoa", "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent",
]  # fmt: skip
