"""Counts of one namespace, in the files of wrangler's local mode."""

from __future__ import annotations

from pathlib import Path

from pyflare.storage.database import Database

UNIQUE_KEY = "miniflare-RateLimiterObject"

SCHEMA = """
CREATE TABLE IF NOT EXISTS _mf_ratelimit_buckets (
  key TEXT NOT NULL,
  period INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (key, period)
);
"""

GET = "SELECT count FROM _mf_ratelimit_buckets WHERE key = ? AND period = ? AND epoch = ?"
PUT = "INSERT OR REPLACE INTO _mf_ratelimit_buckets (key, period, epoch, count) VALUES (?, ?, ?, ?)"
DELETE_OLDER = "DELETE FROM _mf_ratelimit_buckets WHERE period = ? AND epoch != ?"
LIST = "SELECT key, period, epoch * period, count FROM _mf_ratelimit_buckets ORDER BY key, period LIMIT ?"


class RatelimitStore:
    def __init__(self, path: Path | str, durability: str = "normal") -> None:
        self.database = Database(path, schema=SCHEMA, durability=durability)

    def take(self, key: str, limit: int, period: int, now: float) -> bool:
        """Count one more within the window of `now`; False, and not counted, when there were `limit` already."""
        epoch = int(now // period)
        with self.database.transaction():
            count = self.database.value(GET, (key, period, epoch))
            if count is None:
                self.database.execute(DELETE_OLDER, (period, epoch))
                count = 0
            if count >= limit:
                return False
            self.database.execute(PUT, (key, period, epoch, count + 1))
        return True

    def list(self, limit: int) -> list[tuple[str, int, int, int]]:
        """(key, period, when its window began, count)."""
        return [(key, period, began, count) for key, period, began, count in self.database.execute(LIST, (limit,))]

    def close(self) -> None:
        self.database.close()
