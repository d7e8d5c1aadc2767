"""Instances, steps, events and the log: one SQLite file.

Every statement of the room is here, in `catalogue.py` or in `chunks.py`. A step is a row from its first call on: `kind`
do, sleep, event or rollback, numbered by name (`count`) and by order of call (`position`). `due_at` is its next
deadline: the end of a sleep, of a wait, of the pause before the next attempt, of an attempt's time-out. A row that says
`running` while nobody runs it was in flight when the process died. `awake` marks the instances that have to be in
memory. What the row of a step says (its first begin, its end) is not in the log, so that a step costs two writes. All
times are seconds since the epoch and parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyflare.engines.workflows.catalogue import Catalogue
from pyflare.engines.workflows.chunks import Chunks
from pyflare.engines.workflows.rows import (
    COMPLETE,
    DONE,
    ERRORED,
    EVENT,
    FAILED,
    IN_FLIGHT,
    PAUSED,
    PAUSING,
    PENDING,
    RUNNING,
    SLEEP,
    Event,
    Fault,
    Instance,
    Step,
)  # fmt: skip
from pyflare.engines.workflows.schema import MIGRATIONS
from pyflare.storage.database import Database

INSTANCE_COLUMNS = """id, workflow, name, status, awake, created_at, started_at, ended_at, paused_at, rollback,
    rollback_error, error, output"""
STEP_COLUMNS = """id, instance, kind, name, count, position, state, attempt, due_at, started_at, ended_at, about, error,
    streamed, remaining"""

INSERT_INSTANCE = """
    INSERT INTO instances (workflow, name, status, awake, created_at, keep_complete, keep_errored, params)
    VALUES (?, ?, 'queued', 1, ?, ?, ?, ?) ON CONFLICT (workflow, name) DO NOTHING RETURNING id"""
FIND = f"SELECT {INSTANCE_COLUMNS} FROM instances WHERE workflow = ? AND name = ?"
BY_ID = f"SELECT {INSTANCE_COLUMNS} FROM instances WHERE id = ?"
PARAMS = "SELECT params FROM instances WHERE id = ?"
AWAKE = "SELECT id FROM instances WHERE awake ORDER BY id"
BEGIN = "UPDATE instances SET status = 'running', awake = 1, started_at = coalesce(started_at, ?) WHERE id = ?"
SET_AWAKE = "UPDATE instances SET awake = ? WHERE id = ?"
WAKE_RUNNING = "UPDATE instances SET awake = 1 WHERE id = ? AND status = 'running'"
SET_STATUS = "UPDATE instances SET status = ?, awake = ?, paused_at = ? WHERE id = ?"
FINISH = """
    UPDATE instances SET status = :status, awake = 0, ended_at = :now, output = :output, error = :error,
        expires_at = :now + CASE :status WHEN 'complete' THEN keep_complete ELSE keep_errored END
    WHERE id = :id"""
SET_ROLLBACK = (
    "UPDATE instances SET rollback = ?, rollback_error = ?, error = coalesce(?, error), awake = 1 WHERE id = ?"
)
REQUEUE = """
    UPDATE instances SET status = 'queued', awake = 1, started_at = NULL, ended_at = NULL, paused_at = NULL,
        rollback = NULL, rollback_error = NULL, error = NULL, output = NULL, expires_at = NULL
    WHERE id = ?"""
EXPIRED = "SELECT id FROM instances WHERE expires_at <= ?"
NEXT_EXPIRY = "SELECT min(expires_at) FROM instances WHERE expires_at IS NOT NULL"
DELETE_INSTANCE = "DELETE FROM instances WHERE id = ?"

STEPS = f"SELECT {STEP_COLUMNS} FROM steps WHERE instance = ? ORDER BY position"
STEP = f"SELECT {STEP_COLUMNS} FROM steps WHERE id = ?"
RESULT = "SELECT result FROM steps WHERE id = ?"
INSERT_STEP = """
    INSERT INTO steps (instance, kind, name, count, position, state, attempt, due_at, started_at, about)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
BEGIN_ATTEMPT = "UPDATE steps SET state = 'running', attempt = ?, due_at = ? WHERE id = ?"
RETRY = "UPDATE steps SET state = 'retrying', due_at = ?, error = ? WHERE id = ?"
END = "UPDATE steps SET state = ?, due_at = NULL, ended_at = ?, error = ?, streamed = ?, result = ? WHERE id = ?"
GIVE_BACK = """
    UPDATE steps SET state = 'retrying', attempt = attempt - 1, due_at = :now
    WHERE instance = :id AND state = 'running'"""
STOP_STEPS = """
    UPDATE steps SET due_at = NULL, state = 'failed', ended_at = ?
    WHERE instance = ? AND state IN ('running', 'retrying', 'waiting')"""
DELETE_STOPPED = "DELETE FROM steps WHERE instance = ? AND state = 'failed' AND error IS NULL"
HOLD = "UPDATE steps SET remaining = due_at - ?, due_at = NULL WHERE instance = ? AND due_at IS NOT NULL"
LET_GO = "UPDATE steps SET due_at = remaining + ?, remaining = NULL WHERE instance = ? AND remaining IS NOT NULL"
FIRST_DUE = "SELECT min(due_at) FROM steps WHERE due_at IS NOT NULL"
DUE = f"SELECT {STEP_COLUMNS} FROM steps WHERE due_at <= ? ORDER BY due_at, id LIMIT ?"
NOT_DUE = "UPDATE steps SET due_at = NULL WHERE id = ?"
HOLD_BACK = "UPDATE steps SET remaining = 0, due_at = NULL WHERE id = ?"
RESTART_POSITION = "SELECT position FROM steps WHERE instance = ? AND kind = ? AND name = ? AND count = ?"
DELETE_STEPS = "DELETE FROM steps WHERE instance = ? AND position >= ?"
DELETE_CHUNKS = "DELETE FROM chunks WHERE step IN (SELECT id FROM steps WHERE instance = ? AND position >= ?)"
DELETE_LOG = """
    DELETE FROM log WHERE instance = :id
    AND CASE WHEN step IS NULL THEN :position = 0 OR event NOT IN ('WORKFLOW_QUEUED', 'WORKFLOW_START')
        ELSE step IN (SELECT id FROM steps WHERE instance = :id AND position >= :position) END"""
DELETE_EVENTS = """
    DELETE FROM events
    WHERE instance = :id AND (step IS NULL OR step NOT IN (SELECT id FROM steps WHERE instance = :id))"""
WAITS_OF = (
    "SELECT id FROM steps WHERE instance = ? AND kind = 'event' AND state = 'waiting' AND about = ? ORDER BY position"
)
IDLE = """
    SELECT count(*) FROM steps WHERE instance = ? AND kind IN ('sleep', 'event') AND state = 'waiting'
    AND NOT EXISTS (SELECT 1 FROM steps WHERE instance = ? AND state = 'running')"""

INSERT_EVENT = "INSERT INTO events (instance, type, at, step, payload) VALUES (?, ?, ?, ?, ?)"
BUFFERED = "SELECT id, at, payload FROM events WHERE instance = ? AND type = ? AND step IS NULL ORDER BY id LIMIT 1"
TAKE_EVENT = "UPDATE events SET step = ? WHERE id = ?"
EVENT_OF = "SELECT id, at, payload FROM events WHERE step = ?"

INSERT_LOG = "INSERT INTO log (instance, at, event, step, attempt, detail) VALUES (?, ?, ?, ?, ?, ?)"


class Store:
    """All workflows of a state folder."""

    def __init__(self, path: Path | str, durability: str = "normal") -> None:
        self._db = Database(path, migrations=MIGRATIONS, durability=durability)
        self.catalogue, self.chunks = Catalogue(self._db), Chunks(self._db)

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What happens inside is one commit."""
        with self._db.transaction():
            yield

    # --- instances --------------------------------------------------------------------------------------------------

    def create(
        self,
        workflow: str,
        name: str,
        params: bytes,
        now: float,
        keep: tuple[float | None, float | None] = (None, None),
    ) -> int | None:
        """A new instance; None: there is one of that name. `keep`: seconds until a complete or errored one goes."""
        with self._db.transaction():
            created = self._db.value(INSERT_INSTANCE, (workflow, name, now, *keep, params))
            if created is not None:
                self._log(created, now, "WORKFLOW_QUEUED")
        return None if created is None else int(created)

    def find(self, workflow: str, name: str) -> Instance | None:
        row = self._db.one(FIND, (workflow, name))
        return None if row is None else Instance(*row)

    def instance(self, id: int) -> Instance | None:
        row = self._db.one(BY_ID, (id,))
        return None if row is None else Instance(*row)

    def params(self, id: int) -> bytes:
        return bytes(self._db.value(PARAMS, (id,)))

    def awake(self) -> Sequence[int]:
        """Those that have to be in memory, which at the start nobody is."""
        return [row[0] for row in self._db.execute(AWAKE)]

    def begin(self, instance: Instance, now: float) -> None:
        """The instance runs from now on, or goes on."""
        if instance.status == RUNNING and instance.awake:
            return
        with self._db.transaction():
            self._db.execute(BEGIN, (now, instance.id))
            if instance.started_at is None:
                self._log(instance.id, now, "WORKFLOW_START")

    def park(self, id: int) -> None:
        self._db.execute(SET_AWAKE, (0, id))

    def wake(self, id: int) -> None:
        self._db.execute(SET_AWAKE, (1, id))

    def finish(
        self, id: int, status: str, now: float, *, output: str | None = None, fault: Fault | None = None
    ) -> None:
        """The end: complete, errored or terminated."""
        event = {COMPLETE: "WORKFLOW_SUCCESS", ERRORED: "WORKFLOW_FAILURE"}.get(status, "WORKFLOW_TERMINATED")
        error = fault.to_json() if fault else None
        with self._db.transaction():
            self._db.execute(FINISH, {"id": id, "status": status, "now": now, "output": output, "error": error})
            self._db.execute(STOP_STEPS, (now, id))
            self._log(id, now, event, detail=error)

    def pausing(self, id: int) -> None:
        self._db.execute(SET_STATUS, (PAUSING, 1, None, id))

    def running(self, id: int) -> None:
        self._db.execute(SET_STATUS, (RUNNING, 1, None, id))

    def pause(self, id: int, now: float) -> None:
        """Stop the clock of the instance."""
        with self._db.transaction():
            self._db.execute(SET_STATUS, (PAUSED, 0, now, id))
            self._db.execute(HOLD, (now, id))
            self._log(id, now, "WORKFLOW_PAUSED")

    def resume(self, id: int, now: float) -> None:
        """Let it go on; what was to come is later by the length of the pause."""
        with self._db.transaction():
            self._db.execute(SET_STATUS, (RUNNING, 1, None, id))
            self._db.execute(LET_GO, (now, id))
            self._log(id, now, "WORKFLOW_RESUMED")

    def restart(self, id: int, now: float, position: int = 0) -> None:
        """Forget the steps from `position` on, and what came after; begin anew with the same params."""
        with self._db.transaction():
            self._wipe(id, position)
            self._db.execute(DELETE_STOPPED, (id,))
            self._db.execute(REQUEUE, (id,))
            self._log(id, now, "WORKFLOW_QUEUED" if position == 0 else "WORKFLOW_RESTARTED")

    def delete(self, id: int) -> None:
        with self._db.transaction():
            self._wipe(id, 0)
            self._db.execute(DELETE_INSTANCE, (id,))

    def rolling_back(self, id: int, why: str, fault: Fault | None, now: float) -> None:
        """`why`: failure (with its fault) or terminate. From now on the instance only undoes."""
        with self._db.transaction():
            self._db.execute(SET_ROLLBACK, (why, None, fault.to_json() if fault else None, id))
            self._db.execute(STOP_STEPS, (now, id))
            self._log(id, now, "ROLLBACK_START")

    def rolled_back(self, id: int, fault: Fault | None, now: float) -> None:
        outcome = "failed" if fault else "complete"
        with self._db.transaction():
            self._db.execute(SET_ROLLBACK, (outcome, fault.to_json() if fault else None, None, id))
            self._log(id, now, "ROLLBACK_FAILURE" if fault else "ROLLBACK_SUCCESS")

    def expire(self, now: float) -> Sequence[int]:
        """Delete what is past its retention; which."""
        ids = [row[0] for row in self._db.execute(EXPIRED, (now,))]
        for id in ids:
            self.delete(id)
        return ids

    # --- steps ------------------------------------------------------------------------------------------------------

    def steps(self, instance: int) -> Sequence[Step]:
        """In order of their first call."""
        return [Step(*row) for row in self._db.execute(STEPS, (instance,))]

    def step(self, id: int) -> Step | None:
        row = self._db.one(STEP, (id,))
        return None if row is None else Step(*row)

    def result(self, step: int) -> bytes | None:
        found: bytes | None = self._db.value(RESULT, (step,))
        return found

    def add_do(
        self,
        instance: int,
        kind: str,
        name: str,
        count: int,
        position: int,
        due_at: float,
        about: str | None,
        now: float,
    ) -> int:
        """A step whose first attempt begins now; `due_at` is its time-out. The row itself is the record of both."""
        self._db.execute(INSERT_STEP, (instance, kind, name, count, position, IN_FLIGHT, 1, due_at, now, about))
        return self._db.raw.last_insert_rowid()

    def begin_attempt(self, step: Step, attempt: int, due_at: float, now: float) -> None:
        with self._db.transaction():
            self._db.execute(BEGIN_ATTEMPT, (attempt, due_at, step.id))
            self._log(step.instance, now, "ATTEMPT_START", step.id, attempt)

    def succeed(self, step: Step, result: bytes | None, now: float, streamed: bool = False) -> None:
        """The end of the last attempt is the end of the step: no line of the log says it again."""
        self._db.execute(END, (DONE, now, None, int(streamed), result, step.id))

    def retry(self, step: Step, attempt: int, fault: Fault, due_at: float, now: float) -> None:
        """The attempt failed; the next one is due then."""
        with self._db.transaction():
            self._db.execute(RETRY, (due_at, fault.to_json(), step.id))
            self._attempt_failed(step, attempt, fault, now)

    def fail(self, step: Step, attempt: int, fault: Fault, now: float) -> None:
        """The attempt failed, and with it the step."""
        with self._db.transaction():
            self._db.execute(END, (FAILED, now, fault.to_json(), 0, None, step.id))
            self._attempt_failed(step, attempt, fault, now)

    def give_back(self, instance: int, now: float) -> None:
        """Attempts in flight do not count: the process goes in peace."""
        self._db.execute(GIVE_BACK, {"id": instance, "now": now})

    def add_sleep(self, instance: int, name: str, count: int, position: int, due_at: float, now: float) -> int:
        self._db.execute(INSERT_STEP, (instance, SLEEP, name, count, position, PENDING, 0, due_at, now, None))
        return self._db.raw.last_insert_rowid()

    def wake_up(self, step: Step, now: float) -> None:
        """The end of a sleep."""
        with self._db.transaction():
            self._db.execute(END, (DONE, now, None, 0, None, step.id))
            self._db.execute(WAKE_RUNNING, (step.instance,))

    def add_wait(
        self, instance: int, name: str, count: int, position: int, type: str, due_at: float, now: float
    ) -> tuple[int, Event | None]:
        """A wait for an event; it may take one that has already come."""
        with self._db.transaction():
            self._db.execute(INSERT_STEP, (instance, EVENT, name, count, position, PENDING, 0, due_at, now, type))
            step = self._db.raw.last_insert_rowid()
            row = self._db.one(BUFFERED, (instance, type))
            event = None if row is None else Event(*row)
            if event is not None:
                self._db.execute(TAKE_EVENT, (step, event.id))
                self._complete_wait(step, now)
        return step, event

    def time_out(self, step: Step, fault: Fault, now: float) -> None:
        """Nothing has come."""
        with self._db.transaction():
            self._db.execute(END, (FAILED, now, fault.to_json(), 0, None, step.id))
            self._db.execute(WAKE_RUNNING, (step.instance,))

    def send_event(self, instance: int, type: str, payload: bytes, now: float) -> int | None:
        """Keep an event; the wait that takes it, if one is there."""
        with self._db.transaction():
            step: int | None = self._db.value(WAITS_OF, (instance, type))
            self._db.execute(INSERT_EVENT, (instance, type, now, step, payload))
            if step is not None:
                self._complete_wait(step, now)
                self._db.execute(WAKE_RUNNING, (instance,))
        return step

    def event_of(self, step: int) -> Event | None:
        """What a wait has taken."""
        row = self._db.one(EVENT_OF, (step,))
        return None if row is None else Event(*row)

    def position_of(self, instance: int, kind: str, name: str, count: int) -> int | None:
        position: int | None = self._db.value(RESTART_POSITION, (instance, kind, name, count))
        return position

    def waits(self, instance: int) -> bool:
        """Whether it sleeps or waits and does nothing else."""
        return bool(self._db.value(IDLE, (instance, instance)))

    def attempt_due(self, step: Step) -> None:
        """The pause before an attempt is over; it begins when the code asks for it."""
        with self._db.transaction():
            self._db.execute(NOT_DUE, (step.id,))
            self._db.execute(WAKE_RUNNING, (step.instance,))

    def hold_back(self, step: int) -> None:
        """Its deadline waits until the instance is let go."""
        self._db.execute(HOLD_BACK, (step,))

    # --- when -------------------------------------------------------------------------------------------------------

    def first_due(self) -> float | None:
        """The earliest deadline of all steps and instances."""
        moments = (self._db.value(FIRST_DUE), self._db.value(NEXT_EXPIRY))
        return min((moment for moment in moments if moment is not None), default=None)

    def due(self, now: float, limit: int) -> Sequence[Step]:
        return [Step(*row) for row in self._db.execute(DUE, (now, limit))]

    # --- inside -----------------------------------------------------------------------------------------------------

    def _attempt_failed(self, step: Step, attempt: int, fault: Fault, now: float) -> None:
        self._log(step.instance, now, "ATTEMPT_FAILURE", step.id, attempt, fault.to_json())

    def _complete_wait(self, step: int, now: float) -> None:
        self._db.execute(END, (DONE, now, None, 0, None, step))

    def _wipe(self, id: int, position: int) -> None:
        self._db.execute(DELETE_LOG, {"id": id, "position": position})
        self._db.execute(DELETE_CHUNKS, (id, position))
        self._db.execute(DELETE_STEPS, (id, position))
        self._db.execute(DELETE_EVENTS, {"id": id})

    def _log(
        self,
        instance: int,
        at: float,
        event: str,
        step: int | None = None,
        attempt: int | None = None,
        detail: str | None = None,
    ) -> None:
        self._db.execute(INSERT_LOG, (instance, at, event, step, attempt, detail))
