"""`import _cloudflare_compat_flags`: every flag as an attribute, True or False for the worker that runs now."""

from __future__ import annotations

from pyflare.interop import scope


def __getattr__(name: str) -> bool:
    if name.startswith("__"):
        raise AttributeError(name)
    return scope.enabled(name)
