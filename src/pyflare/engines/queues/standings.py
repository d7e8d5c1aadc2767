"""The table `queues`: what is set for each queue, and how many messages left it without an acknowledgement."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace
from typing import Any

from pyflare.engines.queues.rows import NO_STANDING, Standing
from pyflare.storage.database import Database

COLUMNS = [field.name for field in fields(Standing)]
LOAD = f"SELECT name, {', '.join(COLUMNS)} FROM queues"
SET = {
    column: f"""
    INSERT INTO queues (name, {column}) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET {column} = excluded.{column}"""
    for column in COLUMNS
}
FORGET = "DELETE FROM queues WHERE name = ?"


class Standings:
    """Read once, when the store is opened."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._known = {name: Standing(bool(paused), *rest) for name, paused, *rest in db.execute(LOAD)}

    def names(self) -> Collection[str]:
        """The queues that have one of their own."""
        return self._known.keys()

    def of(self, queue: str) -> Standing:
        return self._known.get(queue, NO_STANDING)

    def set(self, queue: str, column: str, value: Any) -> None:
        self._db.execute(SET[column], (queue, value))
        self._known[queue] = replace(self.of(queue), **{column: value})

    def add(self, queue: str, column: str, count: int) -> None:
        self.set(queue, column, getattr(self.of(queue), column) + count)

    def forget(self, queue: str) -> None:
        self._db.execute(FORGET, (queue,))
        self._known.pop(queue, None)
