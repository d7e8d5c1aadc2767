"""Arguments of a binding's methods, as the runtime takes them.

A method of Cloudflare's that gives a promise never raises at the call: a refused argument rejects the promise. And the
runtime converts: `None`'s `null` is the number 0, a number is text where text is wanted.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

from pyflare.interop.containers import to_text, whole
from pyflare.interop.errors import JsException, error, type_error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsNull, JsProxy, fold, is_nullish

F = TypeVar("F", bound=Callable[..., Any])

# ECMA-262, "StringNumericLiteral": Python's `float` also takes underscores, "nan" and digits of other scripts.
DECIMAL = re.compile(r"[+-]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
PREFIXED = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
INTEGER = re.compile(r"\s*([+-]?)(0[xX])?([0-9a-zA-Z]*)")
INT32_MAX = 2**31 - 1
INT32_MIN = -(2**31)


def promised(method: F) -> F:
    """A method that gives a promise: what it raises becomes a rejection, keywords become a trailing options object."""

    @functools.wraps(method)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *(fold(args, kwargs) if kwargs else args))
        except Exception as raised:
            return JsPromise.reject(raised)

    return wrapper  # type: ignore[return-value]


def requires(*kinds: str) -> Callable[[F], F]:
    """A method that needs arguments of these types, in JavaScript's names; it ignores those it has no parameter for."""

    def decorate(method: F) -> F:
        most = len(inspect.signature(method).parameters) - 1

        @functools.wraps(method)
        def wrapper(self: Any, *args: Any) -> Any:
            if len(args) < len(kinds):
                raise not_of_type(self, method.__name__, len(args) + 1, kinds[len(args)])
            return method(self, *args[:most])

        return wrapper  # type: ignore[return-value]

    return decorate


def settings(value: Any, owner: JsProxy, method: str, number: int, kind: str) -> Any:
    """The options object that is parameter `number` of a method; TypeError when it is a primitive value."""
    if isinstance(value, (str, int, float)):
        raise not_of_type(owner, method, number, kind)
    return value


def unimplemented(name: str) -> Callable[..., Any]:
    """A method that the runtime has by name alone."""

    def method(self: JsProxy, *_args: Any, **_options: Any) -> Any:
        raise error(f"Failed to execute '{name}' on '{type(self).js_name}': the method is not implemented.")

    return method


def not_of_type(owner: JsProxy, method: str, number: int, kind: str) -> JsException:
    return type_error(
        f"Failed to execute '{method}' on '{type(owner).js_name}': parameter {number} is not of type '{kind}'."
    )


def to_number(value: Any) -> int | float:
    """What JavaScript's `Number(value)` gives."""
    if isinstance(value, (bool, JsNull)):
        return int(bool(value))
    if isinstance(value, (int, float)):
        return whole(value) if isinstance(value, float) else value
    if value is None:
        return math.nan
    value_of = getattr(value, "valueOf", None)
    if callable(value_of):
        return to_number(value_of())
    text = to_text(value).strip()
    if PREFIXED.fullmatch(text):
        return int(text, 0)
    return whole(float(text)) if DECIMAL.fullmatch(text) else math.nan if text else 0


def parse_int(value: Any, radix: Any = None) -> int | float:
    """What JavaScript's `parseInt(value, radix)` gives: NaN for text that does not begin with a number."""
    found = INTEGER.match(to_text(value))
    assert found is not None
    sign, prefix, digits = found.groups("")
    wanted = to_number(radix)
    base = (int(wanted) if math.isfinite(wanted) else 0) or (16 if prefix else 10)
    if not 2 <= base <= 36:
        return math.nan
    digits = digits if base == 16 else prefix + digits
    digits = "".join(itertools.takewhile(lambda digit: int(digit, 36) < base, digits))
    if not digits:
        return math.nan
    digits = digits.lstrip("0")[:1100]  # as many make Infinity in each base
    try:
        number = float(int(digits or "0", base))
    except OverflowError:
        number = math.inf
    return whole(-number if sign == "-" else number)


def to_int32(value: Any) -> int:
    """A number of an `int` parameter: cut to an integer, what is no number is 0; TypeError when it is out of range."""
    number = to_number(value)
    if not math.isfinite(number):
        return 0
    cut = int(number)
    if not INT32_MIN <= cut <= INT32_MAX:
        raise type_error(f"Value out of range. Must be between {INT32_MIN} and {INT32_MAX} (inclusive).")
    return cut


def to_string(value: Any) -> str:
    """Text of a text parameter; lone surrogates, which no UTF-8 can hold, are replaced."""
    text = value if type(value) is str else to_text(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def optional_text(value: Any) -> str | None:
    """Text, or None for null and undefined."""
    return None if is_nullish(value) else to_string(value)
