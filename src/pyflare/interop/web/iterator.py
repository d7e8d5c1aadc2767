"""What `keys()`, `values()` and `entries()` of a JavaScript collection give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from pyflare.interop.containers import JsArray
from pyflare.interop.proxy import JsObject, JsProxy


class JsIterator(JsProxy):
    """An iterator of JavaScript that Python can iterate, too."""

    js_name: ClassVar[str] = "Iterator"

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)

    def js_properties(self) -> dict[str, Any]:
        return {}

    def __iter__(self) -> Iterator[Any]:
        return self._items

    def __next__(self) -> Any:
        return next(self._items)

    def next(self) -> JsObject:
        for value in self._items:
            return JsObject.make({"done": False, "value": value})
        return JsObject.make({"done": True, "value": None})

    def toArray(self) -> JsArray:
        return JsArray.make(list(self._items))


def pair_array(name: Any, value: Any) -> JsArray:
    """`[name, value]`, on a path where each microsecond counts."""
    made = object.__new__(JsArray)
    made._items = [name, value]
    return made
