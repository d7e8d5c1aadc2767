"""What only real sockets can show: addresses, TLS, the terminal's order, clients as people have them."""

from __future__ import annotations

import asyncio
import http.client
import json
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.dev import Dev, project

SOURCE = """
import asyncio, logging, os, sys, time
from datetime import datetime
import js
from workers import DurableObject, Response, WorkerEntrypoint

class Room(DurableObject):
    async def fetch(self, request):
        client, server = js.WebSocketPair.new().object_values()
        self.ctx.acceptWebSocket(server)
        return Response(None, status=101, web_socket=client)

    async def webSocketMessage(self, socket, message):
        for one in self.ctx.getWebSockets():
            one.send(message)

    async def webSocketClose(self, socket, code, reason, clean):
        socket.close(code, reason)

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = js.URL.new(request.url).pathname
        if path == "/room":
            if request.headers.get("upgrade") != "websocket":
                return Response("WebSocket only", status=426)
            return await self.env.ROOM.get(self.env.ROOM.idFromName("one")).fetch(request.js_object)
        if path == "/say":
            print("printed")
            logging.warning("logged")
            js.console.log("consoled")
            print("to stderr", file=sys.stderr)
        if path == "/surroundings":
            offset = datetime.now().astimezone().utcoffset().total_seconds()
            return Response.json({"environ": dict(os.environ), "offset": offset})
        if path == "/stream":
            pipe = js.TransformStream.new()
            writer = pipe.writable.getWriter()
            async def feed():
                for number in range(3):
                    await writer.write(js.TextEncoder.new().encode(f"part {number};"))
                    await asyncio.sleep(0.1)
                await writer.close()
            asyncio.create_task(feed())
            return Response(pipe.readable, headers={"content-type": "text/event-stream"})
        if path == "/later":
            async def later():
                await asyncio.sleep(0.1)
                print("done later")
            self.ctx.waitUntil(later())
        if path == "/upload":
            return Response(str(len(await request.bytes())))
        return Response(request.url)

    async def scheduled(self, controller, env, ctx):
        print("cron", controller.cron)
"""
CONFIG = {
    "durable_objects": {"bindings": [{"name": "ROOM", "class_name": "Room"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Room"]}],
}


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with Dev(project(tmp_path_factory.mktemp("serving"), SOURCE, **CONFIG)) as running:
        yield running


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_both_loopback_addresses_answer(dev: Dev, host: str) -> None:
    connection = dev.connect(host)
    connection.request("GET", "/where")
    assert connection.getresponse().read().endswith(b"/where")
    connection.close()


def test_the_bindings_are_listed_before_it_is_ready(dev: Dev) -> None:
    at = next(number for number, line in enumerate(dev.lines) if "Ready on http://localhost:" in line)
    assert any("env.ROOM (Room)" in line and "Durable Object" in line for line in dev.lines[:at])


def test_what_a_worker_says_is_in_order_with_the_line_of_its_request(dev: Dev) -> None:
    dev.get("/say")
    dev.wait_for("GET /say 200 OK")
    said = [line for line in dev.lines[-8:] if "GET" not in line]
    assert [line.split()[-1].rpartition(":")[2] for line in said[-4:]] == ["printed", "logged", "consoled", "stderr"]


def test_the_surroundings_are_cloudflares(dev: Dev) -> None:
    surroundings = json.loads(dev.get("/surroundings")[1])
    assert surroundings == {"environ": {"HOME": "/session", "PYTHONHASHSEED": "111"}, "offset": 0.0}


def test_a_stream_arrives_piece_by_piece(dev: Dev) -> None:
    connection = dev.connect()
    begun = time.monotonic()
    connection.request("GET", "/stream", headers={"Accept-Encoding": "gzip"})
    response = connection.getresponse()
    arrived = [(response.read1(), time.monotonic() - begun) for _ in range(3)]
    assert [piece for piece, _ in arrived] == [b"part 0;", b"part 1;", b"part 2;"]
    assert arrived[0][1] < 0.1 < arrived[1][1] < arrived[2][1]
    connection.close()


def test_work_of_wait_until_outlives_the_answer_and_the_client(dev: Dev) -> None:
    dev.get("/later")
    dev.wait_for("done later")


def test_a_large_upload_with_expect_100(dev: Dev) -> None:
    body = b"x" * 3_000_000
    assert dev.request("POST", "/upload", body, {"Expect": "100-continue"})[1] == "3000000"


def test_the_cron_hook_runs_the_handler(dev: Dev) -> None:
    assert dev.get("/__scheduled?cron=0+9+*+*+1") == (200, "Ran scheduled event")
    dev.wait_for("cron 0 9 * * 1")


def test_a_foreign_host_may_not_use_control_paths(dev: Dev) -> None:
    assert dev.get("/cdn-cgi/handler/scheduled", Host="evil.example") == (403, "Invalid Host header")


def test_two_clients_see_each_other_and_one_that_dies_leaves_the_other_served(dev: Dev) -> None:
    async def run() -> None:
        async with connect(f"ws://127.0.0.1:{dev.port}/room") as one, connect(f"ws://[::1]:{dev.port}/room") as two:
            await one.send("to all")
            assert [await one.recv(), await two.recv()] == ["to all", "to all"]
            one.transport.abort()
            await two.send(b"\x00still here")
            assert await two.recv() == b"\x00still here"
            await two.close(4001, "bye")
            assert (two.close_code, two.close_reason) == (4001, "bye")

    asyncio.run(run())


def test_a_two_megabyte_message_passes_and_a_plain_request_gets_426(dev: Dev) -> None:
    async def run() -> None:
        async with connect(f"ws://127.0.0.1:{dev.port}/room", max_size=None) as one:
            await one.send("x" * 2_000_000)
            assert len(await one.recv()) == 2_000_000
        with pytest.raises(InvalidStatus):
            await connect(f"ws://127.0.0.1:{dev.port}/other")

    asyncio.run(run())
    assert dev.get("/room") == (426, "WebSocket only")


def test_many_requests_at_once_are_all_answered(dev: Dev) -> None:
    async def one(number: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", dev.port)
        writer.write(f"GET /{number} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer

    async def run() -> list[bytes]:
        return await asyncio.gather(*(one(number) for number in range(300)))

    assert all(b" 200 OK" in answer for answer in asyncio.run(run()))


def test_a_reload_closes_sockets_with_1012_and_new_ones_get_the_new_code(tmp_path: Path) -> None:
    folder = project(tmp_path, SOURCE, **CONFIG)

    async def run(dev: Dev) -> None:
        async with connect(f"ws://127.0.0.1:{dev.port}/room") as one:
            (folder / "entry.py").write_text(SOURCE.replace("one.send(message)", "one.send('new ' + message)"))
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(one.recv(), 5)
            assert one.close_code == 1012
        async with connect(f"ws://127.0.0.1:{dev.port}/room") as two:
            await two.send("code")
            assert await two.recv() == "new code"

    with Dev(folder) as dev:
        asyncio.run(run(dev))


def test_https_and_json_lines(tmp_path: Path) -> None:
    folder = project(tmp_path, SOURCE, **CONFIG)
    with Dev(folder, "--local-protocol", "https", "--log-format", "json") as dev:
        trusting = ssl.create_default_context(cafile=str(folder / ".wrangler/state/v3/pyflare/local.crt"))
        connection = http.client.HTTPSConnection("localhost", dev.port, timeout=5, context=trusting)
        connection.request("GET", "/secure")
        assert connection.getresponse().read() == f"https://localhost:{dev.port}/secure".encode()
        connection.close()
        line = json.loads(dev.wait_for("/secure"))
        assert (line["method"], line["path"], line["status"]) == ("GET", "/secure", 200)
