"""Reading the options objects of `Request` and `Response`, on a path where each microsecond counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyflare.interop.errors import type_error
from pyflare.interop.proxy import JsObject, JsProxy, is_nullish


def _nothing(_name: str) -> None:
    return None


def cf_object(value: Any, owner: str) -> Any:
    """The field `cf` of an options object of type `owner`, which must be an object."""
    if not isinstance(value, (JsProxy, dict)):
        raise type_error(f"Incorrect type for the 'cf' field on '{owner}': the provided value is not of type 'Object'.")
    return value


def reader(settings: Any) -> Callable[[str], Any] | None:
    """A function that gives an option by its name, None for one that is absent; None when `settings` is no object."""
    if settings is None:
        return _nothing
    if type(settings) is JsObject:
        return settings.__dict__.get
    if is_nullish(settings):
        return _nothing
    if isinstance(settings, dict):
        return settings.get
    if isinstance(settings, JsProxy):
        return lambda name: getattr(settings, name, None)
    return None
