"""Every exception that pyflare raises on its own side.

    PyflareError
    ├── ConfigError          yours: the configuration, the command line, the files they name
    ├── WorkerError          yours: the worker's code cannot be loaded or answered wrongly
    └── EngineError          ours: a room could not do what it promises
        └── StateInUse       another process holds the state folder

What crosses into worker code is none of these: there Cloudflare's runtime raises `JsException`, `TypeError` or
`OSError`, and so do we (see `interop.errors`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class PyflareError(Exception):
    """The root; `str()` is what the terminal shows."""


class ConfigError(PyflareError):
    """One or more faults, each a sentence that names the file and the key."""

    def __init__(self, *faults: str) -> None:
        self.faults: Sequence[str] = faults
        super().__init__("\n".join(faults))


class WorkerError(PyflareError):
    """The worker's code is at fault; `details` may hold a traceback."""

    def __init__(self, message: str, details: str = "") -> None:
        self.details = details
        super().__init__(message)


class EngineError(PyflareError):
    """A room failed."""


class StateInUse(EngineError):
    """The state folder is held by another `pyflare dev`."""

    def __init__(self, folder: Path, pid: int | None, port: int | None) -> None:
        self.folder, self.pid, self.port = folder, pid, port
        holder = f"pid {pid}" if pid else "another process"
        where = f" on port {port}" if port else ""
        super().__init__(
            f"State folder {folder} is in use by {holder}{where}; stop it, give another --persist-to, "
            "or serve several workers with one `pyflare dev -c … -c …`"
        )
