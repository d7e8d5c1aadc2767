"""JsException and JavaScript's error constructors.

On Cloudflare an Error of JavaScript *is* a Python exception: `JsException`, with `name`, `message` and `stack`; `str()`
is "Name: message". There is one Python class; what differs is `error.constructor`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.proxy import JsClass, JsProxy, get, is_nullish


class _ErrorClass(JsClass):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return "JsException"


class JsException(JsProxy, Exception, metaclass=_ErrorClass):
    """An Error of JavaScript, as Python sees it."""

    js_name: ClassVar[str] = "Error"
    __module__ = "pyodide.ffi"  # as tracebacks name it on Cloudflare

    def __init__(self, message: str = "", name: str = "Error", constructor: ErrorConstructor | None = None) -> None:
        Exception.__init__(self, message)
        self.name = name
        self.message = message
        self.stack = f"{name}: {message}"
        self._constructor = constructor
        # `remote`: set on an error that came from another worker or object.

    @property
    def constructor(self) -> Any:
        return self._constructor or CONSTRUCTORS.get(self.name, Error)

    def js_properties(self) -> dict[str, Any]:
        hidden = ("name", "message", "stack", "args", "cause", "errors")
        return {name: value for name, value in super().js_properties().items() if name not in hidden}

    def toString(self) -> str:
        if not self.message:
            return str(self.name)
        return f"{self.name}: {self.message}" if self.name else str(self.message)

    def __repr__(self) -> str:
        return self.toString()

    def __getattr__(self, name: str) -> Any:
        if name == "code" and self._constructor is DOMException:
            return LEGACY_CODES.get(self.name, 0)
        return super().__getattr__(name)

    # An exception must be hashable: traceback and contextlib keep them in sets.
    __hash__ = Exception.__hash__


class ErrorConstructor(JsProxy):
    """`js.Error`, `js.TypeError`, …: callable with and without `new`."""

    js_name: ClassVar[str] = "Function"

    def __init__(self, name: str) -> None:
        self.__dict__["name"] = name
        self.stackTraceLimit = 10

    @property
    def typeof(self) -> str:
        return "function"

    def new(self, message: Any = None, options: Any = None, *rest: Any, **kwargs: Any) -> JsException:
        name, errors = self.__dict__["name"], None
        if name == "AggregateError":
            errors, message, options = message, options, rest[0] if rest else None
        elif name == "DOMException":
            name = "Error" if options is None else to_text(options)
        made: JsException = JsException.make("" if message is None else to_text(message), name, self)
        if errors is not None:
            made.__dict__["errors"] = JsArray.make(errors)
        cause = kwargs.get("cause", get(options, "cause"))
        if not is_nullish(cause):
            made.__dict__["cause"] = cause
        return made

    __call__ = new


Error = ErrorConstructor.make("Error")
AggregateError = ErrorConstructor.make("AggregateError")
TypeError_ = ErrorConstructor.make("TypeError")
RangeError = ErrorConstructor.make("RangeError")
SyntaxError_ = ErrorConstructor.make("SyntaxError")
ReferenceError_ = ErrorConstructor.make("ReferenceError")
EvalError = ErrorConstructor.make("EvalError")
URIError = ErrorConstructor.make("URIError")
DOMException = ErrorConstructor.make("DOMException")
PythonErrorConstructor = ErrorConstructor.make("PythonError")

CONSTRUCTORS: dict[str, ErrorConstructor] = {
    constructor.__dict__["name"]: constructor
    for constructor in (
        AggregateError, Error, TypeError_, RangeError, SyntaxError_, ReferenceError_, EvalError, URIError,
        PythonErrorConstructor,
    )
}  # fmt: skip

# webidl.spec.whatwg.org, "DOMException names": those that have a code.
LEGACY_CODES = {
    "IndexSizeError": 1, "HierarchyRequestError": 3, "WrongDocumentError": 4, "InvalidCharacterError": 5,
    "NoModificationAllowedError": 7, "NotFoundError": 8, "NotSupportedError": 9, "InUseAttributeError": 10,
    "InvalidStateError": 11, "SyntaxError": 12, "InvalidModificationError": 13, "NamespaceError": 14,
    "InvalidAccessError": 15, "TypeMismatchError": 17, "SecurityError": 18, "NetworkError": 19, "AbortError": 20,
    "URLMismatchError": 21, "QuotaExceededError": 22, "TimeoutError": 23, "InvalidNodeTypeError": 24,
    "DataCloneError": 25,
}  # fmt: skip


def error(message: str, name: str = "Error") -> JsException:
    """An exception as the runtime raises it: `error("nope")`, `error("nope", "RangeError")`."""
    made: JsException = JsException.make(message, name)
    return made


def type_error(message: str) -> JsException:
    return error(message, "TypeError")


def range_error(message: str) -> JsException:
    return error(message, "RangeError")


def dom_exception(message: str, name: str) -> JsException:
    """`DataCloneError`, `AbortError`, `InvalidStateError` and the like."""
    made: JsException = JsException.make(message, name, DOMException)
    return made
