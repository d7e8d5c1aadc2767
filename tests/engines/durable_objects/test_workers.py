"""Objects of real workers, over the SDK: several workers, compatibility dates, exceptions as the caller sees them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pyflare.testing import Harness

ROOM = """
import asyncio
from js import WebSocketPair
from pyodide.ffi import create_proxy
from workers import DurableObject, Response, WorkerEntrypoint


class Room(DurableObject):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        self.closed = []

    async def fetch(self, request):
        if request.url.endswith("/raise"):
            raise ValueError("fetch went wrong")
        client, server = WebSocketPair.new().object_values()
        if request.url.endswith("/standard"):
            server.accept()
            server.addEventListener("message", create_proxy(lambda event: server.send(event.data)))
            server.addEventListener("close", create_proxy(lambda event: self.closed.append(server.readyState)))
        else:
            self.ctx.acceptWebSocket(server)
        return Response(None, status=101, web_socket=client)

    async def webSocketMessage(self, ws, message):
        ws.send(message)

    async def webSocketClose(self, ws, code, reason, was_clean):
        self.closed.append(ws.readyState)

    async def seen(self):
        return self.closed

    async def add(self):
        count = (await self.ctx.storage.get("count") or 0) + 1
        await self.ctx.storage.put("count", count)
        return count

    async def who(self):
        return self.ctx.id.name

    async def fail(self):
        raise ValueError("bad")

    async def use_own_namespace(self):
        return await self.ctx.exports.Room.getByName("other").add()

    async def facet(self):
        return await self.ctx.facets.get("child", lambda: {"class": self.ctx.exports.Child}).hello("you")

    async def count(self):
        return await self.ctx.storage.get("count") or 0

    async def call_out_and_block(self):
        asked = asyncio.ensure_future(self.env.SELF.fetch("http://localhost:8787/other/add"))
        await asyncio.sleep(0)

        async def until_it_is_served():
            async with asyncio.timeout(2):
                while not await self.env.ROOM.getByName("other").count():
                    await asyncio.sleep(0.001)

        await self.ctx.blockConcurrencyWhile(until_it_is_served)
        return (await asked).status

    async def background(self):
        async def work():
            await self.ctx.storage.put("count", 100)

        self.ctx.waitUntil(work())


class Child(DurableObject):
    async def hello(self, name):
        return f"hello {name}"
"""

DEFAULT = """

async def caught(awaitable):
    try:
        return [await awaitable]
    except Exception as error:
        return [type(error).__name__, str(error).strip()]


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        _, name, method = request.url.removeprefix("http://localhost:8787").split("/")
        stub = self.env.ROOM.getByName(name)
        if method in ("ws", "standard"):
            return await stub.fetch(request)
        if method == "raise":
            return Response.json(await caught(stub.fetch("http://room/raise")))
        return Response.json(await caught(getattr(stub, method)()))
"""

FAR = "from workers import Response, WorkerEntrypoint\n" + DEFAULT


def project(folder: Path, name: str, code: str, date: str = "2026-08-01", **sections: Any) -> Path:
    folder = folder / name
    (folder / "src").mkdir(parents=True)
    (folder / "src" / f"{name}.py").write_text(code)
    settings = {"name": name, "main": f"src/{name}.py", "compatibility_date": date} | sections
    settings["compatibility_flags"] = ["python_workers"]
    (folder / "wrangler.jsonc").write_text(json.dumps(settings))
    return folder / "wrangler.jsonc"


def near(folder: Path, date: str = "2026-08-01") -> Path:
    return project(
        folder,
        "near",
        ROOM + DEFAULT,
        date,
        durable_objects={"bindings": [{"name": "ROOM", "class_name": "Room"}]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Room"]}],
        services=[{"binding": "SELF", "service": "near"}],
    )


def far(folder: Path) -> Path:
    binding = {"name": "ROOM", "class_name": "Room", "script_name": "near"}
    return project(folder, "far", FAR, durable_objects={"bindings": [binding]})


def play(scene: Callable[[Harness], Coroutine[Any, Any, None]], *configs: Path) -> None:
    async def main() -> None:
        async with Harness(*configs) as worker:
            await scene(worker)

    asyncio.run(main())


async def ask(worker: Harness, path: str) -> Any:
    return (await worker.fetch(path)).json()


def test_50_requests_at_once_count_to_50(tmp_path: Path) -> None:
    async def scene(worker: Harness) -> None:
        answers = await asyncio.gather(*[ask(worker, "/a/add") for _ in range(50)])
        assert sorted(answers) == [[number] for number in range(1, 51)]

    play(scene, near(tmp_path))


def test_a_blocked_object_does_not_hold_up_the_service_that_it_called_before(tmp_path: Path) -> None:
    async def scene(worker: Harness) -> None:
        assert await ask(worker, "/a/call_out_and_block") == [200]

    play(scene, near(tmp_path))


def test_another_worker_reaches_the_same_object_by_script_name(tmp_path: Path) -> None:
    async def scene(worker: Harness) -> None:
        assert await ask(worker, "/a/add") == [1]
        assert await ask(worker, "/lobby/who") == ["lobby"]
        namespace = worker.server.engines["durable_objects"].namespace("near", "Room")
        assert list(namespace.stored()) == [namespace.id_of("a", None)]

    play(scene, far(tmp_path), near(tmp_path))


def test_a_socket_passes_through_another_worker(tmp_path: Path) -> None:
    async def scene(worker: Harness) -> None:
        socket = await worker.websocket("/a/ws")
        socket.send("through")
        assert await socket.receive() == "through"

    play(scene, far(tmp_path), near(tmp_path))


@pytest.mark.parametrize(
    ("date", "name", "start"),
    [("2026-04-20", "Error", "Error: PythonError: Traceback"), ("2026-04-21", "PythonError", "PythonError: Traceback")],
)
def test_exceptions_cross_as_the_date_says(tmp_path: Path, date: str, name: str, start: str) -> None:
    async def scene(worker: Harness) -> None:
        kind, text = await ask(worker, "/a/fail")
        assert kind == "JsException" and text.startswith(start) and text.endswith("ValueError: bad")
        kind, text = await ask(worker, "/a/raise")
        assert kind == "OSError" and text.endswith("ValueError: fetch went wrong")

    play(scene, near(tmp_path, date))


@pytest.mark.parametrize(("date", "states", "answered"), [("2026-04-06", [2], False), ("2026-04-07", [3], True)])
def test_accepted_sockets_are_answered_as_the_date_says(
    tmp_path: Path, date: str, states: list[int], answered: bool
) -> None:
    async def scene(worker: Harness) -> None:
        socket = await worker.websocket("/a/standard")
        socket.close(4001, "bye")
        await worker.settle()
        assert await ask(worker, "/a/seen") == [states]
        if answered:
            assert await socket.closed() == (4001, "bye")
        else:
            assert not socket._closed.is_set()

    play(scene, near(tmp_path, date))


@pytest.mark.parametrize("date", ["2026-04-06", "2026-08-01"])
def test_hibernating_sockets_are_answered_on_no_date(tmp_path: Path, date: str) -> None:
    async def scene(worker: Harness) -> None:
        socket = await worker.websocket("/a/ws")
        socket.close(4001, "bye")
        await worker.settle()
        assert await ask(worker, "/a/seen") == [[2]]
        assert not socket._closed.is_set()

    play(scene, near(tmp_path, date))


def test_exports_hold_namespaces_and_classes_for_facets(tmp_path: Path) -> None:
    async def scene(worker: Harness) -> None:
        assert await ask(worker, "/a/use_own_namespace") == [1]
        assert await ask(worker, "/other/add") == [2]
        assert await ask(worker, "/a/facet") == ["hello you"]

    play(scene, near(tmp_path))


def test_wait_until_takes_a_coroutine(tmp_path: Path) -> None:
    async def scene(worker: Harness) -> None:
        await ask(worker, "/a/background")
        await worker.settle()
        assert await ask(worker, "/a/add") == [101]

    play(scene, near(tmp_path))


def test_an_object_outlives_its_server(tmp_path: Path) -> None:
    config = near(tmp_path)

    async def main() -> None:
        for expected in (1, 2):
            async with Harness(config, state=tmp_path / "state") as worker:
                assert await ask(worker, "/a/add") == [expected]

    asyncio.run(main())
