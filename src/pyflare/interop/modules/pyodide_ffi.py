"""`import pyodide.ffi`: the border between Python and JavaScript (pyodide.org, "pyodide.ffi")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyflare.interop.buffers import ArrayBuffer, BufferView
from pyflare.interop.buffers import TypedArray as JsTypedArray
from pyflare.interop.containers import JsArray, JsMap
from pyflare.interop.convert import (
    ConversionError,
    JsDoubleProxy,
    create_once_callable,
    create_proxy,
    to_js,
)
from pyflare.interop.errors import JsException
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsFunction, JsNull, JsProxy, jsnull
from pyflare.worker.portal import can_run_sync, run_sync

__path__: list[str] = []

IN_PYODIDE = True

JsBuffer = BufferView
JsCallable = JsFunction
JsOnceCallable = JsDoubleProxy
JsMutableMap = JsMap
JsMutableSequence = JsArray
JsArrayBuffer = ArrayBuffer


def destroy_proxies(proxies: Iterable[Any]) -> None:
    """Destroy every proxy of an array."""
    for proxy in proxies:
        proxy.destroy()


def register_js_module(name: str, module: Any) -> None:
    """Refused: modules of JavaScript cannot exist here."""
    raise NotImplementedError(f"register_js_module({name!r}) needs a JavaScript engine")


__all__ = [
    "IN_PYODIDE", "ConversionError", "JsArray", "JsBuffer", "JsCallable", "JsDoubleProxy", "JsException", "JsMap",
    "JsMutableMap", "JsNull", "JsOnceCallable", "JsPromise", "JsProxy", "JsTypedArray", "can_run_sync",
    "create_once_callable", "create_proxy", "destroy_proxies", "jsnull", "register_js_module", "run_sync", "to_js",
]  # fmt: skip
