"""What the dashboard shows of D1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pyflare.engines.base import Action, Panel, Table
from pyflare.engines.d1.script import Answer
from pyflare.engines.d1.store import D1Store, Query, Result

if TYPE_CHECKING:
    from pyflare.engines.d1.engine import D1

SHOWN_ROWS = 100


def of(room: D1) -> Panel:
    tables = [
        Table(
            f"{name} ({database})",
            ("table", "rows"),
            [list(row) for row in room.store(database).tables()],
            ("table",),
            {"database": database},
        )
        for database, name in room.databases.items()
    ]

    def query(database: str, sql: str) -> list[dict[str, Any]]:
        return rows(room.store(database), sql)

    def browse(database: str, table: str) -> list[dict[str, Any]]:
        return _shown(room.store(database).browse(table, SHOWN_ROWS))

    async def execute(database: str, sql: str) -> list[Any]:
        outcome = await room.execute(database, sql)
        return [outcome.durations, [[at, *_answer(answer)] for at, answer in outcome.answers.items()]]

    actions = (
        Action("browse", browse, ("database", "table")),
        Action("query", query, ("database", "sql")),
        Action("execute", execute, ("database", "sql")),
    )
    return Panel("D1", tables, {action.name: action for action in actions})


def rows(store: D1Store, sql: str) -> list[dict[str, Any]]:
    """What a text gives, as plain data; a BLOB is shown as hex."""
    return _shown(store.run([Query(sql)])[-1])


def _answer(answer: Answer) -> Answer:
    """With cells that JSON can hold; a BLOB is the text that wrangler prints."""
    return answer._replace(rows=[tuple([_cell(cell) for cell in row]) for row in answer.rows])


def _cell(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return f"[{', '.join(map(str, cell))}]"
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _shown(result: Result) -> list[dict[str, Any]]:
    return [
        {name: cell.hex() if isinstance(cell, bytes) else cell for name, cell in zip(result.columns, row, strict=True)}
        for row in result.rows
    ]
