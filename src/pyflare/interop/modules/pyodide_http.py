"""`import pyodide.http`: `pyfetch` and its response (pyodide.org, "pyodide.http")."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from pyflare.interop.convert import from_entries, to_js
from pyflare.interop.errors import JsException
from pyflare.interop.web.fetch import fetch as js_fetch


class HttpStatusError(OSError):
    """`raise_for_status` of an answer of 400 and more."""

    def __init__(self, status: int, status_text: str, url: str) -> None:
        self.status, self.status_text, self.url = status, status_text, url
        kind = "Client" if status < 500 else "Server"
        super().__init__(f"{status} {kind} Error: {status_text} for url: {url}")


class BodyUsedError(OSError):
    """The body was read before."""

    def __init__(self, *_: Any) -> None:
        super().__init__("Response body is already used")


class AbortError(OSError):
    """The request was aborted; `args[0]` says why."""


class FetchResponse:
    """An answer of `pyfetch`."""

    def __init__(self, url: str, js_response: Any, abort_controller: Any = None, abort_signal: Any = None) -> None:
        self._url = url
        self.js_response = js_response
        self.abort_controller = abort_controller
        self.abort_signal = abort_signal

    @property
    def body_used(self) -> bool:
        return bool(self.js_response.bodyUsed)

    @property
    def headers(self) -> dict[str, str]:
        return {name: value for name, value in self.js_response.headers}

    @property
    def ok(self) -> bool:
        return bool(self.js_response.ok)

    @property
    def redirected(self) -> bool:
        return bool(self.js_response.redirected)

    @property
    def status(self) -> int:
        return int(self.js_response.status)

    @property
    def status_text(self) -> str:
        return str(self.js_response.statusText)

    @property
    def type(self) -> str:
        return str(self.js_response.type)

    @property
    def url(self) -> str:
        return str(self.js_response.url)

    def _raise_if_failed(self) -> None:
        signal = self.abort_signal
        if signal is not None and signal.aborted:
            raise AbortError(getattr(signal.reason, "message", signal.reason))
        if self.js_response.bodyUsed:
            raise BodyUsedError

    def raise_for_status(self) -> None:
        """HttpStatusError for 400 and more."""
        if self.status >= 400:
            raise HttpStatusError(self.status, self.status_text, self.url)

    def abort(self, reason: Any = None) -> None:
        if self.abort_controller is None:
            raise ValueError("abort_controller is not set")
        self.abort_controller.abort(reason)

    def clone(self) -> FetchResponse:
        if self.js_response.bodyUsed:
            raise BodyUsedError
        return FetchResponse(self._url, self.js_response.clone(), self.abort_controller, self.abort_signal)

    async def buffer(self) -> Any:
        """The body as an ArrayBuffer."""
        self._raise_if_failed()
        return await self.js_response.arrayBuffer()

    async def text(self) -> str:
        self._raise_if_failed()
        return str(await self.js_response.text())

    string = text

    async def json(self, **kwargs: Any) -> Any:
        self._raise_if_failed()
        return json.loads(await self.text(), **kwargs)

    async def memoryview(self) -> memoryview:
        self._raise_if_failed()
        view: memoryview = (await self.buffer()).to_memoryview()
        return view

    async def bytes(self) -> bytes:
        self._raise_if_failed()
        body: bytes = (await self.buffer()).to_bytes()
        return body


async def pyfetch(
    request: Any, /, *, signal: Any = None, fetcher: Callable[..., Any] | None = None, **options: Any
) -> FetchResponse:
    """Fetch `request`, a URL or a js.Request. Network errors and aborts are OSError; what `fetch` throws before the
    request leaves (a bad URL, a body on GET) stays a JsException: that is thrown, not rejected."""
    if signal is not None:
        options["signal"] = signal
    answer = (fetcher or js_fetch)(request, to_js(options, dict_converter=from_entries))
    try:
        response = await answer
    except JsException as raised:
        kind = AbortError if raised.name == "AbortError" else OSError
        raise kind(raised.message) from None
    return FetchResponse(getattr(request, "url", request), response, None, signal)
