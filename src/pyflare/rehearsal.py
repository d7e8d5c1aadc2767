"""Loads workers as `pyflare dev` would, in a state folder that is thrown away, to see whether they start."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyflare.clock import SystemClock
from pyflare.config.model import WorkerConfig
from pyflare.config.options import DevOptions
from pyflare.errors import PyflareError, WorkerError
from pyflare.interop import traces
from pyflare.log import Log
from pyflare.server import Server


class _Heard(Log):
    """Notes warnings in place of showing them."""

    def __init__(self) -> None:
        super().__init__("warn")
        self.warnings: list[str] = []

    def line(self, level: str, text: str, **fields: Any) -> None:
        if level == "warn":
            self.warnings.append(text)


def rehearse(configs: Sequence[WorkerConfig], options: DevOptions) -> list[str]:
    """Start the server, and stop it at once; what it warns of the code. Raises what `dev` would tell.

    Nothing is listened on and no event is delivered. What the code prints while it is imported goes to stderr.
    """
    log = _Heard()
    with tempfile.TemporaryDirectory(prefix="pyflare-") as folder, contextlib.redirect_stdout(sys.stderr):
        asyncio.run(_start(configs, options, Path(folder), log))
    return log.warnings


async def _start(configs: Sequence[WorkerConfig], options: DevOptions, state: Path, log: _Heard) -> None:
    server = Server(configs, state=state, options=options, clock=SystemClock(), log=log)
    log.warnings.clear()  # of the configurations, which are the caller's
    try:
        await server.start()
    except PyflareError:
        raise
    except Exception as raised:
        raise WorkerError(traces.render(raised)) from raised
    finally:
        await server.stop()
