"""The messages: one SQLite file, every statement of the room.

A row is a message in one queue. `due_at` says when it may be delivered; while a worker holds it, `lease` names the
batch and `due_at` is HELD; while an HTTP consumer holds it, `due_at` is the end of its visibility time-out, after which
it is due again by itself. `attempts` counts the deliveries begun, so a crash in the middle of one has counted it. All
times are seconds since the epoch and parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import apsw

from pyflare.engines.queues.rows import NO_TALLY, Buried, Draft, Fate, Listed, Row, Spent, Taken, Tally
from pyflare.engines.queues.standings import Standings
from pyflare.storage.database import Database

HELD = 1e12  # later than any time; a row of this time is not in the index of times

Busy = apsw.BusyError  # another program writes to the file, and has for seconds

MIGRATIONS = (
    """
    CREATE TABLE messages (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,   -- order of arrival
        queue TEXT NOT NULL,
        due_at REAL NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        lease INTEGER,                           -- NULL: waits
        id TEXT NOT NULL,                        -- 32 hex digits; kept in dead letters
        content_type TEXT NOT NULL,
        size INTEGER NOT NULL,                   -- bytes of the body
        sent_at REAL NOT NULL,                   -- what the consumer sees; kept in dead letters
        arrived_at REAL NOT NULL,                -- in this queue; retention counts from here
        origin TEXT,                             -- the queue in which it died
        body BLOB NOT NULL                       -- last: a scan of the rest does not read it
    ) STRICT;
    CREATE INDEX messages_due ON messages (queue, due_at, attempts);
    CREATE INDEX messages_arrival ON messages (queue);
    CREATE TABLE queues (
        name TEXT PRIMARY KEY,
        paused INTEGER NOT NULL DEFAULT 0,
        dropped INTEGER NOT NULL DEFAULT 0,      -- out of retries, without a dead letter queue
        dead_lettered INTEGER NOT NULL DEFAULT 0,
        expired INTEGER NOT NULL DEFAULT 0       -- past retention
    ) STRICT, WITHOUT ROWID;
    """,
    "ALTER TABLE queues ADD COLUMN delivery_delay INTEGER NOT NULL DEFAULT 0;",
    """
    DROP INDEX messages_due;
    CREATE INDEX messages_due ON messages (queue, due_at, attempts) WHERE due_at < 1e12;
    """,
    "ALTER TABLE queues ADD COLUMN retention INTEGER NOT NULL DEFAULT 345600;",
)

INSERT = """
    INSERT INTO messages (queue, due_at, id, content_type, size, sent_at, arrived_at, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
READY = """
    SELECT seq, id, body, content_type, sent_at, attempts + 1, size, due_at, lease FROM messages
    WHERE queue = ? AND due_at <= ? AND due_at < 1e12 ORDER BY due_at, attempts, seq LIMIT ?"""
LEASE = "UPDATE messages SET lease = ?, due_at = ?, attempts = attempts + 1 WHERE seq = ?"
LEASE_SPAN = "UPDATE messages SET lease = ?, due_at = ?, attempts = attempts + 1 WHERE seq BETWEEN ? AND ?"
ACKNOWLEDGE = "DELETE FROM messages WHERE seq = ? AND lease = ?"
ACKNOWLEDGE_SPAN = "DELETE FROM messages WHERE seq BETWEEN ? AND ? AND lease = ?"
RETRY = "UPDATE messages SET lease = NULL, due_at = ? WHERE seq = ? AND lease = ?"
GIVE_BACK = "UPDATE messages SET lease = NULL, due_at = ?, attempts = attempts - 1 WHERE seq = ? AND lease = ?"
RECOVER = "UPDATE messages SET lease = NULL, due_at = ? WHERE queue = ? AND due_at = ?"
MOVE = """
    INSERT INTO messages (queue, due_at, id, content_type, size, sent_at, arrived_at, origin, body)
    SELECT ?, ?, id, content_type, size, sent_at, ?, ?, body FROM messages WHERE seq = ?"""
DELETE = "DELETE FROM messages WHERE seq = ?"
FIRST_DUE = "SELECT due_at FROM messages WHERE queue = ? AND due_at < 1e12 ORDER BY due_at LIMIT 1"
NTH_DUE = "SELECT due_at FROM messages WHERE queue = ? AND due_at < 1e12 ORDER BY due_at LIMIT 1 OFFSET ?"
SPENT_DUE = "SELECT due_at FROM messages WHERE queue = ? AND due_at < 1e12 AND attempts > ? ORDER BY due_at LIMIT 1"
SPENT = """
    SELECT seq, id, size, attempts, lease FROM messages
    WHERE queue = ? AND due_at <= ? AND due_at < 1e12 AND attempts > ? ORDER BY due_at, seq"""
OLDEST = "SELECT sent_at FROM messages WHERE queue = ? ORDER BY seq LIMIT 1"
TALLY = "SELECT queue, sum(lease IS NULL), sum(size), sum(lease IS NOT NULL) FROM messages GROUP BY queue"
TALLY_OF = TALLY.replace("GROUP BY", "WHERE queue = ? GROUP BY")
LAPSED = "SELECT count(*) FROM messages WHERE queue = ? AND due_at <= ? AND due_at < 1e12 AND lease IS NOT NULL"
FIRST_ARRIVAL = "SELECT arrived_at FROM messages WHERE queue = ? ORDER BY seq LIMIT 1"
# A lease of an HTTP consumer ends by itself; what it held may not be asked for again.
OLD = "queue = :queue AND arrived_at <= :then AND (lease IS NULL OR due_at <= :now)"
ARRIVED_BEFORE = f"SELECT count(*) FROM messages WHERE {OLD}"
EXPIRE = f"DELETE FROM messages WHERE {OLD}"
PURGE = "DELETE FROM messages WHERE queue = ?"
LIST = """
    SELECT seq, id, body, content_type, sent_at, attempts, size, due_at, lease, origin,
      CASE WHEN due_at <= :now THEN 'ready' WHEN lease IS NOT NULL THEN 'leased'
           WHEN attempts > 0 THEN 'retry' ELSE 'delayed' END FROM messages
    WHERE queue = :queue AND seq > :after AND (:id IS NULL OR id = :id)
      AND CASE :state WHEN 'waiting' THEN lease IS NULL OR due_at <= :now WHEN 'ready' THEN due_at <= :now
                      WHEN 'delayed' THEN lease IS NULL AND due_at > :now
                      WHEN 'leased' THEN lease IS NOT NULL AND due_at > :now ELSE 1 END
      AND (:contains IS NULL OR instr(body, :contains) > 0)
    ORDER BY seq LIMIT :limit"""
DELAYED = "SELECT count(*) FROM messages WHERE queue = ? AND lease IS NULL AND due_at > ?"
HURRY = """
    UPDATE messages SET due_at = :now
    WHERE queue = :queue AND lease IS NULL AND due_at > :now AND (:id IS NULL OR id = :id)"""
REDRIVEN = """
    SELECT seq, coalesce(:to, origin) FROM messages
    WHERE queue = :queue AND (lease IS NULL OR due_at <= :now) AND coalesce(:to, origin) IS NOT NULL
      AND (:id IS NULL OR id = :id)
    ORDER BY seq LIMIT :limit"""
BY_SEQ = "SELECT id, size, attempts, lease, due_at FROM messages WHERE seq = ? AND queue = ?"
DELETE_ONE = "DELETE FROM messages WHERE seq = ? AND queue = ? AND id = ?"


def _span(rows: Sequence[Row]) -> tuple[int, int] | None:
    """First and last number when the rows are all that lie between: one statement does for them, which is quicker."""
    if not rows:
        return None
    first, last = min(row.seq for row in rows), max(row.seq for row in rows)
    return (first, last) if last - first == len(rows) - 1 else None


class Store:
    """All queues of a state folder."""

    def __init__(self, path: Path | str, durability: str = "normal") -> None:
        self._db = Database(path, migrations=MIGRATIONS, durability=durability)
        if durability != "full":  # there a commit waits for the disk anyway, less long in a log that does not grow
            self._db.checkpoint_aside()
        # Counted once at the start and kept from then on: `send` answers with them each time.
        self._tallies = {queue: Tally(*counts) for queue, *counts in self._db.execute(TALLY)}
        self.standings = Standings(self._db)

    def close(self) -> None:
        self._db.close()

    # --- sending and delivering ---------------------------------------------------------------------------------------

    def send(self, queue: str, drafts: Sequence[Draft], now: float) -> None:
        """Keep the drafts, all or none."""
        rows = [
            (queue, now + draft.delay, draft.id, draft.content_type, len(draft.body), now, now, draft.body)
            for draft in drafts
        ]
        with self._db.transaction():
            self._db.many(INSERT, rows)
        self._count(queue, len(rows), sum(row[4] for row in rows))

    def recover(self, now: float) -> int:
        """Messages that a worker held when the process died are due again, that attempt counted; how many."""
        found = 0
        with self._db.transaction():
            for queue, tally in self._tallies.items():
                if tally.leased:
                    self._db.execute(RECOVER, (now, queue, HELD))
                    found += self._db.changes
        self._recount(self._tallies)
        return found

    def take(self, queue: str, limit: int, fate: Fate, lease: int, now: float, until: float = HELD) -> Taken:
        """Lease the messages that are due, oldest first, `until` then; those out of retries are buried instead."""
        with self._db.unsynced(), self._db.transaction():
            found = [Row._make(row) for row in self._db.execute(READY, (queue, now, limit))]
            rows = [row for row in found if row.attempts <= fate.max_retries + 1]
            if (span := _span(rows)) is not None:
                self._db.execute(LEASE_SPAN, (lease, until, *span))
            else:
                self._db.many(LEASE, [(lease, until, row.seq) for row in rows])
            spent = [
                Spent(row.seq, row.id, row.size, row.attempts - 1, row.lease)
                for row in found
                if row.attempts > fate.max_retries + 1
            ]
            buried = self._bury(queue, spent, fate, now)
        fresh = sum(row.lease is None for row in rows)
        self._count(queue, -fresh, 0, fresh)
        return Taken(rows, buried)

    def settle(
        self, queue: str, lease: int, acked: Sequence[Row], retried: Sequence[tuple[Row, float]], fate: Fate, now: float
    ) -> Sequence[Buried]:
        """End a batch: delete what was acknowledged, make the rest due after its delay; gives what was buried.

        Messages that are no longer held by `lease` (purged, timed out) are left alone.
        """
        again = [(row, delay) for row, delay in retried if row.attempts <= fate.max_retries]
        ends = [
            Spent(row.seq, row.id, row.size, row.attempts, lease)
            for row, _ in retried
            if row.attempts > fate.max_retries
        ]
        before = self._db.raw.total_changes()
        with self._db.unsynced(), self._db.transaction():
            if (span := _span(acked)) is not None:
                self._db.execute(ACKNOWLEDGE_SPAN, (*span, lease))
            else:
                self._db.many(ACKNOWLEDGE, [(row.seq, lease) for row in acked])
            self._db.many(RETRY, [(now + delay, row.seq, lease) for row, delay in again])
            changed = self._db.raw.total_changes() - before
            buried = self._bury(queue, [end for end in ends if self._lease_of(end.seq, queue) == lease], fate, now)
        if changed == len(acked) + len(again):
            self._count(queue, len(again), -sum(row.size for row in acked), -changed)
        else:
            self._recount([queue])
        return buried

    def give_back(self, queue: str, lease: int, rows: Sequence[Row]) -> None:
        """Undo the lease: the attempt does not count, and what was due stays due."""
        with self._db.transaction():
            self._db.many(GIVE_BACK, [(row.due_at, row.seq, lease) for row in rows])
        self._recount([queue])

    def bury_spent(self, queue: str, fate: Fate, now: float) -> Sequence[Buried]:
        """Bury what is due and out of retries (an HTTP consumer let the last lease lapse)."""
        with self._db.transaction():
            spent = [Spent(*row) for row in self._db.execute(SPENT, (queue, now, fate.max_retries))]
            return self._bury(queue, spent, fate, now)

    def held(self, queue: str, seq: int) -> tuple[str, int, int, int | None] | None:
        """Id, size, attempts and lease of one message; for lease ids that come back."""
        row = self._db.one(BY_SEQ, (seq, queue))
        return None if row is None else (row[0], row[1], row[2], row[3])

    # --- when -----------------------------------------------------------------------------------------------------

    def first_due(self, queue: str) -> float | None:
        """When the first message that no worker holds is due."""
        due: float | None = self._db.value(FIRST_DUE, (queue,))
        return due

    def full_at(self, queue: str, size: int) -> float | None:
        """When `size` messages will be due together; None: there are not so many."""
        due: float | None = self._db.value(NTH_DUE, (queue, size - 1))
        return due

    def spent_due(self, queue: str, max_retries: int) -> float | None:
        """When the next message is to be buried without another delivery."""
        due: float | None = self._db.value(SPENT_DUE, (queue, max_retries))
        return due

    def first_arrival(self, queue: str) -> float | None:
        """When the message arrived that has been in the queue for longest."""
        arrived: float | None = self._db.value(FIRST_ARRIVAL, (queue,))
        return arrived

    # --- counting -------------------------------------------------------------------------------------------------

    def queues(self) -> Sequence[str]:
        """Every queue that has messages or a standing."""
        return sorted({*self.standings.names(), *self.filled()})

    def filled(self) -> Sequence[str]:
        """Every queue that has messages."""
        return [queue for queue, tally in self._tallies.items() if tally.unacknowledged]

    def tally(self, queue: str) -> Tally:
        """As kept: a message whose HTTP consumer let the lease lapse counts as leased until it is taken again."""
        return self._tallies.get(queue, NO_TALLY)

    def tally_at(self, queue: str, now: float) -> Tally:
        """The same, but what is no longer leased waits."""
        kept = self.tally(queue)
        lapsed: int = self._db.value(LAPSED, (queue, now)) if kept.leased else 0
        return Tally(kept.waiting + lapsed, kept.bytes, kept.leased - lapsed)

    def oldest(self, queue: str) -> float | None:
        """When the oldest message was sent, held ones too."""
        if not self.tally(queue).unacknowledged:
            return None
        sent: float | None = self._db.value(OLDEST, (queue,))
        return sent

    def delayed(self, queue: str, now: float) -> int:
        """How many of the waiting messages are not due."""
        count: int = self._db.value(DELAYED, (queue, now)) if self.tally(queue).waiting else 0
        return count

    # --- operations -----------------------------------------------------------------------------------------------

    def messages(
        self,
        queue: str,
        now: float,
        *,
        state: str = "all",
        id: str | None = None,
        contains: bytes | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[Listed]:
        """Messages in order of arrival; `state`: all, waiting (ready or delayed), ready, delayed, leased."""
        found = self._db.execute(
            LIST,
            {
                "queue": queue,
                "now": now,
                "state": state,
                "id": id,
                "contains": contains,
                "after": after,
                "limit": limit,
            },
        )
        return [Listed(*row) for row in found]

    def purge(self, queue: str) -> int:
        """Delete every message, held ones too; how many."""
        with self._db.transaction():
            self._db.execute(PURGE, (queue,))
            purged = self._db.changes
        self._recount([queue])
        return purged

    def delete(self, queue: str, seq: int, id: str) -> bool:
        """Delete one message, also when it is held; whether it was there."""
        self._db.execute(DELETE_ONE, (seq, queue, id))
        found = self._db.changes > 0
        if found:
            self._recount([queue])
        return found

    def forget(self, queue: str) -> None:
        """Delete the queue with all that it holds."""
        with self._db.transaction():
            self.purge(queue)
            self.standings.forget(queue)

    def hurry(self, queue: str, now: float, id: str | None = None) -> int:
        """Make delayed messages due now (all, or one); how many."""
        self._db.execute(HURRY, {"queue": queue, "now": now, "id": id})
        return self._db.changes

    def redrive(
        self, queue: str, now: float, to: str | None = None, id: str | None = None, limit: int = -1
    ) -> Mapping[str, int]:
        """Move dead letters to the queue they died in, or to `to`, with attempts anew: how many to which queue."""
        moved: dict[str, int] = {}
        fields = {"queue": queue, "to": to, "id": id, "now": now}
        with self._db.transaction():
            for seq, target in self._db.execute(REDRIVEN, {**fields, "limit": limit}):
                self._move(seq, target, None, now)
                moved[target] = moved.get(target, 0) + 1
        self._recount([queue, *moved])
        return moved

    def arrived_before(self, queue: str, then: float, now: float) -> int:
        """How many messages arrived at `then` or earlier and still wait."""
        count: int = self._db.value(ARRIVED_BEFORE, {"queue": queue, "then": then, "now": now})
        return count

    def expire(self, queue: str, then: float, now: float) -> int:
        """Delete what arrived at `then` or earlier, except what is held; how many."""
        with self._db.transaction():
            self._db.execute(EXPIRE, {"queue": queue, "then": then, "now": now})
            if expired := self._db.changes:
                self.standings.add(queue, "expired", expired)
        if expired:
            self._recount([queue])
        return expired

    # --- inside ---------------------------------------------------------------------------------------------------

    def _bury(self, queue: str, spent: Sequence[Spent], fate: Fate, now: float) -> Sequence[Buried]:
        for message in spent:
            if fate.dead_letter_queue is None:
                self._db.execute(DELETE, (message.seq,))
            else:
                self._move(message.seq, fate.dead_letter_queue, queue, now)
                self._count(fate.dead_letter_queue, 1, message.size)
            waited = message.lease is None
            self._count(queue, -int(waited), -message.size, -int(not waited))
        if spent:
            self.standings.add(queue, "dead_lettered" if fate.dead_letter_queue else "dropped", len(spent))
        return [Buried(message.id, message.attempts) for message in spent]

    def _move(self, seq: int, to: str, origin: str | None, now: float) -> None:
        # A new row: arrival order, and with it retention, are those of the queue it comes to.
        self._db.execute(MOVE, (to, now, now, origin, seq))
        self._db.execute(DELETE, (seq,))

    def _lease_of(self, seq: int, queue: str) -> int | None:
        row = self.held(queue, seq)
        return None if row is None else row[3]

    def _count(self, queue: str, waiting: int, size: int, leased: int = 0) -> None:
        old = self.tally(queue)
        self._tallies[queue] = Tally(old.waiting + waiting, old.bytes + size, old.leased + leased)

    def _recount(self, queues: Iterable[str | None]) -> None:
        for queue in [queue for queue in queues if queue is not None]:
            row = self._db.one(TALLY_OF, (queue,))
            self._tallies[queue] = Tally(*row[1:]) if row else NO_TALLY
