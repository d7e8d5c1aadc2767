"""The functions and small objects of JavaScript's global scope that have no file of their own."""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar

from pyflare.interop import scope
from pyflare.interop.arguments import parse_int, to_number
from pyflare.interop.clone import refuse, transfer
from pyflare.interop.containers import MAX_SAFE_INTEGER, JsArray, to_text, whole
from pyflare.interop.convert import JsFunctionClass
from pyflare.interop.errors import dom_exception, error, type_error
from pyflare.interop.json import Json
from pyflare.interop.proxy import JsFunction, JsObject, JsProxy, fold, get, is_nullish

Function = JsFunctionClass
Infinity = math.inf
NaN = math.nan
JSON = Json.make()


def structuredClone(value: Any, options: Any = None) -> Any:
    return transfer(value, _copy_of_blob)


def _copy_of_blob(value: Any) -> Any:
    from pyflare.interop.web.blob import Blob  # noqa: PLC0415  (it knows streams)

    return Blob.make(value.data, value.type) if type(value) is Blob else refuse(value)


# --- Object -------------------------------------------------------------------------------------------------------


def _properties(value: Any) -> dict[str, Any]:
    if isinstance(value, JsProxy):
        return value.js_properties()
    if isinstance(value, str):
        return {str(at): letter for at, letter in enumerate(value)}
    if is_nullish(value):
        raise type_error("Cannot convert undefined or null to object")
    return {}


def _assign(target: Any, *sources: Any) -> Any:
    for source in sources:
        for name, value in ({} if is_nullish(source) else _properties(source)).items():
            setattr(target, name, value)
    return target


def _keys(value: Any) -> JsArray:
    return JsArray.make(list(_properties(value)))


def _values(value: Any) -> JsArray:
    return JsArray.make(list(_properties(value).values()))


def _entries(value: Any) -> JsArray:
    return JsArray.make([JsArray.make(pair) for pair in _properties(value).items()])


def _has_own(value: Any, name: Any) -> bool:
    return to_text(name) in _properties(value)


def _freeze(value: Any) -> Any:
    return value


def _is(left: Any, right: Any) -> bool:
    return left is right or (type(left) is type(right) and left == right and not isinstance(left, JsProxy))


_STATIC = {
    "assign": _assign, "keys": _keys, "values": _values, "entries": _entries, "hasOwn": _has_own, "freeze": _freeze,
    "is": _is,
}  # fmt: skip
for _name, _function in _STATIC.items():
    setattr(JsObject, _name, JsFunction.make(_function, _name))
Object = JsObject


# --- primitives ---------------------------------------------------------------------------------------------------


class JsNumber(JsProxy):
    """A Number object, of `js.Number.new(...)`."""

    js_name: ClassVar[str] = "Number"
    MAX_SAFE_INTEGER: ClassVar[int] = MAX_SAFE_INTEGER
    MIN_SAFE_INTEGER: ClassVar[int] = -MAX_SAFE_INTEGER
    EPSILON: ClassVar[float] = 2.0**-52

    def __init__(self, value: int | float) -> None:
        self._value = value

    @classmethod
    def construct(cls, value: Any = 0) -> JsNumber:
        return cls.make(to_number(value))

    @classmethod
    def call(cls, value: Any = 0) -> int | float:
        return to_number(value)

    @staticmethod
    def isInteger(value: Any) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and float(value).is_integer()

    def js_properties(self) -> dict[str, Any]:
        return {}

    def valueOf(self) -> int | float:
        return self._value

    def toString(self) -> str:
        return to_text(self._value)


Number = JsNumber


def String(value: Any = "") -> str:
    return to_text(value)


def Boolean(value: Any = None) -> bool:
    return not (is_nullish(value) or value is False or value == 0 or value == "" or value != value)


def BigInt(value: Any) -> int:
    return int(value)


def Symbol(description: Any = "") -> Any:
    return JsObject.make({"description": description})


def parseInt(text: Any = None, radix: Any = None) -> int | float:
    return parse_int(text, radix)


def parseFloat(text: Any) -> int | float:
    found = re.match(r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+)", to_text(text))
    return whole(float(found.group())) if found else math.nan


def isNaN(value: Any) -> bool:
    return math.isnan(to_number(value))


def isFinite(value: Any) -> bool:
    return math.isfinite(to_number(value))


class RegExp(JsProxy):
    """A regular expression; it may be made and tested, not sent over RPC."""

    js_name: ClassVar[str] = "RegExp"

    def __init__(self, source: str, flags: str = "") -> None:
        self.source, self.flags = source, flags
        try:
            self._pattern = re.compile(source, re.IGNORECASE if "i" in flags else 0)
        except re.error as raised:
            raise error(f"Invalid regular expression: /{source}/: {raised}", "SyntaxError") from None

    def js_properties(self) -> dict[str, Any]:
        return {}

    def test(self, text: str) -> bool:
        return self._pattern.search(text) is not None

    def toString(self) -> str:
        return f"/{self.source}/{self.flags}"


class _Math(JsProxy):
    js_name: ClassVar[str] = "Math"
    PI, E = math.pi, math.e

    def js_properties(self) -> dict[str, Any]:
        return {}

    def floor(self, value: float) -> int:
        return math.floor(value)

    def ceil(self, value: float) -> int:
        return math.ceil(value)

    def round(self, value: float) -> int:
        return math.floor(value + 0.5)

    def trunc(self, value: float) -> int:
        return math.trunc(value)

    def abs(self, value: float) -> float:
        return abs(value)

    def min(self, *values: float) -> float:
        return min(values, default=math.inf)

    def max(self, *values: float) -> float:
        return max(values, default=-math.inf)

    def pow(self, base: float, exponent: float) -> float:
        return float(base**exponent)

    def sqrt(self, value: float) -> float:
        return math.sqrt(value)

    def random(self) -> float:
        import random  # noqa: PLC0415  (rarely asked for)

        return random.random()


Math = _Math.make()


class _Reflect(JsProxy):
    js_name: ClassVar[str] = "Reflect"

    def construct(self, target: Any, args: Any, *_: Any) -> Any:
        return target.new(*args)

    def apply(self, target: Any, _this: Any, args: Any) -> Any:
        return target(*args)

    def ownKeys(self, target: Any) -> JsArray:
        return _keys(target)

    def get(self, target: Any, name: str) -> Any:
        return get(target, name)

    def set(self, target: Any, name: str, value: Any) -> bool:
        setattr(target, name, value)
        return True

    def has(self, target: Any, name: str) -> bool:
        return hasattr(target, name)


Reflect = _Reflect.make()


class _Caches(JsProxy):
    """`js.caches`: of the server whose worker runs now."""

    js_name: ClassVar[str] = "CacheStorage"

    def _storage(self) -> Any:
        running = scope.current.get()
        if running is None or running.worker.caches is None:
            raise dom_exception("caches is not available outside of a worker", "NotSupportedError")
        return running.worker.caches

    @property
    def default(self) -> Any:
        return self._storage().default

    def open(self, *args: Any, **kwargs: Any) -> Any:
        return self._storage().open(*fold(args, kwargs))


caches = _Caches.make()
