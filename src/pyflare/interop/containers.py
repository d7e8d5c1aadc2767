"""Array, Map and Set."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from pyflare.interop.proxy import JsProxy, is_nullish

MAX_SAFE_INTEGER = 2**53 - 1
MAX_INDEX = 2**32 - 2  # of an array


def integer(value: Any, default: int = 0) -> int:
    """What JavaScript makes of a value where it wants an integer."""
    if is_nullish(value):
        return default
    if isinstance(value, float) and not math.isfinite(value):
        return default
    return int(value)


class JsArray(JsProxy):
    """An array: a Python sequence with JavaScript's methods; holds JavaScript values."""

    js_name: ClassVar[str] = "Array"

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._items: list[Any] = items if type(items) is list else list(items)

    @classmethod
    def construct(cls, *args: Any) -> JsArray:
        if len(args) == 1 and isinstance(args[0], int) and not isinstance(args[0], bool):
            return cls.make([None] * args[0])
        return cls.make(args)

    call = construct

    @classmethod
    def of(cls, *items: Any) -> JsArray:
        return cls.make(items)

    @classmethod
    def from_(cls, source: Iterable[Any], transform: Callable[[Any, int], Any] | None = None) -> JsArray:
        items = list(source)
        return cls.make([transform(item, at) for at, item in enumerate(items)] if callable(transform) else items)

    @staticmethod
    def isArray(value: Any) -> bool:
        return isinstance(value, JsArray)

    def js_properties(self) -> dict[str, Any]:
        return {str(at): item for at, item in enumerate(self._items)}

    # --- as a Python sequence -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __getitem__(self, at: int | slice) -> Any:
        return JsArray.make(self._items[at]) if isinstance(at, slice) else self._items[at]

    def __setitem__(self, at: int, value: Any) -> None:
        self._items[at] = value

    def __delitem__(self, at: int) -> None:
        del self._items[at]

    def append(self, item: Any) -> None:
        self._items.append(item)

    def extend(self, items: Iterable[Any]) -> None:
        self._items.extend(items)

    def index(self, item: Any) -> int:
        return self._items.index(item)

    def count(self, item: Any) -> int:
        return self._items.count(item)

    def insert(self, at: int, item: Any) -> None:
        self._items.insert(at, item)

    def remove(self, item: Any) -> None:
        self._items.remove(item)

    # --- JavaScript's methods -------------------------------------------------------------------------------------

    @property
    def length(self) -> int:
        return len(self._items)

    def push(self, *items: Any) -> int:
        self._items.extend(items)
        return len(self._items)

    def pop(self, at: int = -1) -> Any:
        return self._items.pop(at) if self._items else None

    def shift(self) -> Any:
        return self._items.pop(0) if self._items else None

    def unshift(self, *items: Any) -> int:
        self._items[:0] = items
        return len(self._items)

    def at(self, at: int) -> Any:
        return self._items[at] if -len(self._items) <= at < len(self._items) else None

    def slice(self, start: Any = None, end: Any = None) -> JsArray:
        return JsArray.make(self._items[integer(start) : None if is_nullish(end) else int(end)])

    def splice(self, start: int, count: int | None = None, *items: Any) -> JsArray:
        end = len(self._items) if count is None else start + count
        removed = self._items[start:end]
        self._items[start:end] = items
        return JsArray.make(removed)

    def concat(self, *others: Any) -> JsArray:
        joined = list(self._items)
        for other in others:
            joined.extend(other) if isinstance(other, JsArray) else joined.append(other)
        return JsArray.make(joined)

    def join(self, separator: str = ",") -> str:
        return separator.join("" if is_nullish(item) else to_text(item) for item in self._items)

    def indexOf(self, item: Any) -> int:
        return self._items.index(item) if item in self._items else -1

    def includes(self, item: Any) -> bool:
        return item in self._items

    def forEach(self, callback: Callable[..., Any]) -> None:
        for at, item in enumerate(list(self._items)):
            callback(item, at, self)

    def map(self, callback: Callable[..., Any]) -> JsArray:
        return JsArray.make([callback(item, at, self) for at, item in enumerate(list(self._items))])

    def filter(self, callback: Callable[..., Any]) -> JsArray:
        return JsArray.make([item for at, item in enumerate(list(self._items)) if callback(item, at, self)])

    def find(self, callback: Callable[..., Any]) -> Any:
        return next((item for at, item in enumerate(list(self._items)) if callback(item, at, self)), None)

    def findIndex(self, callback: Callable[..., Any]) -> int:
        return next((at for at, item in enumerate(list(self._items)) if callback(item, at, self)), -1)

    def some(self, callback: Callable[..., Any]) -> bool:
        return any(callback(item, at, self) for at, item in enumerate(list(self._items)))

    def every(self, callback: Callable[..., Any]) -> bool:
        return all(callback(item, at, self) for at, item in enumerate(list(self._items)))

    def reduce(self, callback: Callable[..., Any], *initial: Any) -> Any:
        pairs = enumerate(list(self._items))
        value = initial[0] if initial else next(pairs)[1]
        for at, item in pairs:
            value = callback(value, item, at, self)
        return value

    def flat(self, depth: int = 1) -> JsArray:
        flat: list[Any] = []
        for item in self._items:
            nested = isinstance(item, JsArray) and depth > 0
            flat.extend(item.flat(depth - 1)) if nested else flat.append(item)
        return JsArray.make(flat)

    def reverse(self) -> JsArray:
        self._items.reverse()
        return self

    def sort(self, compare: Callable[[Any, Any], Any] | None = None) -> JsArray:
        self._items.sort(key=functools.cmp_to_key(compare) if callable(compare) else to_text)
        return self

    def fill(self, value: Any) -> JsArray:
        self._items[:] = [value] * len(self._items)
        return self

    def keys(self) -> JsArray:
        return JsArray.make(range(len(self._items)))

    def values(self) -> JsArray:
        return JsArray.make(list(self._items))

    def entries(self) -> JsArray:
        return JsArray.make([JsArray.make(pair) for pair in enumerate(self._items)])

    def toString(self) -> str:
        return self.join()


def to_text(value: Any) -> str:
    """What JavaScript's `String(value)` gives."""
    if isinstance(value, str):
        return value
    if value is None:
        return "undefined"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, float):
        return number_text(value)
    if is_nullish(value):
        return "null"
    return str(value)


def index_rank(key: str) -> int:
    """For sorting names as JavaScript lists them: those that are indices come first, by number."""
    is_index = key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) <= 10
    return min(int(key), MAX_INDEX + 1) if is_index else MAX_INDEX + 1


def whole(value: float) -> int | float:
    """A number as Python has it: an `int` where it is one that a double holds exactly."""
    return int(value) if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER else value


def number_text(value: float) -> str:
    """A number as JavaScript writes it: `1` for 1.0, `1e+21`, `NaN`, `Infinity`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    power = int(exponent)
    if 0 < power < 21:  # zeros behind the shortest digits that mean this number
        return mantissa.replace(".", "").ljust(power + 1 + (value < 0), "0")
    if -7 < power < 0:
        return f"{value:.{len(mantissa.replace('.', '').lstrip('-')) - 1 - power}f}"
    return f"{mantissa}e{'+' if power > 0 else '-'}{abs(power)}"


def _key(value: Any) -> Any:
    """What makes two values the same key: identity for objects, value for primitives; True is not 1."""
    return (bool, value) if isinstance(value, bool) else value if _plain(value) else (JsProxy, id(value))


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) or is_nullish(value)


_ABSENT = object()


class _Keyed(JsProxy):
    """A collection that keeps insertion order, and in which any value may be a key."""

    _entries: dict[Any, Any]  # by `_key`

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def size(self) -> int:
        return len(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return _key(key) in self._entries

    def has(self, key: Any) -> bool:
        return key in self

    def delete(self, key: Any) -> bool:
        return self._entries.pop(_key(key), _ABSENT) is not _ABSENT

    def clear(self) -> None:
        self._entries.clear()


class JsMap(_Keyed):
    """A Map."""

    js_name: ClassVar[str] = "Map"

    def __init__(self, pairs: Iterable[Any] = ()) -> None:
        self._entries: dict[Any, tuple[Any, Any]] = {}
        for key, value in pairs:
            self._entries[_key(key)] = (key, value)

    @classmethod
    def construct(cls, pairs: Any = None) -> JsMap:
        return cls.make(() if is_nullish(pairs) else pairs)

    def __getitem__(self, key: Any) -> Any:
        try:
            return self._entries[_key(key)][1]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: Any, value: Any) -> None:
        self._entries[_key(key)] = (key, value)

    def __delitem__(self, key: Any) -> None:
        del self._entries[_key(key)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def get(self, key: Any, default: Any = None) -> Any:
        return self._entries.get(_key(key), (None, default))[1]

    def set(self, key: Any, value: Any) -> JsMap:
        self[key] = value
        return self

    def keys(self) -> list[Any]:
        return [key for key, _ in self._entries.values()]

    def values(self) -> list[Any]:
        return [value for _, value in self._entries.values()]

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._entries.values())

    def entries(self) -> JsArray:
        return JsArray.make([JsArray.make(pair) for pair in self._entries.values()])

    def forEach(self, callback: Callable[..., Any]) -> None:
        for key, value in self.items():
            callback(value, key, self)


class JsSet(_Keyed):
    """A Set."""

    js_name: ClassVar[str] = "Set"

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self._entries: dict[Any, Any] = {_key(item): item for item in items}

    @classmethod
    def construct(cls, items: Any = None) -> JsSet:
        return cls.make(() if is_nullish(items) else items)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._entries.values()))

    def add(self, item: Any) -> JsSet:
        self._entries[_key(item)] = item
        return self

    def values(self) -> list[Any]:
        return list(self)

    keys = values

    def forEach(self, callback: Callable[..., Any]) -> None:
        for item in self:
            callback(item, item, self)
