"""The queuing strategies that streams take as an argument."""

from __future__ import annotations

from typing import Any, ClassVar

from pyflare.interop.proxy import JsProxy, get


class CountQueuingStrategy(JsProxy):
    js_name: ClassVar[str] = "CountQueuingStrategy"

    def __init__(self, settings: Any = None) -> None:
        self.highWaterMark = get(settings, "highWaterMark", 1)

    def size(self, _chunk: Any = None) -> int:
        return 1


class ByteLengthQueuingStrategy(JsProxy):
    js_name: ClassVar[str] = "ByteLengthQueuingStrategy"

    def __init__(self, settings: Any = None) -> None:
        self.highWaterMark = get(settings, "highWaterMark", 1)

    def size(self, chunk: Any) -> int:
        return int(chunk.byteLength)
