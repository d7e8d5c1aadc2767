"""What the dashboard shows of D1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table
from pyflare.engines.d1.store import D1Store, Query

if TYPE_CHECKING:
    from pyflare.engines.d1.engine import D1


def of(room: D1) -> Panel:
    tables = [
        Table(f"{name} ({database})", ("table", "rows"), [list(row) for row in room.store(database).tables()])
        for database, name in room.databases.items()
    ]

    def query(database: str, sql: str) -> list[dict[str, Any]]:
        return rows(room.store(database), sql)

    return Panel("D1", tables, {"query": Action("query", query, ("database", "sql"))})


def rows(store: D1Store, sql: str) -> list[dict[str, Any]]:
    """What a text gives, as plain data; a BLOB is shown as hex."""
    result = store.run([Query(sql)])[-1]
    return [
        {name: cell.hex() if isinstance(cell, bytes) else cell for name, cell in zip(result.columns, row, strict=True)}
        for row in result.rows
    ]
