"""Messages that were received, sent, forwarded and replied: a list, and the messages as files beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyflare.storage.database import Database

MIGRATIONS = (
    """
    CREATE TABLE messages (
        id TEXT PRIMARY KEY, -- also the name of the file
        kind TEXT NOT NULL, -- received, rejected, sent, forwarded, replied
        sender TEXT NOT NULL,
        recipients TEXT NOT NULL, -- JSON array
        subject TEXT NOT NULL,
        timestamp REAL NOT NULL -- seconds since the Unix epoch
    ) STRICT;
    """,
)

INSERT = "INSERT INTO messages (id, kind, sender, recipients, subject, timestamp) VALUES (?, ?, ?, ?, ?, ?)"
SET_KIND = "UPDATE messages SET kind = ? WHERE id = ?"
LATEST = "SELECT id, kind, sender, recipients, subject, timestamp FROM messages ORDER BY rowid DESC LIMIT ?"


@dataclass(frozen=True, slots=True)
class Kept:
    id: str
    kind: str
    sender: str
    recipients: Sequence[str]
    subject: str
    timestamp: float


class EmailStore:
    def __init__(self, path: Path | str, folder: Path, durability: str = "normal") -> None:
        self.database = Database(path, migrations=MIGRATIONS, durability=durability)
        self._folder = folder

    def add(self, message: Kept, raw: bytes) -> Path:
        """Keep a message; the file that holds it."""
        path = self._folder / f"{message.id}.eml"
        path.write_bytes(raw)
        recipients = json.dumps(list(message.recipients))
        values = (message.id, message.kind, message.sender, recipients, message.subject, message.timestamp)
        self.database.execute(INSERT, values)
        return path

    def set_kind(self, message_id: str, kind: str) -> None:
        self.database.execute(SET_KIND, (kind, message_id))

    def latest(self, limit: int) -> list[Kept]:
        """The newest first."""
        rows = self.database.execute(LATEST, (limit,))
        return [
            Kept(message_id, kind, sender, json.loads(recipients), subject, timestamp)
            for message_id, kind, sender, recipients, subject, timestamp in rows
        ]

    def raw(self, message_id: str) -> bytes | None:
        try:
            return (self._folder / f"{message_id}.eml").read_bytes()
        except OSError:
            return None

    def close(self) -> None:
        self.database.close()
