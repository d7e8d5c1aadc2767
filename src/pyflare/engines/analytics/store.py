"""Data points of all datasets, in a file of our own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pyflare.storage.database import Database

MIGRATIONS = (
    """
    CREATE TABLE points (
        id INTEGER PRIMARY KEY,
        dataset TEXT NOT NULL,
        timestamp REAL NOT NULL, -- seconds since the Unix epoch
        index1 TEXT NOT NULL,
        blobs TEXT NOT NULL, -- JSON array of text and null
        doubles TEXT NOT NULL -- JSON array of numbers
    ) STRICT;
    CREATE INDEX points_by_dataset ON points(dataset, id);
    CREATE INDEX points_by_timestamp ON points(timestamp);
    """,
)

INSERT = "INSERT INTO points (dataset, timestamp, index1, blobs, doubles) VALUES (?, ?, ?, ?, ?)"
DELETE_OLDER = "DELETE FROM points WHERE timestamp < ?"
LATEST = "SELECT timestamp, index1, blobs, doubles FROM points WHERE dataset = ? ORDER BY id DESC LIMIT ?"


Point = tuple[float, str, list[str | None], list[float]]  # time, index, blobs, doubles


class AnalyticsStore:
    def __init__(self, path: Path | str, durability: str = "normal") -> None:
        self.database = Database(path, migrations=MIGRATIONS, durability=durability)

    def add(self, dataset: str, now: float, index: str, blobs: Sequence[str | None], doubles: Sequence[float]) -> None:
        self.database.execute(INSERT, (dataset, now, index, json.dumps(blobs), json.dumps(doubles)))

    def latest(self, dataset: str, limit: int) -> list[Point]:
        """The newest first."""
        rows = self.database.execute(LATEST, (dataset, limit))
        return [(when, index, json.loads(blobs), json.loads(doubles)) for when, index, blobs, doubles in rows]

    def delete_older(self, than: float) -> None:
        self.database.execute(DELETE_OLDER, (than,))

    def close(self) -> None:
        self.database.close()
