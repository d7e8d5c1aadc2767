"""D1: SQL databases. developers.cloudflare.com/d1

A database is one SQLite file, the one that wrangler's local mode uses; other processes may write it at any time. Every
request (a statement, a `batch`, an `exec`) is one transaction. Left out: replicas, time travel, `dump()`, which
production does not serve any more either.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    # `pyflare d1` works on the files alone: the layer that workers see would be most of its start.
    if name == "ENGINE":
        from pyflare.engines.d1.engine import D1  # noqa: PLC0415

        return D1
    raise AttributeError(name)
