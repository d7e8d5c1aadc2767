"""The results of steps that are streams."""

from __future__ import annotations

from pyflare.storage.database import Database

INSERT = "INSERT OR REPLACE INTO chunks (step, number, data) VALUES (?, ?, ?)"
CHUNK = "SELECT data FROM chunks WHERE step = ? AND number = ?"
DROP = "DELETE FROM chunks WHERE step = ?"


class Chunks:
    """A part of the store: the chunks of a stream, numbered from 0."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, step: int, number: int, data: bytes) -> None:
        self._db.execute(INSERT, (step, number, data))

    def get(self, step: int, number: int) -> bytes | None:
        data: bytes | None = self._db.value(CHUNK, (step, number))
        return data

    def drop(self, step: int) -> None:
        self._db.execute(DROP, (step,))
