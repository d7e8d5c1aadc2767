"""Broadcast in a room of 100 sockets, relative to a bare ASGI loop on uvicorn's `websockets-sansio`. Wanted: 0.8.

    python -m tests.benchmarks.room [seconds of each measurement] [rounds] [clients]

Every client sends its next message when it got its own back; what is counted are messages that arrived anywhere.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import multiprocessing
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.common import (
    LOAD_CORE,
    Running,
    free_port,
    in_turn,
    interpreter,
    pyflare,
    server,
    uvicorn,
    worker_folder,
)

ROOM = """
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

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if request.headers.get("upgrade") != "websocket":
            return Response("Hello World!")
        return await self.env.ROOM.get(self.env.ROOM.idFromName("one")).fetch(request.js_object)
"""
CONFIG: dict[str, Any] = {
    "durable_objects": {"bindings": [{"name": "ROOM", "class_name": "Room"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Room"]}],
}
SIZE = 32


class Client(asyncio.Protocol):
    """Small unmasked-looking frames: a mask of zeros leaves the payload as it is."""

    arrived = 0

    def __init__(self, number: int, port: int) -> None:
        self.own = f"{number:05}".encode()
        self.frame = bytes((0x81, 0x80 | SIZE, 0, 0, 0, 0)) + self.own.ljust(SIZE, b"x")
        self.port = port
        self.buffer = b""
        self.opened = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        key = base64.b64encode(os.urandom(16)).decode()
        lines = ("GET / HTTP/1.1", f"Host: 127.0.0.1:{self.port}", "Upgrade: websocket", "Connection: Upgrade",
                 f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", "")  # fmt: skip
        transport.write("\r\n".join(lines).encode())  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        data = self.buffer + data
        if not self.opened.done():
            head, found, data = data.partition(b"\r\n\r\n")
            if not found:
                self.buffer = head
                return
            self.opened.set_result(None)
        whole = len(data) // (SIZE + 2)
        Client.arrived += whole
        for at in range(whole):
            start = at * (SIZE + 2) + 2
            if data[start : start + 5] == self.own:
                self.send()
        self.buffer = data[whole * (SIZE + 2) :]

    def send(self) -> None:
        self.transport.write(self.frame)  # type: ignore[attr-defined]


async def load(port: int, clients: int, seconds: float) -> float:
    """Messages that arrived, a second."""
    loop = asyncio.get_running_loop()
    joined = [
        (await loop.create_connection(partial(Client, number, port), "127.0.0.1", port))[1] for number in range(clients)
    ]
    await asyncio.gather(*(client.opened for client in joined))
    for client in joined:
        client.send()
    await asyncio.sleep(0.5)
    Client.arrived, begun = 0, loop.time()
    await asyncio.sleep(seconds)
    rate = Client.arrived / (loop.time() - begun)
    for client in joined:
        client.transport.abort()  # type: ignore[attr-defined]
    await asyncio.sleep(0.2)
    return rate


def in_process(port: int, clients: int, seconds: float, rates: multiprocessing.SimpleQueue[float]) -> None:
    import uvloop

    os.sched_setaffinity(0, {LOAD_CORE})
    rates.put(uvloop.run(load(port, clients, seconds)))


def main(seconds: float, rounds: int, clients: int) -> None:
    print(interpreter())
    rates: multiprocessing.SimpleQueue[float] = multiprocessing.SimpleQueue()

    def measure(running: Running) -> tuple[float, float]:
        before = running.cpu_seconds()
        process = multiprocessing.Process(target=in_process, args=(running.port, clients, seconds, rates))
        process.start()
        process.join()
        rate = rates.get()
        return rate, (running.cpu_seconds() - before) / (rate * (seconds + 0.5)) * 1e6

    with tempfile.TemporaryDirectory() as root, contextlib.ExitStack() as stack:
        folder = worker_folder(Path(root) / "room", ROOM, **CONFIG)
        ws = ("--ws", "websockets-sansio", "--ws-per-message-deflate", "false")
        servers = [
            stack.enter_context(server(*uvicorn("apps:room", free_port(), *ws))),
            stack.enter_context(server(*pyflare(folder, free_port()))),
        ]
        found = in_turn(measure, servers, rounds)
        base, base_cpu = found["uvicorn"]
        for name, (rate, cpu) in found.items():
            rated, costs = f"{rate:8.0f} messages/s ({rate / base:.2f})", f"{cpu:5.1f} us ({base_cpu / cpu:.2f})"
            print(f"{clients} sockets  {name:8} {rated}  {costs}")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(float(given[0]) if given else 3.0, int(given[1]) if given[1:] else 3, int(given[2]) if given[2:] else 100)
