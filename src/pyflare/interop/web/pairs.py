"""What JavaScript's lists of names and values share: `FormData`, `Headers` and `URLSearchParams`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from pyflare.interop.arguments import not_of_type
from pyflare.interop.containers import JsArray
from pyflare.interop.errors import type_error
from pyflare.interop.proxy import JsProxy, jsnull
from pyflare.interop.web.callback import is_function
from pyflare.interop.web.iterator import JsIterator, pair_array


class PairList(JsProxy):
    """Iterates what `_listed` gives; a name may stand there several times."""

    def _listed(self) -> Sequence[tuple[str, Any]]:
        raise NotImplementedError

    def has(self, name: Any) -> bool:
        raise NotImplementedError

    def js_properties(self) -> dict[str, Any]:
        return {}

    def __contains__(self, name: object) -> bool:
        return self.has(name)

    def _walk(self) -> Iterator[tuple[str, Any]]:
        """The pairs one after another, also those that come while it goes on."""
        at = 0
        while at < len(listed := self._listed()):
            yield listed[at]
            at += 1

    def __iter__(self) -> Iterator[JsArray]:
        return (pair_array(name, value) for name, value in self._walk())

    def forEach(self, callback: Callable[..., Any], _this: Any = None) -> None:
        if not is_function(callback):
            raise not_of_type(self, "forEach", 1, "function")
        for name, value in self._walk():
            callback(value, name, self)

    def keys(self) -> JsIterator:
        return JsIterator.make(name for name, _ in self._walk())

    def values(self) -> JsIterator:
        return JsIterator.make(value for _, value in self._walk())

    def entries(self) -> JsIterator:
        return JsIterator.make(self)


class TextMap(PairList):
    """One whose values are texts, with Python's subscripts."""

    def get(self, name: Any) -> Any:
        raise NotImplementedError

    def set(self, name: Any, value: Any) -> None:
        raise NotImplementedError

    def delete(self, name: Any) -> None:
        raise NotImplementedError

    def __getitem__(self, name: Any) -> str:
        value = self.get(name)
        if value is jsnull:
            raise KeyError(name)
        return str(value)

    def __setitem__(self, name: Any, value: Any) -> None:
        self.set(name, value)

    def __delitem__(self, name: Any) -> None:
        self.delete(name)


def sequence(value: Any) -> tuple[Any, ...]:
    """The items of one pair in a list of pairs; TypeError when it has none."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise type_error("Incorrect type: the provided value is not of type 'Sequence'.")
    return tuple(value)
