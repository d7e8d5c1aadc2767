"""What one event of a worker did, kept for those who tail it. Nobody listens: nothing is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyflare.clock import Clock
from pyflare.interop import json, rpc, scope, traces
from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsNull, JsObject
from pyflare.interop.web.response import Response
from pyflare.worker.event import Enter, Event, Fetch, Rpc

PLAIN = (str, int, float, dict, list, tuple, JsNull, JsObject, JsArray)  # of console messages, kept as JSON

OK, EXCEPTION, CANCELED = "ok", "exception", "canceled"  # outcomes
MAX_LOG_BYTES = 256 * 1024  # of one event (workerd io/trace.c++)
TOO_MUCH = (
    "Log size limit exceeded: More than 256KB of data (across console.log statements, exception, request metadata and "
    "headers) was logged during a single request. Subsequent data for this request will not be recorded in logs, "
    "appear when tailing this Worker's logs, or in Tail Workers."
)


@dataclass(frozen=True, slots=True)
class Line:
    """One message of the console; `message` is the JSON of the list of its arguments."""

    at_ms: int
    level: str  # debug, info, log, warn, error
    message: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception that nobody caught, as JavaScript sees it."""

    at_ms: int
    name: str
    message: str
    stack: str


@dataclass
class Trace:
    """`event` is what the worker was called for; for an object or a workflow what its `Enter` is about."""

    worker: str
    event: Event
    clock: Clock
    entrypoint: str | None = None
    model: str = "stateless"  # or durableObject, workflow
    lines: list[Line] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    outcome: str = OK
    status: int | None = None  # of the response
    truncated: bool = False
    _bytes: int = 0
    _parts: dict[str, str] = field(default_factory=dict)  # level -> a printed line that has no end yet

    def __post_init__(self) -> None:
        self.began_ms = self.ended_ms = self._now()

    def _now(self) -> int:
        return int(self.clock.now() * 1000)

    def log(self, level: str, values: Sequence[Any]) -> None:
        message = f"[{','.join(map(_told, values))}]"
        self._bytes += len(message)
        if self.truncated:
            return
        if self._bytes > MAX_LOG_BYTES:
            self.truncated = True
            level, message = "warn", f"[{json.stringify(TOO_MUCH)}]"
        self.lines.append(Line(self._now(), level, message))

    def printed(self, level: str, text: str) -> None:
        """What `print` wrote: each line is a message, as on Cloudflare."""
        *whole, self._parts[level] = (self._parts.get(level, "") + text).split("\n")
        for line in whole:
            self.log(level, [line])

    def failed(self, raised: BaseException) -> None:
        """Told within the event's scope."""
        if isinstance(raised, asyncio.CancelledError):
            return
        seen = raised if isinstance(raised, JsException) and raised.name == "PythonError" else rpc.of_python(raised)
        self.failures.append(Failure(self._now(), seen.name, seen.message, traces.formatted(raised)))

    def end(self, result: Any, raised: BaseException | None) -> None:
        """The handler has ended; its waitUntil work may go on."""
        if isinstance(result, Response):
            self.status = result.status
        if raised is not None:
            self.outcome = CANCELED if isinstance(raised, asyncio.CancelledError) else EXCEPTION
            self.failed(raised)

    def close(self) -> None:
        """Nothing of the event goes on."""
        for level, part in self._parts.items():
            if part:
                self.log(level, [part])
        self._parts.clear()
        self.ended_ms = self._now()


def begin(worker: str, event: Event, clock: Clock) -> Trace | None:
    """None for what is no event of the worker's own: tail events, and what the explorer asks of an object."""
    if isinstance(event, (Fetch, Rpc)):
        return Trace(worker, event, clock, event.entrypoint)
    if isinstance(event, Enter):
        if event.about is None:
            return None
        model = "durableObject" if event.gate is not None and event.background is not None else "workflow"
        return Trace(worker, event.about, clock, event.class_name, model)
    return None if getattr(event, "name", None) == "tail" else Trace(worker, event, clock)


def _told(value: Any) -> str:
    """JSON of what JSON can tell, else of the text."""
    if value is None or isinstance(value, PLAIN):
        try:
            return json.stringify(value) or "null"
        except JsException:  # a circle
            return "{}"
    return json.stringify(to_text(value)) or "null"


class Tee:
    """Stands for `sys.stdout` or `sys.stderr` while code of a worker runs that is tailed."""

    def __init__(self, beneath: Any, level: str) -> None:
        self.beneath, self._level = beneath, level

    def write(self, text: str) -> int:
        running = scope.current.get()
        if running is not None and running.trace is not None:
            running.trace.printed(self._level, text)
        return int(self.beneath.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)
