"""`to_js`, `to_py` and the proxies of Python objects, as Pyodide documents them and as recorded.

`to_js` of a dict without a converter is a plain object on this runtime. Nulls inside what `to_py` gives stay `jsnull`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from pyflare.interop import proxy
from pyflare.interop.buffers import (
    BY_CODE,
    TYPED_ARRAYS,
    ArrayBuffer,
    BufferView,
    DataView,
    TypedArray,
    Uint8Array,
)
from pyflare.interop.containers import JsArray, JsMap, JsSet, to_text
from pyflare.interop.errors import error
from pyflare.interop.proxy import JsFunction, JsNull, JsObject, JsProxy, fold, new_object

Converter = Callable[..., Any]


class ConversionError(Exception):
    """A Python object that may not become a JavaScript value."""


class JsDoubleProxy(JsProxy):
    """A Python object as JavaScript sees it, seen from Python again: what `create_proxy` gives."""

    js_name: ClassVar[str] = "Object"

    def __init__(self, target: Any, once: bool = False) -> None:
        # Set in one go: attribute access of this class goes to the target.
        self.__dict__.update(_target=target, _once=once, _gone=None)

    def _alive(self) -> Any:
        if self.__dict__["_gone"] is not None:
            raise error(self.__dict__["_gone"])
        return self.__dict__["_target"]

    @property
    def constructor(self) -> Any:
        return JsFunctionClass if callable(self.__dict__["_target"]) else JsObject

    @property
    def typeof(self) -> str:
        return "function" if callable(self.__dict__["_target"]) else "object"

    def js_properties(self) -> dict[str, Any]:
        return {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        target = self._alive()
        if self.__dict__["_once"]:
            self.__dict__["_gone"] = "OnceProxy can only be called once"
        return target(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._alive(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._alive(), name, value)

    def destroy(self) -> None:
        self.__dict__["_gone"] = "Object has already been destroyed"

    def copy(self) -> JsDoubleProxy:
        return JsDoubleProxy.make(self._alive())

    def unwrap(self) -> Any:
        return self._alive()

    def getBuffer(self, _kind: str | None = None) -> PyBuffer:
        """The bytes of a bytes-like target, without a copy."""
        return PyBuffer.make(self._alive())

    def to_py(self, *, depth: int = -1, default_converter: Converter | None = None) -> Any:
        return self._alive()

    def toString(self) -> str:
        return str(self._alive())


class PyBuffer(JsProxy):
    """`PyProxy.getBuffer()`: `data` is a view of the Python object's memory until `release()`."""

    js_name: ClassVar[str] = "PyBuffer"

    def __init__(self, target: Any) -> None:
        if not isinstance(target, bytes):
            target = bytes(target)
        self.data = Uint8Array.make(ArrayBuffer.make(target))

    def release(self) -> None:
        """Nothing to do: the view owns its bytes."""


def create_proxy(target: Any, **_: Any) -> JsDoubleProxy:
    """A proxy that lives until it is destroyed; `capture_this` and `roundtrip` have no effect here."""
    return JsDoubleProxy.make(target)


def create_once_callable(target: Callable[..., Any]) -> JsDoubleProxy:
    """A function that may be called once."""
    return JsDoubleProxy.make(target, True)


def unwrap(value: Any) -> Any:
    """The Python object behind a proxy of one; any other value as it is. JavaScript hands proxies back unwrapped."""
    return value.unwrap() if isinstance(value, JsDoubleProxy) else value


# --- to JavaScript ------------------------------------------------------------------------------------------------


def _from_entries(pairs: Iterable[Any]) -> JsObject:
    if isinstance(pairs, JsMap):
        pairs = pairs.items()
    return JsObject.make({to_text(key): value for key, value in pairs})


from_entries = JsFunction.make(_from_entries, "fromEntries")

_SAME = frozenset((str, int, float, bool, type(None), JsNull))


def to_js(
    obj: Any,
    /,
    *,
    depth: int = -1,
    pyproxies: Any = None,
    create_pyproxies: bool = True,
    dict_converter: Converter | None = None,
    default_converter: Converter | None = None,
    eager_converter: Converter | None = None,
) -> Any:
    """A JavaScript value of a Python one; containers are copied `depth` levels deep."""
    kind = type(obj)
    if kind in _SAME and eager_converter is None:
        return obj
    rest = create_pyproxies, dict_converter, default_converter
    walk = _ToJs(*rest) if eager_converter is None else _EagerToJs(eager_converter, *rest)
    return walk.convert(obj, depth)


class _ToJs:
    """One call of `to_js`."""

    as_it_is = _SAME

    def __init__(
        self, create_pyproxies: bool, dict_converter: Converter | None, default_converter: Converter | None
    ) -> None:
        self.create_pyproxies = create_pyproxies
        self.dict_converter = None if dict_converter is from_entries else dict_converter
        self.default_converter = default_converter
        self.seen: dict[int, Any] = {}

    def convert(self, obj: Any, depth: int) -> Any:
        kind = type(obj)
        if kind is dict and depth:  # what most values are made of
            done = self.seen.get(id(obj))
            return self.object(obj, depth) if done is None else done
        if kind in _SAME or isinstance(obj, JsProxy):
            return obj
        if depth == 0:
            return self.other(obj, depth)
        done = self.seen.get(id(obj))
        if done is not None:
            return done
        if isinstance(obj, (list, tuple)):
            return self.array(obj, depth)
        if isinstance(obj, dict):
            return self.object(obj, depth)
        return self.special(obj, depth)

    def special(self, obj: Any, depth: int) -> Any:
        if isinstance(obj, (bytes, bytearray)):
            return Uint8Array.make(ArrayBuffer.make(bytearray(obj)))
        if isinstance(obj, memoryview):
            kind_of_array = BY_CODE.get(obj.format, Uint8Array)
            return kind_of_array.make(ArrayBuffer.make(bytearray(obj.tobytes())))
        if isinstance(obj, (set, frozenset)):
            return JsSet.make([self.convert(item, depth - 1) for item in obj])
        if isinstance(obj, (str, int, float)):
            return obj
        return self.other(obj, depth)

    def array(self, obj: list[Any] | tuple[Any, ...], depth: int) -> JsArray:
        made: JsArray = JsArray.make([])
        self.seen[id(obj)] = made
        items = made._items
        for item in obj:
            items.append(item if type(item) in self.as_it_is else self.convert(item, depth - 1))
        return made

    def object(self, obj: dict[Any, Any], depth: int) -> Any:
        if self.dict_converter is not None:
            pairs = [JsArray.make([key, self.convert(value, depth - 1)]) for key, value in obj.items()]
            return self.dict_converter(JsArray.make(pairs))
        properties: dict[str, Any] = {}
        made = self.seen[id(obj)] = new_object(properties)
        for key, value in obj.items():
            name = key if type(key) is str else to_text(key)
            properties[name] = value if type(value) in self.as_it_is else self.convert(value, depth - 1)
        return made

    def other(self, obj: Any, depth: int) -> Any:
        if self.default_converter is not None:
            result = self.default_converter(obj, lambda value: self.convert(value, depth), self.cache)
            if type(result) in _SAME or isinstance(result, JsProxy):
                return result
            obj = result
        if not self.create_pyproxies:
            raise ConversionError(f"No conversion known for x={obj!r}")
        return JsDoubleProxy.make(obj)

    def cache(self, obj: Any, value: Any) -> None:
        self.seen[id(obj)] = value


class _EagerToJs(_ToJs):
    """With a converter that is asked first, about every value."""

    as_it_is = frozenset()

    def __init__(self, eager_converter: Converter, *rest: Any) -> None:
        super().__init__(*rest)
        self.eager_converter = eager_converter

    def convert(self, obj: Any, depth: int) -> Any:
        plain = super().convert
        return self.eager_converter(obj, lambda value: plain(value, depth), self.cache)


# --- to Python ----------------------------------------------------------------------------------------------------


def to_py(value: Any, depth: int = -1, default_converter: Converter | None = None) -> Any:
    """A Python value of a JavaScript one: Array → list, plain Object and Map → dict, Set → set, buffers → memoryview
    (a copy); anything else goes to `default_converter(value, convert, cache)` or stays."""
    return _ToPy(default_converter).convert(value, depth)


class _ToPy:
    """One call of `to_py`."""

    def __init__(self, default_converter: Converter | None) -> None:
        self.default_converter = default_converter
        self.seen: dict[int, Any] = {}

    def convert(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _SAME or depth == 0:
            return value
        done = self.seen.get(id(value))
        return _COPIES.get(kind, _ToPy.other)(self, value, depth) if done is None else done

    def object(self, value: JsObject, depth: int) -> dict[Any, Any]:
        return self.mapping(value, value.js_properties().items(), depth)

    def map(self, value: JsMap, depth: int) -> dict[Any, Any]:
        return self.mapping(value, value.items(), depth)

    def mapping(self, value: JsProxy, pairs: Iterable[tuple[Any, Any]], depth: int) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        self.seen[id(value)] = made
        for key, item in pairs:
            made[key] = item if type(item) in _SAME else self.convert(item, depth - 1)
        return made

    def array(self, value: JsArray, depth: int) -> list[Any]:
        made: list[Any] = []
        self.seen[id(value)] = made
        for item in value._items:
            made.append(item if type(item) in _SAME else self.convert(item, depth - 1))
        return made

    def set(self, value: JsSet, depth: int) -> set[Any]:
        return {self.convert(item, depth - 1) for item in value}

    def buffer(self, value: BufferView | ArrayBuffer, _: int) -> memoryview:
        return value.to_memoryview()

    def unwrapped(self, value: JsDoubleProxy, _: int) -> Any:
        return value.unwrap()

    def other(self, value: Any, depth: int) -> Any:
        if self.default_converter is None or not isinstance(value, JsProxy):
            return value
        return self.default_converter(value, lambda item: self.convert(item, depth), self.cache)

    def cache(self, value: Any, made: Any) -> None:
        self.seen[id(value)] = made


_COPIES: dict[type, Callable[[_ToPy, Any, int], Any]] = {
    JsObject: _ToPy.object,
    JsMap: _ToPy.map,
    JsArray: _ToPy.array,
    JsSet: _ToPy.set,
    JsDoubleProxy: _ToPy.unwrapped,
    **dict.fromkeys((ArrayBuffer, DataView, *TYPED_ARRAYS), _ToPy.buffer),
}


class _FunctionClass(JsProxy):
    """`js.Function`, which nobody may construct: code from text is refused on Cloudflare."""

    js_name: ClassVar[str] = "Function"


JsFunctionClass = _FunctionClass

proxy.install(JsArray.make, to_py)
JsObject.fromEntries = from_entries  # type: ignore[attr-defined]

__all__ = [
    "ConversionError", "DataView", "JsDoubleProxy", "TypedArray", "create_once_callable", "create_proxy", "fold",
    "from_entries", "to_js", "to_py", "unwrap",
]  # fmt: skip
