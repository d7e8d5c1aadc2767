"""`import pyodide`."""

from __future__ import annotations

__version__ = "0.28.2"
__path__: list[str] = []
__all__ = ["__version__"]
