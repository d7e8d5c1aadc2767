"""A worker with something in every room, and the explorer's apps asked in process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyflare.dashboard import EXPLORER, OBJECTS, app
from pyflare.testing import Harness

CONFIG = {
    "name": "shop",
    "main": "entry.py",
    "compatibility_date": "2026-08-01",
    "compatibility_flags": ["python_workers"],
    "kv_namespaces": [{"binding": "NOTES", "id": "notes-id"}, {"binding": "CACHED", "id": "a-cache"}],
    "d1_databases": [{"binding": "DB", "database_name": "orders", "database_id": "orders-id"}],
    "r2_buckets": [{"binding": "FILES", "bucket_name": "files"}],
    "queues": {
        "producers": [{"binding": "JOBS", "queue": "jobs"}, {"binding": "PULLED", "queue": "pulled"}],
        "consumers": [{"queue": "jobs", "max_batch_timeout": 0}, {"queue": "pulled", "type": "http_pull"}],
    },
    "workflows": [{"binding": "ONBOARDING", "name": "onboarding", "class_name": "Onboarding"}],
    "triggers": {"crons": ["0 1 * * *"]},
    "durable_objects": {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
}

ENTRY = """
from urllib.parse import urlsplit

from workers import DurableObject, Response, WorkerEntrypoint, WorkflowEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        name = urlsplit(request.url).path[1:]
        count = await self.env.COUNTER.getByName(name).increment()
        return Response(str(count))

    async def queue(self, batch, env, ctx):
        await self.env.NOTES.put("handled", batch.messages[0].body)

    async def scheduled(self, controller, env, ctx):
        await self.env.NOTES.put("ticked", controller.cron)


class Counter(DurableObject):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS counts (at INTEGER PRIMARY KEY)")

    async def increment(self):
        self.ctx.storage.sql.exec("INSERT INTO counts DEFAULT VALUES")
        await self.ctx.storage.setAlarm(4_102_444_800_000)
        return self.ctx.storage.sql.exec("SELECT count(*) AS count FROM counts").one()["count"]

    async def alarm(self, info):
        self.ctx.storage.sql.exec("DELETE FROM counts")


class Onboarding(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("create")
        async def create():
            return event["payload"]["tenant"]

        await create()
        await step.wait_for_event("approval", "approved")
"""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def result(self) -> Any:
        """Of an envelope that must say success."""
        answer = self.json()
        assert answer["success"] is True, answer
        return answer["result"]

    @property
    def error(self) -> tuple[int, int, str]:
        """Status, code and message of a refusal."""
        answer = self.json()
        assert answer["success"] is False and answer["result"] is None, answer
        first = answer["errors"][0]
        return self.status, first["code"], first["message"]


class Explorer:
    """The apps of one server."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self._apps = {
            EXPLORER: app.explorer(harness.server),
            OBJECTS: app.objects(harness.server),
        }

    async def api(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """A path of the REST API."""
        return await self.ask(method, f"{EXPLORER}/api{path}", body, **headers)

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """`body`: bytes as they are, anything else as JSON. Names of headers have _ for -."""
        prefix = next(prefix for prefix in self._apps if path.startswith(prefix))
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        pairs.append((b"host", b"localhost:8787"))
        if data:
            pairs.append((b"content-length", str(len(data)).encode()))
        return await _call(self._apps[prefix], prefix, method, path, pairs, data)


async def _call(
    served: Any, prefix: str, method: str, target: str, headers: Sequence[tuple[bytes, bytes]], data: bytes
) -> Answer:
    path, _, query = target.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": unquote(path), "raw_path": path.encode(), "query_string": query.encode(),
        "root_path": prefix, "headers": headers, "client": ("127.0.0.1", 1), "server": None,
    }  # fmt: skip
    sent: list[dict[str, Any]] = []
    received = [{"type": "http.request", "body": data, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return received.pop(0) if received else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await served(scope, receive, send)
    start, *pieces = sent
    pairs = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], pairs, b"".join(piece.get("body", b"") for piece in pieces))


def explore(folder: Path, visit: Callable[[Explorer], Awaitable[None]]) -> None:
    """Run `visit` against a server of the worker above."""
    (folder / "entry.py").write_text(ENTRY)
    (folder / "wrangler.json").write_text(json.dumps(CONFIG))

    async def run() -> None:
        async with Harness(folder / "wrangler.json", state=folder / "v3") as harness:
            await visit(Explorer(harness))

    asyncio.run(run())
