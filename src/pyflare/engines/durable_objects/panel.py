"""What the dashboard and the command line may show and do here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyflare.engines.base import Action, Panel, Table
from pyflare.engines.durable_objects.alarms import NS_PER_SECOND

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.engine import DurableObjects
    from pyflare.engines.durable_objects.namespace import Namespace


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


def objects(namespaces: Iterable[Namespace]) -> Sequence[ObjectRow]:
    rows = []
    for namespace in namespaces:
        for id in namespace.known():
            actor, alarm = namespace.actors.get(id), namespace.alarms.scheduled(id)
            rows.append(
                ObjectRow(
                    namespace.worker,
                    namespace.class_name,
                    id,
                    namespace.name_of(id),
                    actor is not None and actor.instance is not None,
                    len(actor.sockets) if actor is not None else 0,
                    None if alarm is None else alarm / NS_PER_SECOND,
                )
            )
    return rows


def panel(engine: DurableObjects) -> Panel:
    rows = [
        (row.worker, row.class_name, row.id, row.name, row.awake, row.sockets, row.alarm)
        for row in objects(engine.namespaces)
    ]
    columns = ("Worker", "Class", "Id", "Name", "Awake", "Sockets", "Alarm")
    which = ("class_name", "object")
    actions = (
        Action("evict", engine.evict, which),
        Action("evict_all", engine.evict_all),
        Action("abort", engine.abort, which),
        Action("delete", engine.delete, which),
        Action("fire", engine.fire, which),
    )
    return Panel("Durable Objects", [Table("Objects", columns, rows)], {action.name: action for action in actions})
