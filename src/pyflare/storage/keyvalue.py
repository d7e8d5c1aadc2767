"""Keys with a value, an expiry and metadata: what KV, the cache and the secrets store keep.

Schema and files are those of wrangler's local mode, which reads and writes the same folder. `now` and expiries are
seconds since the Unix epoch here and milliseconds in the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyflare.storage.blobs import BlobStore, BlobWriter
from pyflare.storage.database import Database

SCHEMA = """
CREATE TABLE IF NOT EXISTS _mf_entries (
  key TEXT PRIMARY KEY,
  blob_id TEXT NOT NULL,
  expiration INTEGER,
  metadata TEXT
);
CREATE INDEX IF NOT EXISTS _mf_entries_expiration_idx ON _mf_entries(expiration);
"""

GET = "SELECT key, blob_id, expiration, metadata FROM _mf_entries WHERE key = ?"
PREVIOUS = "SELECT blob_id, expiration FROM _mf_entries WHERE key = ?"
# An update in place touches one page where a replacement touches three, and one that changes the expiry two.
REPLACE = "UPDATE _mf_entries SET blob_id = ?, metadata = ? WHERE key = ?"
PUT = """
INSERT INTO _mf_entries (key, blob_id, expiration, metadata) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE
SET blob_id = excluded.blob_id, expiration = excluded.expiration, metadata = excluded.metadata
"""
DELETE = "DELETE FROM _mf_entries WHERE key = ? RETURNING blob_id, expiration"
DELETE_EXPIRED = "DELETE FROM _mf_entries WHERE expiration <= ? RETURNING blob_id"
DELETE_ALL = "DELETE FROM _mf_entries RETURNING blob_id"
LIST = """
SELECT key, blob_id, expiration, metadata FROM _mf_entries
WHERE key >= :prefix AND key > :after AND (:end IS NULL OR key < :end) AND (expiration IS NULL OR expiration > :now)
ORDER BY key LIMIT :limit
"""
COUNT = "SELECT count(*) FROM _mf_entries WHERE expiration IS NULL OR expiration > ?"


@dataclass(frozen=True, slots=True)
class Entry:
    """A row; `metadata` is JSON text, `expiration` is in milliseconds."""

    key: str
    blob_id: str
    expiration: int | None = None
    metadata: str | None = None

    def expired(self, now: float) -> bool:
        return self.expiration is not None and self.expiration <= now * 1000


class KeyValueStore:
    """One namespace: a database and a folder of blobs."""

    def __init__(self, database: Path | str, blobs: Path, durability: str = "normal") -> None:
        self.database = Database(database, schema=SCHEMA, durability=durability)
        self.blobs = BlobStore(blobs, durability)

    def get(self, key: str, now: float) -> Entry | None:
        """The live entry of a key. An expired one is removed."""
        row = self.database.one(GET, (key,))
        if row is None:
            return None
        entry = Entry(*row)
        if entry.expired(now):
            self.delete(key, now)
            return None
        return entry

    def put(
        self, key: str, value: bytes, now: float, expiration: float | None = None, metadata: str | None = None
    ) -> None:
        self._insert(key, self.blobs.put(value, now), expiration, metadata)

    def put_written(
        self, key: str, value: BlobWriter, expiration: float | None = None, metadata: str | None = None
    ) -> None:
        """Like `put`, with a value that was written piece by piece."""
        value.close()
        self._insert(key, value.id, expiration, metadata)

    def delete(self, key: str, now: float) -> bool:
        """Whether there was a live entry."""
        row = self.database.one(DELETE, (key,))
        if row is None:
            return False
        blob_id, expiration = row
        self.blobs.delete((blob_id,))
        return expiration is None or expiration > now * 1000

    def list(self, now: float, prefix: str = "", after: str = "", limit: int = 1000) -> tuple[Sequence[Entry], bool]:
        """Live entries behind the key `after`, in byte order, and whether there are more."""
        self._delete_expired(now)
        params = {
            "prefix": prefix,
            "after": after,
            "end": end_of_prefix(prefix),
            "now": int(now * 1000),
            "limit": limit + 1,
        }
        rows = self.database.execute(LIST, params)
        return [Entry(*row) for row in rows[:limit]], len(rows) > limit

    def count(self, now: float) -> int:
        return int(self.database.value(COUNT, (int(now * 1000),)))

    def clear(self) -> int:
        """Remove everything; how many entries there were."""
        rows = self.database.execute(DELETE_ALL)
        self.blobs.delete(row[0] for row in rows)
        return len(rows)

    def close(self) -> None:
        self.blobs.close()
        self.database.close()

    def _insert(self, key: str, blob_id: str, expiration: float | None, metadata: str | None) -> None:
        milliseconds = None if expiration is None else int(expiration * 1000)
        try:
            with self.database.transaction():
                previous = self.database.one(PREVIOUS, (key,))
                if previous is not None and previous[1] == milliseconds:
                    self.database.execute(REPLACE, (blob_id, metadata, key))
                else:
                    self.database.execute(PUT, (key, blob_id, milliseconds, metadata))
        except BaseException:
            self.blobs.delete((blob_id,))
            raise
        if previous is not None:
            self.blobs.replaced((previous[0],))

    def _delete_expired(self, now: float) -> None:
        rows = self.database.execute(DELETE_EXPIRED, (int(now * 1000),))
        self.blobs.delete(row[0] for row in rows)


def end_of_prefix(prefix: str) -> str | None:
    """The least text that is greater than everything that starts with `prefix`; None when there is none."""
    stem = prefix.rstrip("\U0010ffff")
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    if 0xD800 <= following <= 0xDFFF:  # surrogates are no characters
        following = 0xE000
    return stem[:-1] + chr(following)
