"""`build.command`: runs in the shell, in the host's environment, before the worker is loaded."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pyflare.log import Log


def run_build(log: Log, command: str, cwd: str | Path | None) -> str | None:
    """Why it failed; None: it did not."""
    log.info(f"Running custom build: {command}")
    status = subprocess.run(command, shell=True, cwd=cwd, check=False).returncode
    return f"build.command {command!r} failed with status {status}" if status else None
