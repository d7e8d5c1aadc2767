"""`import pyodide_js`: of Pyodide's own object only what workers may call."""

from __future__ import annotations

from typing import Any

from pyflare.interop.errors import error

version = "0.28.2"


def loadPackage(*_: Any, **__: Any) -> Any:
    """Disabled, as on Cloudflare."""
    raise error("pyodide.loadPackage is disabled")
