"""JavaScript values as Python objects.

Strings, numbers and booleans are plain Python; `None` is undefined; `jsnull` is null; everything else is an instance of
a class of this layer, all of which derive from `JsProxy`. How to write such a class:

    class Headers(JsProxy):
        js_name = "Headers"                   # Headers.name, x.constructor.name; default: the Python name

        def __init__(self, pairs): ...        # for Python: Headers.make(pairs)

        @classmethod
        def construct(cls, init=None): ...    # for JavaScript: Headers.new(init); checks as JavaScript does

Calling the class itself is what JavaScript calls "without new": a TypeError, unless `call` is defined. Keyword
arguments fold into one trailing options object (`@options` does that for methods). Behaviour follows Pyodide's JsProxy
(pyodide.org, "Type translations") as recorded on Cloudflare's runtime.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_ids = itertools.count(1)


class JsNull:
    """The type of `jsnull`, JavaScript's null."""

    __slots__ = ()
    _only: ClassVar[JsNull | None] = None

    def __new__(cls) -> JsNull:
        if cls._only is None:
            cls._only = super().__new__(cls)
        return cls._only

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "jsnull"

    def __reduce__(self) -> str:
        return "jsnull"

    @property
    def typeof(self) -> str:
        return "object"


jsnull = JsNull()


def is_web(cls: type) -> bool:
    """Whether a class is one of the runtime's own, not of JavaScript."""
    return cls.__module__.startswith("pyflare.interop.web.")


def is_nullish(value: object) -> bool:
    """Whether `value` is undefined or null."""
    return value is None or value is jsnull


def fold(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Arguments as JavaScript gets them: keywords become one options object at the end."""
    return (*args, JsObject.make(kwargs)) if kwargs else args


def options(method: F) -> F:
    """A method of a JavaScript object that takes its keywords as a trailing options object."""

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self, *(fold(args, kwargs) if kwargs else args))

    return wrapper  # type: ignore[return-value]


class JsClass(type):
    """The type of classes that JavaScript sees."""

    js_name: str

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        super().__init__(name, bases, namespace)
        if "js_name" not in namespace:
            cls.js_name = name

    # `type(x).__name__` is "JsProxy" on Cloudflare; Python's own name stays in tracebacks and repr.
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return "JsProxy"

    name = property(operator.attrgetter("js_name"))  # in C, as `constructor`: the SDK asks for both at every value

    @property
    def typeof(cls) -> str:
        return "function"

    if TYPE_CHECKING:

        def make(cls: type[T], *args: Any, **kwargs: Any) -> T:
            """Python's constructor: runs `__init__`."""
            raise NotImplementedError

    else:
        make = type.__call__  # the very method, in C: a request makes half a dozen objects

    def new(cls, *args: Any, **kwargs: Any) -> Any:
        """JavaScript's constructor."""
        return cls.construct(*(fold(args, kwargs) if kwargs else args))

    def construct(cls, *args: Any) -> Any:
        return type.__call__(cls, *args)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.call(*fold(args, kwargs))

    def call(cls, *args: Any) -> Any:
        """What calling without `new` does."""
        from pyflare.interop.errors import type_error  # noqa: PLC0415  (errors are themselves proxies)

        if is_web(cls):
            raise type_error(
                f"Failed to construct '{cls.js_name}': Please use the 'new' operator, this object constructor cannot "
                "be called as a function."
            )
        raise type_error(f"Constructor {cls.js_name} requires 'new'")  # as V8 says it of its own


class JsProxy(metaclass=JsClass):
    """The root of all JavaScript objects."""

    js_name: ClassVar[str] = "Object"

    constructor: Any = property(type)

    @property
    def typeof(self) -> str:
        return "object"

    @property
    def js_id(self) -> int:
        number = self.__dict__.get("_js_id")
        if number is None:
            number = self.__dict__["_js_id"] = next(_ids)
        return int(number)

    def js_properties(self) -> dict[str, Any]:
        """The own enumerable properties; for Python."""
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def object_keys(self) -> Any:
        return _array(self.js_properties())

    def object_values(self) -> Any:
        return _array(self.js_properties().values())

    def object_entries(self) -> Any:
        return _array(_array(pair) for pair in self.js_properties().items())

    def to_py(self, *, depth: int = -1, default_converter: Callable[..., Any] | None = None) -> Any:
        """A copy made of Python's containers; see `convert.to_py`."""
        return _to_py(self, depth, default_converter)

    def toString(self) -> str:
        return f"[object {type(self).js_name}]"

    def __str__(self) -> str:
        return self.toString()

    def __repr__(self) -> str:
        return self.toString()

    def __getattr__(self, name: str) -> Any:
        # Names that Python reserves are written with an underscore behind: from_, finally_, delete_.
        if name.endswith("_") and not name.startswith("_"):
            return getattr(self, name[:-1])
        raise AttributeError(name)


class JsObject(JsProxy):
    """A plain object: `{...}`. Properties are attributes; neither subscripts, `in` nor `len` work, as in Pyodide."""

    js_name: ClassVar[str] = "Object"

    def __init__(self, properties: dict[str, Any] | Iterable[tuple[str, Any]] = ()) -> None:
        self.__dict__.update(properties)

    @classmethod
    def construct(cls, value: Any = None) -> Any:
        return cls.make() if is_nullish(value) else value

    call = construct

    def js_properties(self) -> dict[str, Any]:
        own = self.__dict__
        return {key: value for key, value in own.items() if key != "_js_id"} if "_js_id" in own else own

    def as_object_map(self, *, hereditary: bool = False) -> ObjectMap:
        """A live mapping over the properties."""
        return ObjectMap.make(self, hereditary)

    as_py_json = as_object_map


def new_object(properties: dict[str, Any]) -> JsObject:
    """A plain object that takes the dict over; for hot paths, where `make` costs more than the object."""
    made = object.__new__(JsObject)
    made.__dict__ = properties
    return made


class ObjectMap(JsProxy):
    """`JsProxy.as_object_map()`: the properties of an object as items."""

    js_name: ClassVar[str] = "Object"

    def __init__(self, target: JsProxy, hereditary: bool) -> None:
        self._target, self._hereditary = target, hereditary

    def _wrap(self, value: Any) -> Any:
        return ObjectMap.make(value, True) if self._hereditary and isinstance(value, JsObject) else value

    def __getitem__(self, key: str) -> Any:
        return self._wrap(self._target.js_properties()[key])

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self._target, key, value)

    def __delitem__(self, key: str) -> None:
        delattr(self._target, key)

    def __contains__(self, key: object) -> bool:
        return key in self._target.js_properties()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._target.js_properties()))

    def __len__(self) -> int:
        return len(self._target.js_properties())

    def get(self, key: str, default: Any = None) -> Any:
        return self._wrap(self._target.js_properties().get(key, default))

    def keys(self) -> list[str]:
        return list(self)

    def values(self) -> list[Any]:
        return [self[key] for key in self]

    def items(self) -> list[tuple[str, Any]]:
        return [(key, self[key]) for key in self]

    def js_properties(self) -> dict[str, Any]:
        return self._target.js_properties()


class JsFunction(JsProxy):
    """A function of JavaScript, such as `js.fetch`; keywords fold."""

    js_name: ClassVar[str] = "Function"

    def __init__(self, function: Callable[..., Any], name: str = "") -> None:
        self._function = function
        self.__dict__["name"] = name or function.__name__

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def typeof(self) -> str:
        return "function"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*(fold(args, kwargs) if kwargs else args))

    def toString(self) -> str:
        return f"function {self.__dict__['name']}() {{ [native code] }}"


# `containers` and `convert` build on this module and put themselves in here when they are imported.
_array: Callable[[Iterable[Any]], Any] = list
_to_py: Callable[[Any, int, Callable[..., Any] | None], Any]


def install(array: Callable[[Iterable[Any]], Any], to_py: Callable[..., Any]) -> None:
    """Called once by `convert`: closes the circle between proxies, arrays and conversion."""
    global _array, _to_py
    _array, _to_py = array, to_py


def get(value: Any, name: str, default: Any = None) -> Any:
    """The property `name` of an options object: a JsObject, a Python dict or nothing at all."""
    if value is None or value is jsnull:
        return default
    if isinstance(value, dict):
        return value.get(name, default)
    return getattr(value, name, default)
