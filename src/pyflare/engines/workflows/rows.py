"""What the store gives and takes: rows, and the names of their states."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

QUEUED, RUNNING, PAUSING, PAUSED = "queued", "running", "waitingForPause", "paused"
COMPLETE, ERRORED, TERMINATED, WAITING = "complete", "errored", "terminated", "waiting"
FINISHED = (COMPLETE, ERRORED, TERMINATED)
STATUSES = (QUEUED, RUNNING, PAUSED, ERRORED, TERMINATED, COMPLETE, PAUSING, WAITING)

DO, SLEEP, EVENT, ROLLBACK = "do", "sleep", "event", "rollback"
IN_FLIGHT, RETRYING, PENDING, DONE, FAILED = "running", "retrying", "waiting", "done", "failed"


class Instance(NamedTuple):
    id: int
    workflow: str
    name: str
    status: str
    awake: int
    created_at: float
    started_at: float | None
    ended_at: float | None
    paused_at: float | None
    rollback: str | None
    rollback_error: str | None
    error: str | None
    output: str | None


class Step(NamedTuple):
    id: int
    instance: int
    kind: str
    name: str
    nth: int  # among the steps of its kind and name, from 1
    position: int
    state: str
    attempt: int
    due_at: float | None
    started_at: float
    ended_at: float | None
    about: str | None
    error: str | None
    streamed: int
    remaining: float | None = None  # seconds of its deadline, of an instance that is paused


class Event(NamedTuple):
    id: int
    at: float
    payload: bytes


class Entry(NamedTuple):
    """A line of the log; `detail` is JSON."""

    seq: int
    at: float
    event: str
    step: int | None
    attempt: int | None
    detail: str | None


@dataclass(frozen=True)
class Fault:
    """An error as it is kept."""

    name: str
    message: str
    python: bool = False  # an exception that crossed to JavaScript as its traceback

    def to_json(self) -> str:
        kept = {"name": self.name, "message": self.message, **({"python": True} if self.python else {})}
        return json.dumps(kept, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Fault:
        return cls(**json.loads(text))
