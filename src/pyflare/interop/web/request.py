"""Request. developers.cloudflare.com/workers/runtime-apis/request"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from pyflare.interop import scope
from pyflare.interop.clone import clone
from pyflare.interop.containers import to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import is_nullish, jsnull
from pyflare.interop.web.abort import AbortSignal
from pyflare.interop.web.body import Body, WithBody, extract
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.init import cf_object, reader
from pyflare.interop.web.status import REDIRECT_STATUSES
from pyflare.interop.web.url import normalize, origin_of, resolve

METHODS = frozenset(
    {
        "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "PURGE", "OPTIONS", "TRACE", "COPY", "LOCK", "MKCOL", "MOVE",
        "PROPFIND", "PROPPATCH", "SEARCH", "UNLOCK", "ACL", "REPORT", "MKACTIVITY", "CHECKOUT", "MERGE", "M-SEARCH",
        "NOTIFY", "SUBSCRIBE", "UNSUBSCRIBE", "QUERY", "BAN",
    }
)  # fmt: skip
# What browsers, and this runtime before `upper_case_all_http_methods`, write in upper case.
NORMALIZED = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})

ONE_TIME_BODY = (
    "A request with a one-time-use body (it was initialized from a stream, not a buffer) encountered a redirect "
    "requiring the body to be retransmitted. To avoid this error in the future, construct this request from a "
    "buffer-like body initializer."
)
BAD_INTEGRITY = (
    "Subrequest integrity checking is not implemented. The integrity option must be either undefined or an empty "
    "string."
)
BAD_REDIRECT = (
    'Invalid redirect value, must be one of "follow" or "manual" ("error" won\'t be implemented since it does not make '
    'sense at the edge; use "manual" and check the response status code).'
)


class Request(WithBody):
    js_name: ClassVar[str] = "Request"
    cache: str | None = None  # undefined, unless the option was given
    integrity = ""
    keepalive = False

    def __init__(
        self,
        method: str,
        url: str,
        headers: Headers | None = None,
        body: Body | None = None,
        cf: Any = None,
        signal: Any = None,
        redirect: str = "follow",
    ) -> None:
        """`url` must be absolute and normal already; `cf` may be a function that makes it when it is asked for."""
        self.method = method
        self.url = url
        self.headers = Headers.make() if headers is None else headers
        self._body = body
        self._cf = cf
        self.redirect = redirect
        self._signal = signal
        self._fetcher: Any = jsnull

    @classmethod
    def construct(cls, source: Any = None, init: Any = None) -> Request:
        read = reader(init)
        if read is None:
            raise type_error(
                "Failed to construct 'Request': constructor parameter 2 is not of type 'RequestInitializerDict or "
                "Request'."
            )
        source, given = unwrap(source), read("body")
        if isinstance(source, Request):
            request = source._successor(takes_body=given is None)
        else:
            request = cls.make("GET", _absolute(source))
        method = read("method")
        if method is not None:
            request.method = _method(method)
        headers = read("headers")
        if headers is not None:
            request.headers = Headers.given(headers, "RequestInitializerDict")
        redirect = read("redirect")
        if redirect is not None:
            request.redirect = _redirect(redirect)
        request._rarer_options(read)
        request._take(given)
        return request

    def _rarer_options(self, read: Any) -> None:
        signal = read("signal")
        if signal is not None:
            self._signal = _signal(signal)
        cf = read("cf")
        if cf is not None:
            self.cf = clone(cf_object(cf, "RequestInitializerDict"))
        cache = read("cache")
        if cache is not None:
            self.cache = _cache(cache)
        integrity = read("integrity")
        if integrity is not None and integrity != "":
            raise type_error(BAD_INTEGRITY)
        fetcher = read("fetcher")
        if fetcher is not None:
            self._fetcher = fetcher

    def _take(self, value: Any) -> None:
        if is_nullish(value):
            if value is jsnull:
                self._body = None
        else:
            self._body, kind = extract(value)
            if kind is not None and self.headers.first("content-type") is None:
                self.headers._pairs.append(("content-type", kind))
        if self._body is not None and self.method in ("GET", "HEAD"):
            raise type_error("Request with a GET or HEAD method cannot have a body.")

    def _successor(self, takes_body: bool) -> Request:
        """A request like this one, which takes the body away from it."""
        body = None
        if takes_body and self._body is not None:
            if self._body.used:
                raise type_error("Cannot reconstruct a Request with a used body.")
            body = self._body.move()
        return self._with(body)

    def _with(self, body: Body | None) -> Request:
        made: Request = Request.make(
            self.method, self.url, self.headers.copy(), body, self.cf, self._signal, self.redirect
        )
        made._fetcher = self._fetcher
        return made

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def cf(self) -> Any:
        if isinstance(self._cf, partial):
            self._cf = self._cf()
        return self._cf

    @cf.setter
    def cf(self, value: Any) -> None:
        self._cf = value

    @property
    def signal(self) -> AbortSignal:
        if self._signal is None:
            self._signal = AbortSignal.make()
        return self._signal  # type: ignore[no-any-return]

    @property
    def fetcher(self) -> Any:
        return self._fetcher

    def redirected_by(self, response: Any) -> Request | None:
        """The request that follows a redirect; None when `response` is none or `redirect` is "manual".

        fetch.spec.whatwg.org, "HTTP-redirect fetch"; the headers stay as they are, as recorded.
        """
        location = response.headers.first("location")
        if response.status not in REDIRECT_STATUSES or self.redirect != "follow" or location is None:
            return None
        url = resolve(location, self.url)
        if url is None:
            raise type_error(f"Invalid URL: {location}")
        becomes_get = (response.status == 303 and self.method not in ("GET", "HEAD")) or (
            response.status in (301, 302) and self.method == "POST"
        )
        body = None
        if self._body is not None and not becomes_get:
            body = self._body.again()
            if body is None:
                raise type_error(ONE_TIME_BODY)
        following = self._with(body)
        following.method = "GET" if becomes_get else self.method
        following.url = url
        if origin_of(url) != origin_of(self.url) and scope.enabled("strip_authorization_on_cross_origin_redirect"):
            following.headers.delete("authorization")
        return following

    def clone(self) -> Request:
        return self._with(None if self._body is None else self._body.copy())


def _absolute(source: Any) -> str:
    text = to_text(source)
    url = normalize(text)
    if url is None:
        raise type_error(f"Invalid URL: {text}")
    return url


def _method(value: Any) -> str:
    text = to_text(value)
    if text in METHODS:
        return text
    upper = text.upper()
    if upper in NORMALIZED or (upper in METHODS and scope.enabled("upper_case_all_http_methods")):
        return upper
    raise type_error(f"Invalid HTTP method string: {text}")


def _signal(value: Any) -> AbortSignal | None:
    if value is jsnull:
        return None
    if not isinstance(value, AbortSignal):
        raise type_error(
            "Incorrect type for the 'signal' field on 'RequestInitializerDict': the provided value is not of type "
            "'AbortSignal'."
        )
    return value


def _cache(value: Any) -> str:
    text = to_text(value)
    if text not in ("no-store", "no-cache"):
        raise type_error(f"Unsupported cache mode: {text}")
    return text


def _redirect(value: Any) -> str:
    text = to_text(value)
    if text not in ("follow", "manual"):
        raise type_error(BAD_REDIRECT)
    return text
