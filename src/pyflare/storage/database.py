"""One SQLite file.

SQLite comes with `apsw`. Files are in WAL mode with `synchronous=NORMAL`, which survives a killed process;
`durability="full"` syncs each commit, as workerd does. Everything runs on the caller's thread and reads its statement
to the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import apsw

from pyflare.storage.checkpoints import Checkpoints

Row = tuple[Any, ...]
Params = Sequence[Any] | dict[str, Any]

BUSY_TIMEOUT_MS = 2_000  # a foreign writer (wrangler, a database viewer) holds the file for that long at most


class Database:
    """A connection with the few verbs that stores need.

    `schema` is run at every open and must be idempotent (the schemas that wrangler shares). `migrations` are run once
    each, in order, counted in `user_version` (our own files).
    """

    def __init__(
        self,
        path: Path | str,
        *,
        schema: str = "",
        migrations: Sequence[str] = (),
        durability: str = "normal",
        readonly: bool = False,
    ) -> None:
        self.path = str(path)
        self._syncs = durability == "full" and not readonly
        flags = apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self.raw = apsw.Connection(self.path, flags=flags)
        self.raw.transaction_mode = "IMMEDIATE"
        self._cursor = self.raw.cursor()  # of `execute`, which needs no other: it reads to the end
        self._checkpoints: Checkpoints | None = None
        self.raw.set_busy_timeout(BUSY_TIMEOUT_MS)
        if readonly:
            return
        # Making a file costs several syncs, milliseconds each, which only a power cut could miss.
        self.raw.execute(f"PRAGMA synchronous={'FULL' if self._syncs else 'OFF'}")
        if self.path != ":memory:":
            self.raw.execute("PRAGMA journal_mode=WAL")
        if schema:
            self.raw.execute(schema)
        self._migrate(migrations)
        if not self._syncs:
            self.raw.execute("PRAGMA synchronous=NORMAL")

    def execute(self, sql: str, params: Params = ()) -> list[Row]:
        """Run one statement to its end; its rows."""
        return self._cursor.execute(sql, params).fetchall()

    def one(self, sql: str, params: Params = ()) -> Row | None:
        """The first row, or None."""
        cursor = self.raw.execute(sql, params)
        row = cursor.fetchone()
        cursor.close()
        return row

    def value(self, sql: str, params: Params = ()) -> Any:
        """The first column of the first row, or None."""
        row = self.one(sql, params)
        return None if row is None else row[0]

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        self.raw.executemany(sql, rows)

    @property
    def changes(self) -> int:
        """Rows that the last statement changed."""
        return self.raw.changes()

    def transaction(self) -> AbstractContextManager[object]:
        """All or nothing; nested ones are savepoints."""
        return self.raw

    @contextmanager
    def unsynced(self) -> Iterator[None]:
        """Around a transaction that need not wait for the disk, whatever the durability, since its loss in a power cut
        only repeats work."""
        if not self._syncs:
            yield
            return
        self.execute("PRAGMA synchronous=NORMAL")
        try:
            yield
        finally:
            self.execute("PRAGMA synchronous=FULL")

    def checkpoint_aside(self) -> None:
        """Have checkpoints in a thread; for files that are written all the time."""
        self._checkpoints = Checkpoints(self.path)
        self.raw.set_wal_hook(self._checkpoints.grown)

    def close(self) -> None:
        if self._checkpoints is not None:
            self._checkpoints.close()
        self.raw.close()

    def _migrate(self, migrations: Sequence[str]) -> None:
        done = self.value("PRAGMA user_version")
        for number, script in enumerate(migrations[done:], start=done + 1):
            with self.transaction():
                self.raw.execute(script)
                self.raw.execute(f"PRAGMA user_version={number}")
