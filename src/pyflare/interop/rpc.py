"""Remote procedure calls between workers and objects, which all live in this process.

A call copies its arguments (`transfer`), runs in the callee's scope and copies its result. What the caller holds is a
`Fetcher` (a service binding, an object's stub) or an `RpcStub` (a function that was passed). Behaviour and texts as
recorded (`developers.cloudflare.com/workers/runtime-apis/rpc/`).
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

from pyflare.interop import scope, traces
from pyflare.interop.awaiting import value_of
from pyflare.interop.clone import refuse
from pyflare.interop.clone import transfer as copy_value
from pyflare.interop.convert import JsDoubleProxy
from pyflare.interop.errors import JsException, dom_exception, error, type_error
from pyflare.interop.global_scope import check_not_global
from pyflare.interop.promise import JsPromise, confirmed, start
from pyflare.interop.proxy import JsFunction, JsProxy, fold, options
from pyflare.interop.web.blob import Blob, File
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.interop.web.streams import ReadableStream, WritableStream

MAX_REDIRECTS = 20  # fetch specification

RESERVED = frozenset(
    ("fetch", "connect", "alarm", "webSocketMessage", "webSocketClose", "webSocketError", "constructor", "dup")
)

NOT_A_RECEIVER = (
    "Proxy could not be serialized because it is not a valid RPC receiver type. The Proxy must emulate either a plain "
    "object or an RpcTarget, as indicated by the Proxy's prototype chain."
)

PASSED_AS_IS = (Blob, Headers, Request, Response, ReadableStream, WritableStream)


class Fetcher(JsProxy):
    """Something that answers `fetch` and remote calls; subclasses say how.

    `_js_fetch(request)` gives a Response; `_js_call(method, args)` gets arguments that are copied and gives a result
    that is copied. Both are coroutines, run as tasks of their own in the caller's context.
    """

    js_name: ClassVar[str] = "Fetcher"

    async def _js_fetch(self, request: Request) -> Response:
        raise NotImplementedError

    async def _js_call(self, method: str, args: tuple[Any, ...]) -> Any:
        raise NotImplementedError

    def js_properties(self) -> dict[str, Any]:
        return {}

    @options
    def fetch(self, resource: Any = None, init: Any = None) -> JsPromise:
        # What is wrong with them is thrown, not rejected: Python's `pyfetch` tells the two apart.
        if resource is None:
            raise type_error("Failed to execute 'fetch' on 'Fetcher': parameter 1 is not of type 'Request or string'.")
        request = Request.construct(resource, init)
        length = None if request._body is None else request._body.length
        if length is not None and request.headers.first("content-length") is None:
            request.headers.append("content-length", str(length))
        return self._js_start(self._js_follow(request))

    def _js_start(self, work: Coroutine[Any, Any, Any]) -> JsPromise:
        """A promise of a call, which leaves when this turn's writes are committed."""
        try:
            check_not_global()
        except JsException:
            work.close()
            raise
        return start(_confirmed(work))

    async def _js_follow(self, request: Request) -> Response:
        """The answer, after redirects, which stay within the same service."""
        urls: list[str] = []
        while len(urls) <= MAX_REDIRECTS:
            urls.append(request.url)
            request.url = request.url.partition("#")[0]  # nobody else sees the fragment
            if not request.url.startswith(("http:", "https:")):
                raise type_error(f"Fetch API cannot load: {urls[-1]}")
            response = await self._js_fetch(request)
            following = request.redirected_by(response)
            if following is None:
                received = response.received(request.url, len(urls) > 1)
                if request.method == "HEAD":
                    received._body = None
                return received
            request = following
        raise type_error("Too many redirects." + ", ".join(urls))

    def __getattr__(self, name: str) -> Any:
        if name == "then" or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(name)
        return JsFunction.make(lambda *args: self._js_invoke(name, args), name)

    def _js_invoke(self, method: str, args: tuple[Any, ...]) -> JsPromise:
        try:
            if method in RESERVED:
                raise type_error(f"'{method}' is a reserved method and cannot be called over RPC.")
            copied = tuple(transfer(arg) for arg in args)
        except JsException as raised:
            return JsPromise.reject(raised)
        return self._js_start(self._js_call(method, copied))


class RpcStub(JsProxy):
    """A function that was passed over RPC; it runs where it came from."""

    js_name: ClassVar[str] = "JsRpcStub"

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._context = contextvars.copy_context()

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def typeof(self) -> str:
        return "function"

    def __call__(self, *args: Any, **kwargs: Any) -> JsPromise:
        try:
            copied = [transfer(arg) for arg in fold(args, kwargs)]
        except JsException as raised:
            return JsPromise.reject(raised)
        task = asyncio.get_running_loop().create_task(self._run(copied), context=self._context.copy())
        return start(value_of(task))

    async def _run(self, args: list[Any]) -> Any:
        try:
            result = self._function(*args)
            if inspect.isawaitable(result):
                result = await result
            return transfer(result)
        except Exception as raised:
            raise remote(raised) from None

    def dup(self) -> RpcStub:
        return self

    def destroy(self) -> None:
        """Nothing to free: the function is held by this process."""


async def _confirmed(work: Coroutine[Any, Any, Any]) -> Any:
    await confirmed()
    return await work


def transfer(value: Any) -> Any:
    """The copy of a JavaScript value that crosses RPC; DataCloneError for what may not."""
    return copy_value(value, _other)


def _other(value: Any) -> Any:
    if isinstance(value, File):
        refuse(value)
    if isinstance(value, (RpcStub, Fetcher, *PASSED_AS_IS)):
        return value
    if isinstance(value, JsDoubleProxy):
        if value.typeof == "function":
            return RpcStub.make(value.unwrap())
        raise dom_exception(NOT_A_RECEIVER, "DataCloneError")
    if callable(value):
        return RpcStub.make(value)
    if isinstance(value, JsPromise):
        raise dom_exception("#<Promise> could not be cloned.", "DataCloneError")
    raise dom_exception(NOT_A_RECEIVER, "DataCloneError")


def remote(raised: BaseException) -> JsException:
    """What the caller sees of an exception in another worker or object: an error that the runtime made crosses as it
    is, what the worker's code raised as `of_python` makes it."""
    if isinstance(raised, JsException):
        raised.__dict__["remote"] = True
        return raised
    return of_python(raised)


def of_python(raised: BaseException) -> JsException:
    """ "PythonError" with the traceback, or "Error: PythonError: …" before 2026-04-21. Also an error of JavaScript that
    went through Python code ends like this: its traceback says `pyodide.ffi.JsException: …`."""
    text = traces.formatted(raised)
    modern = scope.enabled("enhanced_error_serialization")
    seen = error(text, "PythonError") if modern else error(f"PythonError: {text}")
    seen.__dict__["remote"] = True
    return seen


async def invoke(target: Any, method: str, args: tuple[Any, ...]) -> Any:
    """Call a method of an entrypoint or object within its scope; its result, copied. Raises a JsException."""
    running = scope.current.get()
    assert running is not None
    sdk = running.worker.sdk
    function = getattr(target, method, None)
    if not callable(function):
        raise remote(type_error(f"Method {method} does not exist"))
    try:
        result = function(*[sdk.python_from_rpc(arg) for arg in args])
        if inspect.isawaitable(result):
            result = await result
        answer = sdk.python_to_rpc(result)
    except Exception as raised:
        raise of_python(raised) from None
    try:
        return transfer(answer)
    except JsException as raised:
        raise remote(raised) from None
