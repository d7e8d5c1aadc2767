"""`d1_databases` of the configuration, and D1's limits (those on SQL itself are in `storage.sql_guard`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import enforces_limits, entries
from pyflare.config.model import WorkerConfig

MAX_QUERY_SECONDS = 30.0  # d1/platform/limits, "Maximum SQL query duration"
MAX_DATABASE_BYTES = 10 * 10**9  # d1/platform/limits, "Maximum database size"
BUSY_SECONDS = 10.0  # how long a request waits for another process that writes the file
BUSY_STEP_SECONDS = 0.01

DEFAULT_MIGRATIONS_DIR = "./migrations"
DEFAULT_MIGRATIONS_TABLE = "d1_migrations"

OPTIONAL = {
    "database_name": str,
    "database_id": str,
    "preview_database_id": str,
    "migrations_dir": str,
    "migrations_table": str,
    "migrations_pattern": str,
    "database_internal_env": str,
}


@dataclass(frozen=True)
class D1Binding:
    name: str  # env.NAME
    database: str  # the id that names the file, as in wrangler's local mode
    database_name: str | None = None
    migrations_dir: str | None = None
    migrations_table: str = DEFAULT_MIGRATIONS_TABLE
    migrations_pattern: str | None = None


@dataclass(frozen=True)
class D1Config:
    bindings: Sequence[D1Binding] = ()
    enforce_limits: bool = True

    def find(self, name: str) -> D1Binding | None:
        """The database of this name, or bound under it."""
        return next((one for one in self.bindings if name in (one.database_name, one.name)), None)


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> D1Config:
    found = entries(config, "d1_databases", diagnostics, required={"binding": str}, optional=OPTIONAL)
    return D1Config([_binding(entry) for _, entry in found], enforces_limits(config))


def _binding(entry: dict[str, str]) -> D1Binding:
    return D1Binding(
        name=entry["binding"],
        database=entry.get("preview_database_id") or entry.get("database_id") or entry["binding"],
        database_name=entry.get("database_name"),
        migrations_dir=entry.get("migrations_dir"),
        migrations_table=entry.get("migrations_table") or DEFAULT_MIGRATIONS_TABLE,
        migrations_pattern=entry.get("migrations_pattern"),
    )
