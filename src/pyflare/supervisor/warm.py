"""Imports packages ahead: what the runtime before this one had imported, while that one still serves.

A reload then takes as long as the worker's own modules. Only packages of `site-packages` count, which no save changes;
one that cannot be imported is left to the worker, which will say so.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Collection, Sequence

INSTALLED = ("site-packages", "dist-packages")
OWN = "python_modules"  # the worker's: it goes with its modules


def packages_since(before: Collection[str]) -> list[str]:
    """Names of modules of installed packages that were imported since, in the order of their import."""
    found = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name not in before and OWN not in file and any(folder in file for folder in INSTALLED):
            found.append(name)
    return found


def warm(names: Sequence[str], path: Sequence[str]) -> None:
    """Import `names`; `path` is what the worker's packages are found on besides `sys.path`."""
    kept = sys.path[:]
    sys.path[:0] = path
    try:
        for name in names:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    finally:
        sys.path[:] = kept
