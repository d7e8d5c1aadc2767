"""What the dashboard shows of cron triggers."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table
from pyflare.interop import traces

if TYPE_CHECKING:
    from pyflare.engines.cron.engine import Cron

NEXT_TIMES = 5


def panel(engine: Cron, now: float) -> Panel:
    """Each expression with its last run and its next five times, in UTC."""
    rows: list[Sequence[Any]] = []
    for worker, expression in engine.expressions():
        last = engine.last_run(worker, expression.text)
        times = "\n".join(show(moment) for moment in expression.times(now, NEXT_TIMES))
        ran = f"{show(last.time_ms / 1000)} {last.outcome}" if last else ""
        rows.append((worker, expression.text, "by the clock" if engine.by_clock else "by hand", ran, times))
    columns = ("worker", "cron", "runs", "last run", "next times")
    trigger = Action("trigger", functools.partial(_trigger, engine), ("cron", "worker", "time_ms"))
    return Panel("Cron Triggers", [Table("Cron Triggers", columns, rows, ("worker", "cron"))], {"trigger": trigger})


async def _trigger(engine: Cron, cron: str, worker: str | None = None, time_ms: float | None = None) -> dict[str, Any]:
    """Run a handler by hand; how it ended, and the traceback of what it raised."""
    outcome = await engine.trigger(cron, worker or None, time_ms)
    error = None if outcome.error is None else traces.render(outcome.error)
    configured = sorted({expression.text for _, expression in engine.expressions()})
    return {"outcome": outcome.outcome, "noRetry": outcome.no_retry, "error": error, "configured": configured}


def show(moment: float) -> str:
    return dt.datetime.fromtimestamp(moment, dt.UTC).strftime("%a %Y-%m-%d %H:%M UTC")
