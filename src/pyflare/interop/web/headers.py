"""Headers. A list of pairs that nothing touches until it is asked: the hot path of requests and responses.

developers.cloudflare.com/workers/runtime-apis/headers. Names are compared in lower case, iteration is sorted, values of
one name are joined with ", " except those of set-cookie.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from pyflare.interop.arguments import requires
from pyflare.interop.containers import JsArray, JsMap, to_text
from pyflare.interop.convert import JsDoubleProxy
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import JsObject, jsnull
from pyflare.interop.web.pairs import TextMap, sequence

Pairs = list[tuple[str, str]]

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, "token"
_BAD_VALUE = re.compile(r"[\0\r\n]")
_BLANKS = " \t\r\n"


@functools.lru_cache(maxsize=2048)
def lower_name(name: str) -> str:
    """A header's name in lower case; TypeError when it is none."""
    if not TOKEN.fullmatch(name):
        raise type_error("Invalid header name.")
    return name.lower()


def clean_value(value: Any) -> str:
    """A header's value: text without the blanks around it; TypeError when it holds a line break."""
    text = (value if type(value) is str else to_text(value)).strip(_BLANKS)
    if _BAD_VALUE.search(text):
        raise type_error("Invalid header value.")
    return text


class Headers(TextMap):
    js_name: ClassVar[str] = "Headers"

    def __init__(self, pairs: Pairs | None = None, immutable: bool = False) -> None:
        """`pairs` belongs to the new object; names may be of any case."""
        self._pairs: Pairs = [] if pairs is None else pairs
        self._lowered = not self._pairs
        self._immutable = immutable

    @classmethod
    def construct(cls, init: Any = None) -> Headers:
        headers: Headers = cls.make()
        if init is None:
            return headers
        if isinstance(init, Headers):
            headers._pairs = list(init.pairs())
            return headers
        headers._pairs = [(lower_name(to_text(name)), clean_value(value)) for name, value in _pairs_of(init)]
        return headers

    @classmethod
    def given(cls, init: Any, owner: str) -> Headers:
        """New headers of the field `headers` of an options object of type `owner`."""
        if type(init) is Headers:
            return init.copy()
        if init is jsnull or isinstance(init, (str, int, float)):
            raise type_error(
                f"Incorrect type for the 'headers' field on '{owner}': the provided value is not of type 'Headers or "
                "Sequence or object'."
            )
        return cls.construct(init)

    # --- for Python -----------------------------------------------------------------------------------------------

    def pairs(self) -> Pairs:
        """(lower-case name, value) in the order of insertion, one pair a value: what goes over the wire. Not to be
        changed."""
        if not self._lowered:
            self._pairs = [(name.lower(), value) for name, value in self._pairs]
            self._lowered = True
        return self._pairs

    def first(self, name: str) -> str | None:
        """The first value of a name in lower case."""
        for known, value in self.pairs():
            if known == name:
                return value
        return None

    def copy(self, immutable: bool = False) -> Headers:
        made: Headers = Headers.make(list(self.pairs()), immutable)
        made._lowered = True
        return made

    def combined(self) -> Pairs:
        """Sorted, the values of a name joined; each set-cookie on its own."""
        pairs = sorted(self.pairs(), key=_by_name)
        merged: dict[str, str] = {}
        for name, value in pairs:
            if name in merged and name != "set-cookie":
                merged[name] += ", " + value
            else:
                merged[name] = value
        if len(merged) == len(pairs):
            return pairs
        result: Pairs = []
        for name, joined in merged.items():
            if name == "set-cookie":
                result.extend(pair for pair in pairs if pair[0] == name)
            else:
                result.append((name, joined))
        return result

    def _writable(self) -> Pairs:
        if self._immutable:
            raise type_error("Can't modify immutable headers.")
        return self.pairs()

    def _listed(self) -> Pairs:
        return self.combined()

    def _walk(self) -> Iterator[tuple[str, str]]:
        return iter(self.combined())

    # --- for JavaScript -------------------------------------------------------------------------------------------

    @requires("string")
    def get(self, name: Any) -> Any:
        wanted = lower_name(to_text(name))
        values = [value for known, value in self.pairs() if known == wanted]
        return ", ".join(values) if values else jsnull

    @requires("string")
    def getAll(self, name: Any) -> JsArray:
        wanted = lower_name(to_text(name))
        if wanted != "set-cookie":
            raise type_error('getAll() can only be used with the header name "Set-Cookie".')
        return self.getSetCookie()

    def getSetCookie(self) -> JsArray:
        return JsArray.make([value for name, value in self.pairs() if name == "set-cookie"])

    @requires("string")
    def has(self, name: Any) -> bool:
        wanted = lower_name(to_text(name))
        return any(known == wanted for known, _ in self.pairs())

    @requires("string", "string")
    def set(self, name: Any, value: Any) -> None:
        pairs = self._writable()
        wanted, text = lower_name(to_text(name)), clean_value(value)
        at = next((at for at, pair in enumerate(pairs) if pair[0] == wanted), None)
        if at is None:
            pairs.append((wanted, text))
            return
        pairs[at] = (wanted, text)
        pairs[at + 1 :] = [pair for pair in pairs[at + 1 :] if pair[0] != wanted]

    @requires("string", "string")
    def append(self, name: Any, value: Any) -> None:
        pairs = self._writable()
        pairs.append((lower_name(to_text(name)), clean_value(value)))

    @requires("string")
    def delete(self, name: Any) -> None:
        pairs = self._writable()
        wanted = lower_name(to_text(name))
        pairs[:] = [pair for pair in pairs if pair[0] != wanted]


def _by_name(pair: tuple[str, str]) -> str:
    return pair[0]


def _pairs_of(init: Any) -> Iterable[tuple[Any, Any]]:
    """The pairs of what `new Headers(init)` takes: a sequence of pairs (also `dict.items()`), a Map or an object."""
    if isinstance(init, JsDoubleProxy):
        init = init.unwrap()
    if isinstance(init, JsMap):
        return init.items()
    if isinstance(init, JsObject):
        return init.js_properties().items()
    if isinstance(init, dict):
        return init.items()
    if isinstance(init, (str, bytes, int, float)) or not isinstance(init, Iterable):
        raise type_error(
            "Failed to construct 'Headers': constructor parameter 1 is not of type 'Headers or Sequence or object'."
        )
    return [_two(pair) for pair in init]


def _two(pair: Any) -> tuple[Any, Any]:
    items = sequence(pair)
    if len(items) != 2:
        raise type_error(
            "To initialize a Headers object from a sequence, each inner sequence must have exactly two elements."
        )
    return items
