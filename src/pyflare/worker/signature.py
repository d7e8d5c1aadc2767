"""How Cloudflare calls the handlers of classes, and what to say of one that cannot be called so."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

ARGUMENTS = {
    "fetch": ("request",),
    "queue": ("batch", "env", "ctx"),
    "scheduled": ("controller", "env", "ctx"),
    "email": ("message", "env", "ctx"),
    "tail": ("events", "env", "ctx"),
    "alarm": ("info",),
    "webSocketMessage": ("ws", "message"),
    "webSocketClose": ("ws", "code", "reason", "was_clean"),
    "webSocketError": ("ws", "error"),
}
# These get exactly their arguments, the others as many of them as they take.
STRICT = tuple(name for name, arguments in ARGUMENTS.items() if len(arguments) == 3)
COUNTED = ("no arguments", "one argument", "two arguments", "three arguments", "four arguments")


def first_line(name: str) -> str:
    """The first line of a handler as Cloudflare calls it."""
    return f"async def {name}(self, {', '.join(ARGUMENTS[name])}):"


def accepts(function: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    return True


def explain(raised: TypeError, handler: Callable[..., Any], name: str, count: int) -> None:
    """A note that says where the handler is and how it is written, if it cannot be called with `count` arguments."""
    if name not in ARGUMENTS or accepts(handler, count):
        return
    code = getattr(inspect.unwrap(handler), "__code__", None)
    where = f"{Path(code.co_filename).name}:{code.co_firstlineno}: " if code is not None else ""
    wanted = COUNTED[len(ARGUMENTS[name])]
    raised.add_note(f"{where}Cloudflare calls it with {wanted}: write `{first_line(name)}`")
