"""Faults and warnings of a configuration, collected with their path and shown together."""

from __future__ import annotations

from pathlib import Path

from pyflare.errors import ConfigError


class Diagnostics:
    """Collects; `check()` raises one `ConfigError` with every fault. Paths look like `queues.consumers[0].max_retries`."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.faults: list[str] = []
        self.warnings: list[str] = []

    def fault(self, path: str, message: str) -> None:
        self.faults.append(f"{path}: {message}" if path else message)

    def warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)

    def check(self) -> None:
        if self.faults:
            where = f"{self.file}: " if self.file else ""
            raise ConfigError(*(f"{where}{fault}" for fault in self.faults))
