"""SQL that an operator runs on one object: an event of that object like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyflare.engines.durable_objects.sql import bound
from pyflare.errors import EngineError
from pyflare.interop.json import from_plain
from pyflare.storage.sql_guard import SqlError
from pyflare.storage.sql_runner import Row

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.actor import Actor
    from pyflare.engines.durable_objects.store import ObjectStore

Query = tuple[str, Sequence[Any]]  # SQL and its parameters, as JSON gives them


@dataclass(frozen=True)
class Found:
    """What one query gave; `read` and `written` are rows."""

    columns: Sequence[str]
    rows: Sequence[Row]
    read: int
    written: int


async def run(actor: Actor, queries: Sequence[Query]) -> Sequence[Found]:
    """Run the queries, several of them in one transaction. Raises `EngineError` with SQLite's text."""

    async def work(_: Any) -> Sequence[Found] | SqlError:
        assert actor.instance is not None
        store = actor.instance.store
        try:
            if len(queries) == 1:
                return [_one(store, *queries[0])]
            found: Sequence[Found] = store.synchronously(lambda: [_one(store, *query) for query in queries])
            return found
        except SqlError as fault:  # given back, since what an event raises is told on the terminal
            return fault

    found: Sequence[Found] | SqlError = await actor.run(work, "query")
    if isinstance(found, SqlError):
        raise EngineError(found.message)
    return found


def _one(store: ObjectStore, sql: str, params: Sequence[Any]) -> Found:
    rows = store.runner.run(sql, [bound(from_plain(value)) for value in params])
    return Found(rows.columns, rows.all(), rows.read, rows.written)
