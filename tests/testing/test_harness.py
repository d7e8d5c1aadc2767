"""The harness: a worker in a test."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare import testing
from pyflare.testing import Hangs, Harness, harness

WORKER = """
import asyncio
import time
from datetime import datetime

from js import WebSocketPair
from workers import Response, WorkerEntrypoint

count = 0


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        global count
        path = request.url.rpartition("/")[2]
        if path == "echo":
            shown = [str(request.method), request.headers.get("content-type"), await request.text()]
            return Response.json(shown)
        if path == "cookies":
            return Response("", headers=[("set-cookie", "a=1"), ("set-cookie", "b=2")])
        if path == "hangs":
            self.ctx.waitUntil(asyncio.create_task(asyncio.Event().wait()))
        if path == "socket":
            client, server = WebSocketPair.new().object_values()
            server.accept()
            server.send("welcome")
            server.close(4000, "enough")
            return Response(None, status=101, web_socket=client)
        if path == "raises":
            raise ValueError("as asked")
        if path == "time":
            return Response.json([time.time(), datetime.now().timestamp()])
        if path == "zone":
            return Response(time.strftime("%z"))
        if path == "count":
            count += 1
            return Response.json(count)
        if path == "var":
            return Response(self.env.NAME)
        print("said")
        return Response("ok")
"""

Story = Callable[[Harness], Awaitable[Any]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "entry.py").write_text(WORKER)
    (tmp_path / "wrangler.toml").write_text(
        'name = "w"\nmain = "entry.py"\ncompatibility_date = "2026-08-01"\ncompatibility_flags = ["python_workers"]\n'
        '[vars]\nNAME = "configured"\n'
    )
    return tmp_path


def told(project: Path, story: Story, **options: Any) -> Any:
    async def run() -> Any:
        async with Harness(project, **options) as worker:
            return await story(worker)

    return asyncio.run(run())


def test_json_is_posted_as_such(project: Path) -> None:
    answer = told(project, lambda worker: worker.fetch("/echo", json={"a": 1}))
    assert answer.json() == ["POST", "application/json", '{"a": 1}']


def test_headers_of_one_name_stay_apart(project: Path) -> None:
    answer = told(project, lambda worker: worker.fetch("/cookies"))
    assert [value for name, value in answer.headers if name == "set-cookie"] == ["a=1", "b=2"]


def test_what_the_handler_raises_is_raised(project: Path) -> None:
    with pytest.raises(ValueError, match="as asked"):
        told(project, lambda worker: worker.fetch("/raises"))


def test_the_worker_sees_the_clock_of_the_test(project: Path) -> None:
    async def story(worker: Harness) -> Any:
        await worker.advance(100)
        return [(await worker.fetch("/time")).json(), worker.clock.now()]

    times, now = told(project, story)
    assert times == [now, now]


def test_local_time_is_utc_while_the_worker_is_open(project: Path) -> None:
    async def story(worker: Harness) -> Any:
        async with Harness(project) as other:
            first = (await other.fetch("/zone")).text
        return [first, (await worker.fetch("/zone")).text]

    assert told(project, story) == ["+0000", "+0000"]
    assert time.strftime("%z") == "+0545"


def test_a_socket_gives_frames_and_the_close(project: Path) -> None:
    async def story(worker: Harness) -> Any:
        socket = await worker.websocket("/socket")
        return [await socket.receive(), await socket.closed()]

    assert told(project, story) == ["welcome", (4000, "enough")]


def test_a_socket_that_is_not_accepted_says_what_was_answered(project: Path) -> None:
    with pytest.raises(AssertionError, match="answered 200"):
        told(project, lambda worker: worker.websocket("/"))


def test_what_never_ends_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "PATIENCE_SECONDS", 0.05)

    async def story(worker: Harness) -> None:
        await worker.fetch("/hangs")
        await worker.settle()

    with pytest.raises(Hangs, match="waitUntil"):
        told(project, story)


def test_vars_can_be_replaced(project: Path) -> None:
    assert told(project, lambda worker: worker.fetch("/var")).text == "configured"
    assert told(project, lambda worker: worker.fetch("/var"), vars={"NAME": "replaced"}).text == "replaced"


def test_each_harness_imports_the_worker_anew(project: Path) -> None:
    assert [told(project, lambda worker: worker.fetch("/count")).json() for _ in range(2)] == [1, 1]


def test_two_workers_can_be_open_at_once(project: Path) -> None:
    async def story(one: Harness) -> Any:
        async with Harness(project) as other:
            await one.fetch("/count")
            return [(await worker.fetch("/count")).json() for worker in (one, other)]

    assert told(project, story) == [2, 1]


@pytest.mark.pyflare("fixtures/counter")
async def test_a_marked_test_gets_a_worker(worker: Harness, tmp_path: Path) -> None:
    assert tmp_path.exists()
    assert (await worker.fetch("/increment")).json() == {"count": 1}


def test_options_of_dev_are_taken_beside_the_configuration(project: Path) -> None:
    options = testing.DevOptions(name="other", vars={"NAME": "from the options"})
    answer = told(project, lambda worker: worker.fetch("/var"), options=options)
    assert answer.text == "from the options"


def test_a_harness_that_is_not_open_says_how_to_open_it(project: Path) -> None:
    with pytest.raises(RuntimeError, match="async with Harness"):
        asyncio.run(Harness(project).advance(1))


def test_time_does_not_go_back(project: Path) -> None:
    with pytest.raises(ValueError, match=r"time does not go back: advance\(-5\)"):
        told(project, lambda worker: worker.advance(-5))
