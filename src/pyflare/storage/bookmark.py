"""Bookmarks of a D1 database or a Durable Object: a counter in the file, written as production writes bookmarks.

Later ones sort after earlier ones, across restarts too; nothing can be restored from them (workerd
`io/actor-sqlite.c++`, `getCurrentBookmark`).
"""

from __future__ import annotations

from pyflare.storage.database import Database

METADATA = "CREATE TABLE IF NOT EXISTS _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB)"
HAS_METADATA = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_cf_METADATA'"
READ = "SELECT value FROM _cf_METADATA WHERE key = 2"
ADVANCE = """
    INSERT INTO _cf_METADATA (key, value) VALUES (2, 1)
    ON CONFLICT (key) DO UPDATE SET value = value + 1
"""

HALF = 2**32 - 1  # workerd divides by this, not by 2**32


def current(database: Database) -> str:
    """The bookmark as it stands; nothing is written."""
    return text(database.value(READ) or 0) if database.value(HAS_METADATA) else text(0)


def advance(database: Database) -> str:
    """The next bookmark; a write."""
    database.execute(METADATA)
    database.execute(ADVANCE)
    return text(database.value(READ))


def text(counter: int) -> str:
    """`00000000-00000001-00000000-` and 32 zeros."""
    return f"{counter // HALF:08x}-{counter % HALF:08x}-{0:08x}-{'0' * 32}"
