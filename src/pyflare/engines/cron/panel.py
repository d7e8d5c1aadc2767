"""What the dashboard shows of cron triggers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table

if TYPE_CHECKING:
    from pyflare.engines.cron.engine import Cron

NEXT_TIMES = 5


def panel(engine: Cron, now: float) -> Panel:
    """Each expression with its last run and its next five times, in UTC."""
    rows: list[Sequence[Any]] = []
    for worker, expression in engine.expressions():
        last = engine.last_run(worker, expression.text)
        times = [show(moment) for moment in expression.times(now, NEXT_TIMES)]
        ran = f"{show(last.time_ms / 1000)} {last.outcome}" if last else ""
        rows.append((worker, expression.text, "by the clock" if engine.by_clock else "by hand", ran, *times))
    columns = ("worker", "cron", "runs", "last run", *(f"next {number}" for number in range(1, NEXT_TIMES + 1)))
    return Panel(
        "Cron Triggers",
        [Table("Cron Triggers", columns, rows)],
        {"trigger": Action("trigger", engine.trigger, ("worker", "cron"))},
    )


def show(moment: float) -> str:
    return dt.datetime.fromtimestamp(moment, dt.UTC).strftime("%a %Y-%m-%d %H:%M UTC")
