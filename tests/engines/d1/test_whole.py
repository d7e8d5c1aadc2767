"""A worker on D1 and on an object's storage, through Cloudflare's SDK."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import apsw

from pyflare.engines.d1.store import path_of
from pyflare.storage.layout import Layout
from pyflare.testing import Harness

CONFIG = {
    "name": "whole",
    "main": "entry.py",
    "compatibility_date": "2026-08-01",
    "compatibility_flags": ["python_workers"],
    "d1_databases": [{"binding": "DB", "database_id": "whole-db"}],
    "durable_objects": {"bindings": [{"name": "LEDGER", "class_name": "Ledger"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Ledger"]}],
}
ENTRY = """
from datetime import datetime
from urllib.parse import urlparse

from workers import DurableObject, Response, WorkerEntrypoint


class Ledger(DurableObject):
    async def tour(self):
        storage = self.ctx.storage
        storage.sql.exec("CREATE TABLE IF NOT EXISTS entries (id INTEGER PRIMARY KEY, amount INTEGER)")
        storage.sql.exec("INSERT INTO entries (amount) VALUES (?), (?)", 100, -30)
        await storage.put({"settings": {"open": True}, "when": datetime(2024, 5, 6)})

        async def overdraw(txn):
            await txn.put("settings", {"open": False}["open"])
            raise ValueError("no")

        try:
            await storage.transaction(overdraw)
        except Exception as error:
            refused = error.message.strip().splitlines()[-1]
        return {
            "sum": storage.sql.exec("SELECT sum(amount) AS s FROM entries").one().s,
            "rows": [list(row) for row in storage.sql.exec("SELECT id, amount FROM entries").raw()],
            "settings": await storage.get("settings"),
            "when": (await storage.get("when")).isoformat(),
            "keys": list(await storage.list(reverse=True)),
            "refused": refused,
        }


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = urlparse(request.url).path
        db = self.env.DB
        if path == "/migrate":
            await db.exec("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT, data BLOB)")
            return Response("done")
        if path == "/add":
            result = await db.prepare("INSERT INTO notes (text, data) VALUES (?, ?)").bind("é", b"\\x01\\x02").run()
            return Response.json(result.meta.changes)
        if path == "/notes":
            return Response.json((await db.prepare("SELECT * FROM notes").all()).results)
        if path == "/fail":
            try:
                await db.batch([db.prepare("INSERT INTO notes (text) VALUES ('x')"), db.prepare("SELECT * FROM gone")])
            except Exception as error:
                return Response.json([type(error).__name__, str(error)])
        return Response.json(await self.env.LEDGER.getByName("main").tour())
"""


def worker(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "wrangler.jsonc").write_text(json.dumps(CONFIG))
    (folder / "entry.py").write_text(ENTRY)
    return folder


async def answers(folder: Path, *paths: str) -> list[Any]:
    async with Harness(worker(folder), state=folder / "state") as server:
        return [(await server.fetch(path)).text for path in paths]


def test_rows_come_as_dicts_and_survive_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "whole"
    assert asyncio.run(answers(folder, "/migrate", "/add")) == ["done", "1"]
    [notes] = asyncio.run(answers(folder, "/notes"))
    assert json.loads(notes) == [{"id": 1, "text": "é", "data": [1, 2]}]


def test_a_failed_batch_leaves_nothing(tmp_path: Path) -> None:
    _, failed, notes = asyncio.run(answers(tmp_path / "whole", "/migrate", "/fail", "/notes"))
    assert json.loads(failed) == ["JsException", "Error: D1_ERROR: no such table: gone: SQLITE_ERROR"]
    assert json.loads(notes) == []


def test_another_process_may_write_the_file_that_is_served(tmp_path: Path) -> None:
    folder = worker(tmp_path / "whole")

    async def main() -> Any:
        async with Harness(folder, state=folder / "state") as server:
            await server.fetch("/migrate")
            [path] = (folder / "state").rglob(path_of(Layout(tmp_path), "whole-db").name)
            other = apsw.Connection(str(path))
            other.execute("INSERT INTO notes (text) VALUES ('from outside')")
            other.close()
            return (await server.fetch("/notes")).json()

    assert asyncio.run(main()) == [{"id": 1, "text": "from outside", "data": None}]


def test_an_object_keeps_sql_rows_and_pairs_in_one_file(tmp_path: Path) -> None:
    [tour] = asyncio.run(answers(tmp_path / "whole", "/ledger"))
    assert json.loads(tour) == {
        "sum": 70,
        "rows": [[1, 100], [2, -30]],
        "settings": {"open": True},
        "when": "2024-05-06T00:00:00",
        "keys": ["when", "settings"],
        "refused": "ValueError: no",
    }
