"""Checkpoints of a write-ahead log in a thread, so that the loop need not stand still."""

from __future__ import annotations

import threading
from contextlib import closing, suppress

import apsw


class Checkpoints:
    """Copies the log into the file, which waits for the disk twice, ten milliseconds and more.

    SQLite begins the log anew when a checkpoint has reached its end between two commits. As long as commits come too
    densely for that the log grows; at `LIMIT` times the usual size a commit does the rest itself.
    """

    PAGES = 4_000  # of the log, between two checkpoints
    LIMIT = 4

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen = 0  # pages of the log when the last checkpoint began
        self._thread: threading.Thread | None = None

    def grown(self, connection: apsw.Connection, name: str, pages: int) -> int:
        """SQLite's `wal_hook`: called after each commit."""
        if pages < self._seen:
            self._seen = 0  # the log began anew
        if pages < self._seen + self.PAGES or (self._thread is not None and self._thread.is_alive()):
            return apsw.SQLITE_OK
        self._seen = pages
        if pages < self.LIMIT * self.PAGES:
            self._thread = threading.Thread(target=self._checkpoint, name="checkpoint", daemon=True)
            self._thread.start()
        else:
            with suppress(apsw.BusyError):  # another program does it
                connection.wal_checkpoint(name)
        return apsw.SQLITE_OK

    def close(self) -> None:
        """Wait for a checkpoint that has begun."""
        if self._thread is not None:
            self._thread.join()

    def _checkpoint(self) -> None:
        with closing(apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.execute("PRAGMA wal_checkpoint")  # SQL: `wal_checkpoint()` does nothing before a first read
