"""URL and URLSearchParams: the WHATWG's, parsed by ada, which Node and Cloudflare's runtime use as well."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote_plus

import ada_url

from pyflare.interop.arguments import requires, to_string
from pyflare.interop.containers import JsArray, JsMap
from pyflare.interop.convert import JsDoubleProxy
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import JsObject, JsProxy, is_nullish, jsnull
from pyflare.interop.web.pairs import TextMap, sequence


@functools.lru_cache(maxsize=1024)
def normalize(url: str) -> str | None:
    """An absolute URL as browsers write it; None when it is none."""
    try:
        return ada_url.URL(url).href
    except ValueError:
        return None


def resolve(url: str, base: str) -> str | None:
    """A URL seen from `base`; None when there is none."""
    try:
        return ada_url.URL(url, base).href
    except ValueError:
        return None


def origin_of(url: str) -> str:
    """Scheme, host and port of a normal URL."""
    return ada_url.URL(url).origin


def _part(name: str) -> property:
    """A part of a URL; what the setter cannot use is ignored, as in browsers."""

    def get(self: URL) -> str:
        return getattr(self._url, name)  # type: ignore[no-any-return]

    def set_(self: URL, value: Any) -> None:
        try:
            setattr(self._url, name, to_string(value))
        except ValueError:
            return
        if name == "search":
            self._reread()

    return property(get, set_)


class URL(JsProxy):
    js_name: ClassVar[str] = "URL"

    def __init__(self, url: ada_url.URL) -> None:
        self._url = url
        self._params: URLSearchParams | None = None

    @classmethod
    def construct(cls, *args: Any) -> URL:
        if not args:
            raise type_error("Failed to construct 'URL': constructor parameter 1 is not of type 'USVString'.")
        parsed = _parse(*args)
        if parsed is None:
            raise type_error("Invalid URL string.")
        return cls.make(parsed)

    @classmethod
    def parse(cls, url: Any, base: Any = None) -> Any:
        parsed = _parse(url, base)
        return jsnull if parsed is None else cls.make(parsed)

    @staticmethod
    def canParse(url: Any, base: Any = None) -> bool:
        return _parse(url, base) is not None

    def js_properties(self) -> dict[str, Any]:
        return {}

    protocol = _part("protocol")
    username = _part("username")
    password = _part("password")
    host = _part("host")
    hostname = _part("hostname")
    port = _part("port")
    pathname = _part("pathname")
    search = _part("search")
    hash = _part("hash")

    @property
    def href(self) -> str:
        return self._url.href

    @href.setter
    def href(self, value: Any) -> None:
        parsed = _parse(value)
        if parsed is None:
            raise type_error(
                "Failed to set the 'href' property on 'URL': the provided value is not of type 'valid URL string'."
            )
        self._url = parsed
        self._reread()

    @property
    def origin(self) -> str:
        return self._url.origin

    @property
    def searchParams(self) -> URLSearchParams:
        if self._params is None:
            self._params = URLSearchParams.make(_decode(self._url.search), self)
        return self._params

    def _reread(self) -> None:
        if self._params is not None:
            self._params._pairs[:] = _decode(self._url.search)

    def toString(self) -> str:
        return self._url.href

    def toJSON(self, *_: Any) -> str:
        return self._url.href


def _parse(url: Any, base: Any = None) -> ada_url.URL | None:
    try:
        if base is None:
            return ada_url.URL(to_string(url))
        return ada_url.URL(to_string(url), to_string(base))
    except ValueError:
        return None


Pairs = list[tuple[str, str]]

_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})([0-9A-Fa-f]?)")


def _decode(query: str) -> Pairs:
    """Pairs of application/x-www-form-urlencoded text; a leading "?" does not count. What is no UTF-8 stays as it is
    (as lone surrogates), since it is written again as it came; `_shown` is what JavaScript sees of it."""
    return parse_qsl(query.removeprefix("?"), keep_blank_values=True, errors="surrogateescape")


def _shown(text: str) -> str:
    return text if text.isascii() else text.encode(errors="surrogateescape").decode(errors="replace")


def encode_form(pairs: Pairs) -> str:
    return "&".join(f"{_escape(name)}={_escape(value)}" for name, value in pairs)


def decode_form(text: str) -> Pairs:
    """Pairs of a posted form; here a leading "?" does count, and a broken escape is what can be read of it."""
    text = _BROKEN_ESCAPE.sub(lambda found: f"%0{found[1]}" if found[1] else "", text)
    return parse_qsl(text, keep_blank_values=True, errors="replace")


@functools.lru_cache(maxsize=1024)
def _escape(text: str) -> str:
    return quote_plus(text.encode(errors="surrogateescape"), safe="*").replace("~", "%7E")


class URLSearchParams(TextMap):
    js_name: ClassVar[str] = "URLSearchParams"

    def __init__(self, pairs: Pairs, url: URL | None = None) -> None:
        self._pairs, self._owner = pairs, url

    @classmethod
    def construct(cls, init: Any = None) -> URLSearchParams:
        return cls.make(_pairs_of(init))

    def _changed(self) -> None:
        if self._owner is not None:
            self._owner._url.search = encode_form(self._pairs)

    @property
    def size(self) -> int:
        return len(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __bool__(self) -> bool:
        return True

    def _listed(self) -> Pairs:
        return self._pairs

    def _walk(self) -> Iterator[tuple[str, str]]:
        for name, value in super()._walk():
            yield _shown(name), _shown(value)

    @requires("USVString")
    def get(self, name: Any) -> Any:
        wanted = to_string(name)
        return next((_shown(value) for known, value in self._pairs if known == wanted), jsnull)

    @requires("USVString")
    def getAll(self, name: Any) -> JsArray:
        wanted = to_string(name)
        return JsArray.make([_shown(value) for known, value in self._pairs if known == wanted])

    @requires("USVString")
    def has(self, name: Any, value: Any = None) -> bool:
        return any(self._matches(pair, name, value) for pair in self._pairs)

    @requires("USVString", "USVString")
    def set(self, name: Any, value: Any) -> None:
        pair = (to_string(name), to_string(value))
        at = next((at for at, known in enumerate(self._pairs) if known[0] == pair[0]), len(self._pairs))
        self._pairs[at:] = [pair, *(known for known in self._pairs[at:] if known[0] != pair[0])]
        self._changed()

    @requires("USVString", "USVString")
    def append(self, name: Any, value: Any) -> None:
        self._pairs.append((to_string(name), to_string(value)))
        self._changed()

    @requires("USVString")
    def delete(self, name: Any, value: Any = None) -> None:
        self._pairs[:] = [pair for pair in self._pairs if not self._matches(pair, name, value)]
        self._changed()

    def sort(self) -> None:
        self._pairs.sort(key=lambda pair: _shown(pair[0]).encode("utf-16-be"))
        self._changed()

    def toString(self) -> str:
        return encode_form(self._pairs)

    @staticmethod
    def _matches(pair: tuple[str, str], name: Any, value: Any) -> bool:
        return pair[0] == to_string(name) and (value is None or pair[1] == to_string(value))


def _pairs_of(init: Any) -> Pairs:
    if init is None:
        return []
    if isinstance(init, JsDoubleProxy):
        init = init.unwrap()
    if isinstance(init, URLSearchParams):
        return list(init._pairs)
    if isinstance(init, JsObject):
        init = init.js_properties().items()
    elif isinstance(init, (JsMap, dict)):
        init = init.items()
    if isinstance(init, str) or is_nullish(init) or not isinstance(init, Iterable):
        return _decode(to_string(init))
    pairs = [sequence(pair) for pair in init]
    if any(len(pair) != 2 for pair in pairs):
        raise type_error("Invalid URL search params sequence.")
    return [(to_string(name), to_string(value)) for name, value in pairs]
