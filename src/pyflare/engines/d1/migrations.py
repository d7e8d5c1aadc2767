"""Migrations: numbered SQL files, and the table that remembers which were applied.

As wrangler does it (`d1/migrations/helpers.ts`).
Names are paths below the folder of the migrations, with forward slashes. Each file runs in one transaction with the row
that records it: one that fails leaves nothing.
"""

from __future__ import annotations

import fnmatch
import math
import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyflare.engines.d1.config import DEFAULT_MIGRATIONS_DIR, D1Binding
from pyflare.engines.d1.script import Outcome, is_left_open, run_script
from pyflare.engines.d1.store import D1Fault, D1Store, quoted
from pyflare.errors import ConfigError, EngineError


class Database(Protocol):
    """What migrations are applied to: a file, or one that a server holds."""

    def run(self, text: str) -> Outcome:
        """All statements of a text or none."""
        ...


@dataclass(frozen=True)
class DatabaseFile:
    """A database whose file this process has opened. `progress` is told how many statements have run."""

    store: D1Store
    progress: Callable[[int], None] | None = None

    def run(self, text: str) -> Outcome:
        try:
            return run_script(self.store, text, self.progress)
        except D1Fault as fault:
            raise EngineError(fault.message) from None


@dataclass(frozen=True)
class Migrations:
    """Where the migrations of a database are."""

    folder: Path
    pattern: str  # of names, relative to the folder
    table: str

    @classmethod
    def of(cls, binding: D1Binding, root: Path) -> Migrations:
        """`root`: the folder of the configuration. Raises `ConfigError`."""
        directory = normal(binding.migrations_dir or DEFAULT_MIGRATIONS_DIR)
        prefix = "" if directory == "." else f"{directory}/"
        if binding.migrations_pattern is None:
            return cls(root / directory, "*.sql", binding.migrations_table)
        if binding.migrations_dir is None:
            raise ConfigError(
                f'`migrations_pattern: "{binding.migrations_pattern}"` is set without `migrations_dir`; '
                'add for example "migrations_dir": "migrations", which the pattern has to begin with'
            )
        pattern = normal(binding.migrations_pattern)
        if not pattern.startswith(prefix):
            raise ConfigError(
                f'`migrations_pattern: "{binding.migrations_pattern}"` must start with `{prefix}` to match '
                f'"migrations_dir": "{binding.migrations_dir}", for example "{prefix}*.sql"'
            )
        return cls(root / directory, pattern.removeprefix(prefix), binding.migrations_table)

    def names(self) -> list[str]:
        """All migrations there are, in the order in which they are applied."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        names = (path.relative_to(self.folder).as_posix() for path in found)
        return sorted((name for name in names if matches(name, self.pattern)), key=order)

    def next_name(self, message: str) -> str:
        """The name of a new migration. Raises `ConfigError` for one that `apply` would not find."""
        if re.search(r"[\\/]", message):
            raise ConfigError(
                f'The migration name "{message}" contains a path separator ("/" or "\\"). '
                "Please remove this and try again."
            )
        numbers = [number for number in (leading_number(name) for name in self.names()) if math.isfinite(number)]
        name = f"{int(max(numbers, default=0)) + 1:04}_{message.replace(' ', '_')}.sql"
        if not matches(name, self.pattern):
            raise ConfigError(f"{name} would not match the configured `migrations_pattern`, so it would not be applied")
        return name

    # --- the table --------------------------------------------------------------------------------------------------

    def unapplied(self, database: Database) -> list[str]:
        """Migrations that the database has not seen; makes the table that says so."""
        rows = database.run(f"{self._create()}\nSELECT name FROM {quoted(self.table)} ORDER BY id").last
        applied = {name for (name,) in rows}
        return [name for name in self.names() if name not in applied]

    def apply(self, database: Database, name: str) -> int:
        """Run one and record it; how many statements that were."""
        text = (self.folder / name).read_bytes().decode("utf-8-sig", "replace")
        record = f"INSERT INTO {quoted(self.table)} (name) VALUES ('{name.replace(chr(39), chr(39) * 2)}');"
        # First and on the same line: a string that the file leaves open cannot reach it, and lines keep their numbers.
        # wrangler writes it behind the file, where it is a syntax error after a statement without a semicolon.
        behind = "\nINSERT" if is_left_open(text) else ""
        return len(database.run(f"{record} {text}{behind}"))

    def apply_all(self, database: Database) -> list[str]:
        """Run what the database has not seen; the names."""
        names = self.unapplied(database)
        for name in names:
            self.apply(database, name)
        return names

    def _create(self) -> str:
        return f"""CREATE TABLE IF NOT EXISTS {quoted(self.table)}(
\t\tid         INTEGER PRIMARY KEY AUTOINCREMENT,
\t\tname       TEXT UNIQUE,
\t\tapplied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
);"""


def normal(path: str) -> str:
    """A relative path or pattern with forward slashes, without `./` and without a slash at its end."""
    return posixpath.normpath(path.replace("\\", "/"))


def matches(name: str, pattern: str) -> bool:
    return _match(name.split("/"), pattern.split("/"))


def _match(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    first, *rest = patterns
    if first == "**":
        return any(_match(parts[skipped:], rest) for skipped in range(len(parts) + 1))
    if not parts or (parts[0].startswith(".") and not first.startswith(".")):
        return False
    return fnmatch.fnmatchcase(parts[0], first) and _match(parts[1:], rest)


def leading_number(name: str) -> float:
    """The number that a name begins with; infinite without one, which sorts such names last."""
    found = re.match(r"\s*(\d+)", name)
    return int(found[1]) if found else math.inf


def order(name: str) -> list[tuple[float, str]]:
    return [(leading_number(part), part) for part in name.split("/")]
