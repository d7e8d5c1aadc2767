"""The queuing strategies that streams take as an argument."""

from __future__ import annotations

from typing import Any, ClassVar

from pyflare.interop.arguments import to_number
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import JsProxy, get


def high_water_mark(strategy: Any, default: float) -> float:
    """The field `highWaterMark` of a strategy; TypeError when it is none."""
    return default if (mark := get(strategy, "highWaterMark")) is None else float(whole(mark))


def whole(value: Any) -> float:
    """A number of an unsigned parameter of 64 bits; TypeError when it is none."""
    number = to_number(value)
    if number != number:
        raise type_error("The value cannot be converted because it is not an integer.")
    if number < 0:
        raise type_error("The value cannot be converted because it is negative and this API expects a positive bigint.")
    return number


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
