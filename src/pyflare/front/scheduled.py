"""Running cron handlers by hand.

`/__scheduled?cron=…` is wrangler's `--test-scheduled` middleware, on by default. `/cdn-cgi/handler/scheduled`, and the
same below `local` and `mf`, are miniflare's hook (`core/scheduled.ts`): the outcome as text, or as JSON on request.
"""

from __future__ import annotations

from typing import Protocol

from pyflare.front.control import Answer, Call, Control
from pyflare.interop import traces
from pyflare.interop.arguments import parse_int
from pyflare.interop.dates import MAX_DATE_MS

HOOKS = ("/cdn-cgi/handler/scheduled", "/cdn-cgi/local/scheduled", "/cdn-cgi/mf/scheduled")
NO_HANDLER = "The worker has no scheduled handler: add `async def scheduled(self, controller, env, ctx)`"


class Crons(Protocol):
    """What the hooks ask of a server."""

    def has_handler(self, name: str) -> bool: ...

    async def scheduled(self, cron: str, time_ms: float | None = None) -> tuple[str, bool, BaseException | None]: ...


class Scheduled:
    """`broken` is the traceback of code that could not be loaded."""

    def __init__(self, server: Crons, broken: str | None) -> None:
        self._server, self._broken = server, broken

    def add_to(self, control: Control, dunder: bool) -> None:
        """`dunder`: whether `/__scheduled` answers."""
        if dunder:
            control.add("/__scheduled", self.run)
        for path in HOOKS:
            control.add(path, self.hook)

    async def run(self, call: Call) -> Answer:
        if self._broken is not None:
            return Answer(self._broken + "\n", 500)
        if not self._server.has_handler("scheduled"):
            return Answer(NO_HANDLER, 500)
        _, _, raised = await self._server.scheduled(call.query.get("cron", ""))
        if raised is None:
            return Answer("Ran scheduled event")
        return Answer(traces.render(raised) + "\n", 500)

    async def hook(self, call: Call) -> Answer:
        if self._broken is not None:
            return Answer(self._broken + "\n", 500)
        given, time_ms = call.query.get("time"), None
        if given:
            number = parse_int(given)
            if not abs(number) <= MAX_DATE_MS:
                return Answer(f"time is a number of milliseconds, not {given!r}", 500)
            time_ms = int(number)
        outcome, no_retry, _ = await self._server.scheduled(call.query.get("cron", ""), time_ms)
        status = 200 if outcome == "ok" else 500
        if call.query.get("format") == "json":
            return Answer.of_json({"outcome": outcome, "noRetry": no_retry}, status)
        return Answer(outcome, status)
