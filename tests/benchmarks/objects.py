"""Durable Objects: an RPC call with a durable put, against the same worker's hello and npm's miniflare.

    python -m tests.benchmarks.objects [seconds of each measurement] [rounds] [node_modules with miniflare]

Wanted with 20 connections: 0.4 of hello and 3 times miniflare, for one object and for a hundred. Needs wrk.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.common import (
    Running,
    free_port,
    in_turn,
    interpreter,
    load,
    miniflare,
    pyflare,
    server,
    worker_folder,
)

CONNECTIONS = 20
ROUTES = {"hello": "hello", "one object": "one", "hundred objects": "hundred"}

WORKER = """
from workers import DurableObject, Response, WorkerEntrypoint

calls = 0


class Counter(DurableObject):
    async def add(self):
        count = (await self.ctx.storage.get("count") or 0) + 1
        await self.ctx.storage.put("count", count)
        return count


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        global calls
        calls += 1
        path = request.url.rsplit("/", 1)[1]
        if path not in ("one", "hundred"):
            return Response("Hello World!")
        name = "one" if path == "one" else str(calls % 100)
        return Response(str(await self.env.COUNTER.getByName(name).add()))
"""
CONFIG: dict[str, Any] = {
    "durable_objects": {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
}
PEER_WORKER = """
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  async add() {
    const count = ((await this.ctx.storage.get("count")) || 0) + 1;
    await this.ctx.storage.put("count", count);
    return count;
  }
}
let calls = 0;
export default {
  async fetch(request, env) {
    calls += 1;
    const path = new URL(request.url).pathname.slice(1);
    if (path != "one" && path != "hundred") return new Response("Hello World!");
    const name = path == "one" ? "one" : String(calls % 100);
    return new Response(String(await env.COUNTER.getByName(name).add()));
  },
};
"""


@dataclass
class Route(Running):
    """One path of a server."""

    path: str = ""

    @property
    def url(self) -> str:
        return f"{super().url}{self.path}"


def peer(root: Path, modules: Path) -> tuple[str, list[str], int, Path]:
    objects = {"COUNTER": {"className": "Counter", "useSQLite": True}}
    return miniflare(root, modules, PEER_WORKER, durableObjects=objects, durableObjectsPersist=str(root / "state"))


def measure(running: Running, seconds: float, rounds: int) -> dict[str, tuple[float, float]]:
    routes: Sequence[Running] = [Route(name, running.port, running.process, path) for name, path in ROUTES.items()]
    for route in routes:
        load(route, CONNECTIONS, 2)  # makes the objects
    return in_turn(lambda route: load(route, CONNECTIONS, seconds), routes, rounds)


def show(title: str, taken: dict[str, tuple[float, float]]) -> None:
    hello = taken["hello"]
    for name, (rate, cpu) in taken.items():
        print(
            f"{title:20} {name:16} {rate:8.0f}/s {rate / hello[0]:5.2f} of hello   CPU {hello[1] / cpu:5.2f} of hello"
        )


def main(seconds: float, rounds: int, modules: Path | None) -> None:
    print(interpreter())
    with tempfile.TemporaryDirectory() as root:
        for durability in ("normal", "full"):
            folder = worker_folder(Path(root) / durability, WORKER, **CONFIG)
            name, command, port, cwd = pyflare(folder, free_port())
            with server(name, [*command, "--durability", durability], port, cwd) as running:
                show(f"pyflare {durability}", measure(running, seconds, rounds))
        if modules is not None:
            with server(*peer(Path(root) / "peer", modules)) as running:
                show("miniflare", measure(running, seconds, rounds))


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 4,
        int(sys.argv[2]) if len(sys.argv) > 2 else 3,
        Path(sys.argv[3]) if len(sys.argv) > 3 else None,
    )
