"""What the global scope of a worker, where its modules are imported, may not do: anything that reaches outside."""

from __future__ import annotations

from pyflare.interop import scope
from pyflare.interop.errors import error

GLOBAL_SCOPE = (
    "Disallowed operation called within global scope. Asynchronous I/O (ex: fetch() or connect()), setting a timeout, "
    "and generating random values are not allowed within global scope. To fix this error, perform this operation "
    "within a handler. https://developers.cloudflare.com/workers/runtime-apis/handlers/"
)


def check_not_global() -> None:
    """JsException while the module of a worker is imported."""
    running = scope.current.get()
    if running is not None and running.global_scope:
        raise error(GLOBAL_SCOPE)
