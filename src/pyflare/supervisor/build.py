"""`build.command`: runs in the shell, in the host's environment, before the worker is loaded."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pyflare.log import Log


def run_build(log: Log, command: str, cwd: str | Path | None) -> bool:
    """Whether it succeeded; a failure is told, and what the command left behind is served."""
    log.info(f"Running custom build: {command}")
    status = subprocess.run(command, shell=True, cwd=cwd, check=False).returncode
    if status:
        log.error(f"{command!r} failed with status {status}")
    return status == 0
