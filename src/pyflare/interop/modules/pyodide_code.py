"""`import pyodide.code`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def relaxed_call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `function` with as many of the positional arguments as it takes."""
    return function(*args[: positional_count(function, len(args))], **kwargs)


def positional_count(function: Callable[..., Any], most: int) -> int:
    """How many positional arguments `function` takes, `most` at the most."""
    count = 0
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            return most
        count += parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    return min(count, most)


def run_js(code: str, /) -> Any:
    """Refused, as on Cloudflare: code generation from strings is disallowed there."""
    raise RuntimeError("run_js: code generation from strings is disallowed for this context")
