"""What the dashboard shows of KV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table

if TYPE_CHECKING:
    from pyflare.engines.kv.engine import Kv

SHOWN_KEYS = 100


def of(room: Kv, now: float) -> Panel:
    tables = []
    for namespace_id in room.namespace_ids:
        store = room.namespace(namespace_id).store
        entries, _ = store.list(now, limit=SHOWN_KEYS)
        rows: list[list[Any]] = [
            [entry.key, None if entry.expiration is None else entry.expiration // 1000, entry.metadata]
            for entry in entries
        ]
        title = f"{namespace_id} ({store.count(now)} keys)"
        tables.append(Table(title, ("key", "expiration", "metadata"), rows, ("key",), {"namespace": namespace_id}))

    def read(namespace: str, key: str) -> str | None:
        value = room.namespace(namespace).get(key)
        return None if value is None else value.data.decode("utf-8", "replace")

    def put(namespace: str, key: str, value: str) -> None:
        room.namespace(namespace).write(key, value.encode())

    def delete(namespace: str, key: str) -> None:
        room.namespace(namespace).remove(key)

    actions = {
        "get": Action("get", read, ("namespace", "key")),
        "put": Action("put", put, ("namespace", "key", "value")),
        "delete": Action("delete", delete, ("namespace", "key"), danger=True),
    }
    return Panel("KV", tables, actions)
