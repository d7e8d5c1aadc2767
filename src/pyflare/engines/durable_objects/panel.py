"""What the dashboard and the command line may show and do here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table
from pyflare.engines.durable_objects.alarms import NS_PER_SECOND

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.engine import DurableObjects
    from pyflare.engines.durable_objects.namespace import Namespace

SHOWN_OBJECTS = 200
LAST_SECOND = 253_402_300_799  # of the year 9999


@dataclass(frozen=True)
class ObjectRow:
    """One object; `alarm` is seconds since the epoch."""

    worker: str
    class_name: str
    id: str
    name: str | None
    awake: bool
    sockets: int
    alarm: float | None


def objects(namespaces: Iterable[Namespace]) -> Iterator[ObjectRow]:
    """Every object that is stored or awake."""
    for namespace in namespaces:
        for id in namespace.known():
            actor, alarm = namespace.actors.get(id), namespace.alarms.scheduled(id)
            yield ObjectRow(
                namespace.worker,
                namespace.class_name,
                id,
                namespace.name_of(id),
                actor is not None and actor.instance is not None,
                len(actor.sockets) if actor is not None else 0,
                None if alarm is None else alarm / NS_PER_SECOND,
            )


def panel(engine: DurableObjects) -> Panel:
    rows = [
        (row.worker, row.class_name, row.id, row.name, row.awake, row.sockets, _time(row.alarm))
        for row in islice(objects(engine.namespaces), SHOWN_OBJECTS + 1)
    ]
    title = "Objects" if len(rows) <= SHOWN_OBJECTS else f"Objects (the first {SHOWN_OBJECTS})"
    columns = ("worker", "class_name", "object", "name", "awake", "sockets", "alarm")
    which = ("class_name", "object")

    async def query(class_name: str, object: str, sql: str) -> list[dict[str, Any]]:
        (found,) = await engine.query(class_name, object, [(sql, ())])
        return [dict(zip(found.columns, row, strict=True)) for row in found.rows]

    actions = (
        Action("evict", engine.evict, which),
        Action("evict_all", engine.evict_all),
        Action("fire", engine.run_alarm, which),
        Action("query", query, (*which, "sql")),
        Action("abort", engine.abort, which, danger=True),
        Action("delete", engine.delete, which, danger=True),
    )
    return Panel(
        "Durable Objects", [Table(title, columns, rows[:SHOWN_OBJECTS], which)], {one.name: one for one in actions}
    )


def _time(seconds: float | None) -> str:
    """UTC; a time that the calendar does not have stays a number."""
    if seconds is None:
        return ""
    if seconds > LAST_SECOND:
        return f"{seconds:.0f}"
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
