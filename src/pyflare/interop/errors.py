"""JsException and JavaScript's error constructors.

On Cloudflare an Error of JavaScript *is* a Python exception: `JsException`, with `name`, `message` and `stack`; `str()`
is "Name: message". There is one Python class; what differs is `error.constructor`.
"""

from __future__ import annotations

from typing import Any, ClassVar

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
        hidden = ("name", "message", "stack", "args")
        return {name: value for name, value in super().js_properties().items() if name not in hidden}

    def toString(self) -> str:
        if not self.message:
            return str(self.name)
        return f"{self.name}: {self.message}" if self.name else str(self.message)

    def __repr__(self) -> str:
        return self.toString()

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

    def new(self, message: Any = None, options: Any = None, **kwargs: Any) -> JsException:
        text = "" if message is None else str(message)
        name = self.__dict__["name"]
        if name == "DOMException":
            name = options if isinstance(options, str) else "Error"
        error: JsException = JsException.make(text, name, self)
        cause = kwargs.get("cause", get(options, "cause"))
        if not is_nullish(cause):
            error.__dict__["cause"] = cause
        return error

    __call__ = new


Error = ErrorConstructor.make("Error")
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
        Error, TypeError_, RangeError, SyntaxError_, ReferenceError_, EvalError, URIError, PythonErrorConstructor,
    )
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
