"""Tail workers: what a consumer hears of its producer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pyflare.engines.tails.config import Consumer
from pyflare.engines.tails.engine import Tails
from pyflare.engines.tails.items import redact_url
from pyflare.testing import Harness
from tests.support.rooms import Bench, faults

PAGE = "developers.cloudflare.com/workers/runtime-apis/handlers/tail"

PRODUCER = """
import sys
import asyncio
from urllib.parse import urlsplit
from js import console
from workers import DurableObject, Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = urlsplit(request.url).path
        if path == "/heard":
            return await self.env.SINK.fetch(request)
        if path == "/boom":
            raise ValueError("no")
        if path == "/late":
            self.ctx.waitUntil(self.late())
        if path == "/room":
            return Response(await self.room.hello())
        if path == "/room/fetch":
            return await self.room.fetch("http://room/inner")
        if path == "/much":
            for _ in range(3):
                print("x" * 200_000)
        if path == "/own":
            return Response(await self.ctx.exports.Other.double(4))
        print("printed")
        print("part", end="")
        print("warned", file=sys.stderr)
        console.error("said", 2, None)
        return Response("ok", status=201)

    @property
    def room(self):
        return self.env.ROOM.get(self.env.ROOM.idFromName("lobby"))

    async def late(self):
        await asyncio.sleep(0.01)
        print("later")
        raise KeyError("gone")

    async def scheduled(self, controller, env, ctx):
        print("cron")

    async def queue(self, batch, env, ctx):
        pass

class Other(WorkerEntrypoint):
    async def double(self, n):
        return str(2 * n)

class Room(DurableObject):
    async def hello(self):
        print("in the room")
        await self.ctx.storage.setAlarm(1_700_000_000_500)
        return "hello"

    async def fetch(self, request):
        return Response("inner")

    async def alarm(self):
        print("rings")
"""
SINK = """
import json
from js import JSON
from workers import Response, WorkerEntrypoint

heard = []

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("[" + ",".join(heard) + "]")

    async def tail(self, events, env, ctx):
        assert env is None and ctx is None
        heard.extend(JSON.stringify(item) for item in events)
        for item in events:
            if item.event and getattr(item.event, "request", None):
                heard.append(json.dumps({"unredacted": item.event.request.getUnredacted().url}))
"""
BASE = {"compatibility_date": "2026-08-01", "compatibility_flags": ["python_workers"]}


def run(
    folder: Path, test: Callable[[Harness], Awaitable[Any]], sink: str = SINK, consumers: str = "tail_consumers"
) -> tuple[Any, str]:
    """`test` on a producer whose consumer hears of it; its result, and what the server said."""
    producer = {
        **BASE,
        "name": "producer",
        "main": "producer.py",
        consumers: [{"service": "sink"}, {"service": "elsewhere"}],
        "services": [{"binding": "SINK", "service": "sink"}],
        "durable_objects": {"bindings": [{"name": "ROOM", "class_name": "Room"}]},
        "migrations": [{"tag": "v1", "new_sqlite_classes": ["Room"]}],
        "queues": {"producers": [{"binding": "JOBS", "queue": "jobs"}], "consumers": [{"queue": "jobs"}]},
    }
    (folder / "producer.py").write_text(PRODUCER)
    (folder / "sink.py").write_text(sink)
    (folder / "producer.json").write_text(json.dumps(producer))
    (folder / "sink.json").write_text(json.dumps({**BASE, "name": "sink", "main": "sink.py"}))

    async def opened() -> tuple[Any, str]:
        async with Harness(folder / "producer.json", folder / "sink.json") as worker:
            return await test(worker), worker.terminal

    return asyncio.run(opened())


def items(folder: Path, *paths: str, headers: dict[str, str] | None = None, **options: Any) -> list[Any]:
    """What the consumer heard of requests of these paths, without the notes on unredacted addresses."""

    async def ask(worker: Harness) -> Any:
        for path in paths:
            try:
                await worker.fetch(path, headers=headers or {})
            except Exception:
                assert path == "/boom"
            await worker.settle()
        return await heard(worker)

    found: list[Any] = run(folder, ask, **options)[0]
    return found


async def heard(worker: Harness) -> list[Any]:
    await worker.settle()
    return [item for item in (await worker.fetch("/heard")).json() if "unredacted" not in item]


@pytest.mark.cloudflare(PAGE)
def test_an_item_tells_request_response_and_console(tmp_path: Path) -> None:
    (item,) = items(tmp_path, "/hello")
    request = item["event"]["request"]
    assert (request["method"], request["url"]) == ("GET", "http://localhost:8787/hello")
    assert request["cf"]["colo"]
    assert item["event"]["response"] == {"status": 201}
    assert (item["scriptName"], item["outcome"], item["exceptions"]) == ("producer", "ok", [])
    assert item["diagnosticsChannelEvents"] == []
    assert (item["executionModel"], item["truncated"], "entrypoint" in item) == ("stateless", False, False)
    at = item["eventTimestamp"]
    assert item["logs"] == [
        {"timestamp": at, "level": "log", "message": ["printed"]},
        {"timestamp": at, "level": "warn", "message": ["warned"]},
        {"timestamp": at, "level": "error", "message": ["said", 2, None]},
        {"timestamp": at, "level": "log", "message": ["part"]},
    ]


def test_an_exception_is_told_with_its_traceback(tmp_path: Path) -> None:
    (item,) = items(tmp_path, "/boom")
    (fault,) = item["exceptions"]
    assert item["outcome"] == "exception"
    assert fault["name"] == "PythonError"
    assert fault["message"].startswith("Traceback") and fault["message"].endswith("ValueError: no")
    assert "response" not in item["event"]


def test_waituntil_work_belongs_to_the_event(tmp_path: Path) -> None:
    (item,) = items(tmp_path, "/late")
    assert item["logs"][-1]["message"] == ["partlater"]
    assert item["exceptions"][0]["message"].endswith("KeyError: 'gone'")
    assert item["outcome"] == "ok"


def test_secrets_are_redacted(tmp_path: Path) -> None:
    given = {"Authorization": "Bearer 1", "Cookie": "a=1", "X-Api-Key": "1", "X-Plain": "seen"}
    (item,) = items(tmp_path, "/" + "0123abcd" * 4, headers=given)
    shown = item["event"]["request"]
    assert shown["url"] == "http://localhost:8787/REDACTED"
    names = ("authorization", "cookie", "x-api-key", "x-plain")
    assert [shown["headers"][name] for name in names] == ["REDACTED"] * 3 + ["seen"]


def test_the_consumer_may_ask_for_what_is_redacted(tmp_path: Path) -> None:
    async def ask(worker: Harness) -> Any:
        await worker.fetch("/" + "0123abcd" * 4)
        await worker.settle()
        return (await worker.fetch("/heard")).json()

    assert run(tmp_path, ask)[0][1] == {"unredacted": "http://localhost:8787/" + "0123abcd" * 4}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h/0123456789abcdef-0123-4567-89ab-cdef01234567", "http://h/REDACTED"),
        ("http://h/0123456789abcdef0123456789abcde", "http://h/0123456789abcdef0123456789abcde"),
        ("http://h/?q=Ab1Cd2Ef3Gh4Ij5Kl6Mn7&r=1", "http://h/?q=REDACTED&r=1"),
        ("http://h/a-long-name-of-a-page-with-2026-in-it", "http://h/a-long-name-of-a-page-with-2026-in-it"),
    ],
)
def test_what_looks_like_an_id_is_redacted(url: str, shown: str) -> None:
    assert redact_url(url) == shown


def test_calls_of_another_entrypoint_are_events(tmp_path: Path) -> None:
    called, caller = items(tmp_path, "/own")
    assert (called["entrypoint"], called["event"]) == ("Other", {"rpcMethod": "double"})
    assert caller["event"]["request"]["url"].endswith("/own")


def test_what_objects_do_is_told(tmp_path: Path) -> None:
    async def ask(worker: Harness) -> Any:
        await worker.fetch("/room")
        await worker.settle()
        await worker.advance(1)
        await worker.fetch("/room/fetch")
        return [item for item in await heard(worker) if item["executionModel"] == "durableObject"]

    call, alarm, request = run(tmp_path, ask)[0]
    assert {item["entrypoint"] for item in (call, alarm, request)} == {"Room"}
    assert (call["event"], call["logs"][0]["message"]) == ({"rpcMethod": "hello"}, ["in the room"])
    assert alarm["event"] == {"scheduledTime": "2023-11-14T22:13:20.500Z"}
    assert request["event"]["request"]["url"] == "http://room/inner"
    assert request["event"]["response"] == {"status": 200}


def test_crons_and_batches_are_told(tmp_path: Path) -> None:
    async def ask(worker: Harness) -> Any:
        await worker.scheduled("0 0 * * *", 7200)
        worker.queue("jobs").send(1)
        await worker.advance(60)
        return await heard(worker)

    cron, batch = run(tmp_path, ask)[0]
    assert cron["event"] == {"cron": "0 0 * * *", "scheduledTime": 7_200_000}
    assert batch["event"] == {"queue": "jobs", "batchSize": 1}


def test_a_flood_of_messages_is_cut(tmp_path: Path) -> None:
    (item,) = items(tmp_path, "/much")
    assert item["truncated"]
    assert [log["message"][0][:23] for log in item["logs"]] == ["x" * 23, "Log size limit exceeded"]


def test_streaming_consumers_hear_of_events_that_have_ended(tmp_path: Path) -> None:
    (item,) = items(tmp_path, "/hello", consumers="streaming_tail_consumers")
    assert item["outcome"] == "ok"


def test_a_consumer_that_fails_is_a_line_and_the_producer_goes_on(tmp_path: Path) -> None:
    sink = SINK.replace("assert env is None and ctx is None", "raise ValueError('deaf')")

    async def ask(worker: Harness) -> Any:
        status = (await worker.fetch("/hello")).status
        await worker.settle()
        return status

    status, terminal = run(tmp_path, ask, sink)
    assert status == 201
    assert "Uncaught (in sink.tail)" in terminal and "ValueError: deaf" in terminal


def test_a_consumer_without_a_handler_is_told_at_the_start(tmp_path: Path) -> None:
    async def nothing(worker: Harness) -> None:
        return

    sink = SINK.replace("async def tail", "async def other")
    assert 'Worker "sink" is a tail consumer, but has no `tail' in run(tmp_path, nothing, sink)[1]


def test_a_consumer_that_runs_elsewhere_costs_nothing(tmp_path: Path) -> None:
    room = Bench(tmp_path).open(Tails, {"tail_consumers": [{"service": "elsewhere"}]})
    assert room.listeners() == {}


def test_both_keys_name_consumers(tmp_path: Path) -> None:
    sections = {"tail_consumers": [{"service": "a"}], "streaming_tail_consumers": [{"service": "b"}]}
    config = Bench(tmp_path).config(sections)
    assert not faults(Tails, config).faults
    assert list(Tails.parse(config, faults(Tails, config))) == [Consumer("b"), Consumer("a")]


def test_a_consumer_without_a_name_is_a_fault(tmp_path: Path) -> None:
    assert faults(Tails, Bench(tmp_path).config({"tail_consumers": [{}]})).faults
