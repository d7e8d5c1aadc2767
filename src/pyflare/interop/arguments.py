"""Arguments of a binding's methods, as the runtime takes them.

A method of Cloudflare's that gives a promise never raises at the call: a refused argument rejects the promise. And the
runtime converts: `None`'s `null` is the number 0, a number is text where text is wanted.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

from pyflare.interop.containers import to_text
from pyflare.interop.errors import type_error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import fold, is_nullish, jsnull

F = TypeVar("F", bound=Callable[..., Any])

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


def to_number(value: Any) -> float | int:
    """What JavaScript's `Number(value)` gives."""
    if isinstance(value, (int, float)):
        return value
    if value is jsnull:
        return 0
    if value is None:
        return math.nan
    try:
        text = to_text(value).strip()
        return float(text) if text else 0
    except ValueError:
        return math.nan


def to_int32(value: Any) -> int:
    """A number of an `int` parameter: cut to an integer, what is no number is 0; TypeError when it is out of range."""
    number = to_number(value)
    if not math.isfinite(number):
        return 0
    whole = int(number)
    if not INT32_MIN <= whole <= INT32_MAX:
        raise type_error(f"Value out of range. Must be between {INT32_MIN} and {INT32_MAX} (inclusive).")
    return whole


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
