"""Faults and warnings of a configuration, collected with their path and shown together."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pyflare.errors import ConfigError


class Diagnostics:
    """Collects; `check()` raises one `ConfigError` with all faults. A path looks so: `queues.consumers[0].queue`."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.faults: list[str] = []
        self.warnings: list[str] = []
        self._paths: list[str] = []

    def fault(self, path: str, message: str) -> None:
        self.faults.append(f"{path}: {message}" if path else message)
        self._paths.append(path)

    def warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)

    def faulty(self, keys: Iterable[str]) -> bool:
        """Whether something is wrong below one of these keys, at the top or in an environment."""
        wanted = frozenset(keys)
        return any(_key(path) in wanted for path in self._paths)

    def located(self) -> list[str]:
        """The faults, each with the file that it is in."""
        return [f"{self._where()}{fault}" for fault in self.faults]

    def located_warnings(self) -> list[str]:
        return [f"{self._where()}{warning}" for warning in self.warnings]

    def check(self) -> None:
        if self.faults:
            raise ConfigError(*self.located())

    def _where(self) -> str:
        return f"{self.file}: " if self.file else ""


def _key(path: str) -> str:
    parts = path.split(".")
    if parts[0] == "env" and len(parts) > 2:
        parts = parts[2:]
    return parts[0].partition("[")[0]
