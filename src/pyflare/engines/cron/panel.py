"""What the dashboard shows of cron triggers."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table
from pyflare.engines.cron.expression import fault
from pyflare.errors import EngineError
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
    """Run a handler by hand: whose it was, how it ended, the traceback of what it raised, what is wrong with `cron`."""
    if not isinstance(cron, str):
        raise EngineError(f'"cron" must be a cron expression, not {cron!r}')
    if time_ms is not None and (isinstance(time_ms, bool) or not isinstance(time_ms, (int, float))):
        raise EngineError(f'"time_ms" must be a number of milliseconds, not {time_ms!r}')
    name = engine.owner(cron, worker or None)
    outcome = await engine.trigger(cron, name, time_ms)
    return {
        "worker": name,
        "outcome": outcome.outcome,
        "noRetry": outcome.no_retry,
        "error": None if outcome.error is None else traces.render(outcome.error),
        "configured": sorted({expression.text for _, expression in engine.expressions()}),
        "fault": fault(cron),
    }


def show(moment: float) -> str:
    return dt.datetime.fromtimestamp(moment, dt.UTC).strftime("%a %Y-%m-%d %H:%M UTC")
