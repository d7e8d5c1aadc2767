"""`import js`: the global scope of JavaScript.

Names are looked up on first use, so that a worker which asks for `Response` does not pay for HTMLRewriter.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from pyflare.interop.proxy import JsFunction

_PLACES = {
    "buffers": (
        "ArrayBuffer", "DataView", "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array",
        "Int32Array", "Uint32Array", "Float32Array", "Float64Array", "BigInt64Array", "BigUint64Array",
    ),
    "errors": ("AggregateError", "DOMException", "Error", "EvalError", "RangeError", "URIError"),
    "globals": (
        "BigInt", "Boolean", "Function", "Infinity", "Math", "NaN", "Number", "Reflect", "RegExp", "String", "Symbol",
        "isFinite", "isNaN", "parseFloat", "parseInt", "structuredClone",
    ),
    "proxy": (),
    "web.abort": ("AbortController", "AbortSignal"),
    "web.blob": ("Blob", "File"),
    "web.console": ("console",),
    "web.crypto": ("CryptoKey", "crypto"),
    "web.event_target": ("CloseEvent", "CustomEvent", "ErrorEvent", "Event", "EventTarget", "MessageEvent"),
    "web.fetch": ("fetch",),
    "web.form_data": ("FormData",),
    "web.headers": ("Headers",),
    "web.html_rewriter": ("HTMLRewriter",),
    "web.navigator": ("navigator", "performance", "process"),
    "web.request": ("Request",),
    "web.response": ("Response",),
    "web.streams": (
        "ByteLengthQueuingStrategy", "CompressionStream", "CountQueuingStrategy", "DecompressionStream",
        "FixedLengthStream", "IdentityTransformStream", "ReadableStream", "ReadableStreamBYOBReader",
        "ReadableStreamDefaultReader", "TextDecoderStream", "TextEncoderStream", "TransformStream", "WritableStream",
        "WritableStreamDefaultWriter",
    ),
    "web.text": (
        "TextDecoder", "TextEncoder", "atob", "btoa", "decodeURI", "decodeURIComponent", "encodeURI",
        "encodeURIComponent",
    ),
    "web.timers": ("clearInterval", "clearTimeout", "queueMicrotask", "scheduler", "setInterval", "setTimeout"),
    "web.url": ("URL", "URLSearchParams"),
    "web.url_pattern": ("URLPattern",),
    "web.auto_response": ("WebSocketRequestResponsePair",),
    "web.websocket": ("WebSocket", "WebSocketPair"),
}  # fmt: skip

# JavaScript's name -> module, name there
_NAMES: dict[str, tuple[str, str]] = {
    "Array": ("containers", "JsArray"),
    "Date": ("dates", "JsDate"),
    "Map": ("containers", "JsMap"),
    "Object": ("globals", "Object"),
    "Promise": ("promise", "JsPromise"),
    "ReferenceError": ("errors", "ReferenceError_"),
    "Set": ("containers", "JsSet"),
    "SyntaxError": ("errors", "SyntaxError_"),
    "TypeError": ("errors", "TypeError_"),
    "JSON": ("globals", "JSON"),
    "caches": ("globals", "caches"),
    **{name: (module, name) for module, names in _PLACES.items() for name in names},
}

undefined = None


def __getattr__(name: str) -> Any:
    if name in ("globalThis", "self"):
        return sys.modules[__name__]
    place = _NAMES.get(name)
    if place is None:
        # Names that Python reserves may carry an underscore: `js.eval_`.
        raise AttributeError(name)
    value = getattr(importlib.import_module(f"pyflare.interop.{place[0]}"), place[1])
    if callable(value) and type(value).__name__ == "function":
        value = JsFunction.make(value, name)
    if name != "process":  # each worker has its own, or none
        globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_NAMES, "globalThis", "undefined"])
