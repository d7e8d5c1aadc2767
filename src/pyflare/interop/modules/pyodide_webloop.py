"""`import pyodide.webloop`: the class that `asyncio.new_event_loop()` gives inside a worker."""

from __future__ import annotations

from pyflare.worker.loops import WebLoop

__all__ = ["WebLoop"]
