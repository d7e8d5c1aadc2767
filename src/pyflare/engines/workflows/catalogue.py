"""What people and programs see of the instances: lists, counts, the log, the events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyflare.engines.workflows.rows import Entry, Instance
from pyflare.storage.database import Database

SHOWN_STATUS = """
    CASE WHEN status = 'running' AND EXISTS (
            SELECT 1 FROM steps WHERE instance = instances.id AND kind IN ('sleep', 'event') AND state = 'waiting')
        AND NOT EXISTS (SELECT 1 FROM steps WHERE instance = instances.id AND state = 'running')
    THEN 'waiting' ELSE status END"""
LIST = f"""
    SELECT id, workflow, name, {SHOWN_STATUS} AS shown, awake, created_at, started_at, ended_at, paused_at, rollback,
        rollback_error, error, output
    FROM instances WHERE workflow = :workflow AND (:status IS NULL OR shown = :status)
    ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset"""
COUNTS = f"SELECT {SHOWN_STATUS} AS shown, count(*) FROM instances WHERE workflow = ? GROUP BY shown"
LOG = "SELECT seq, at, event, step, attempt, detail FROM log WHERE instance = ? ORDER BY seq"
EVENTS = "SELECT id, type, at, step FROM events WHERE instance = ? ORDER BY id"


class Catalogue:
    """A part of the store that only reads."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def list(self, workflow: str, status: str | None = None, limit: int = 100, offset: int = 0) -> Sequence[Instance]:
        """The latest first; `status` as shown, so with `waiting`."""
        rows = self._db.execute(LIST, {"workflow": workflow, "status": status, "limit": limit, "offset": offset})
        return [Instance(*row) for row in rows]

    def counts(self, workflow: str) -> Mapping[str, int]:
        """status -> how many."""
        return dict(self._db.execute(COUNTS, (workflow,)))

    def log(self, instance: int) -> Sequence[Entry]:
        return [Entry(*row) for row in self._db.execute(LOG, (instance,))]

    def events(self, instance: int) -> Sequence[tuple[int, str, float, int | None]]:
        """(id, type, time, the wait that took it)."""
        return [(id, type, at, step) for id, type, at, step in self._db.execute(EVENTS, (instance,))]
