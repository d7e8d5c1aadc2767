"""Queues: messages a second, what waiting messages cost, and how long one message takes.

python -m tests.benchmarks.queues [messages] [waiting messages] [URL of a peer with the same /queue paths]

Wanted: 1.5 times the peer's rate (npm's miniflare, whose broker is in memory, makes about 10,500 messages a second),
also with --durability full; a start with 100,000 delayed messages under 1 s and 150 MB; one message in under 3 ms.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.common import Running, ask, free_port, pyflare, server, worker_folder

WORKER = """
import time
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint

state = {"consumed": 0, "batches": 0}
took = []


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        given = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
        if url.path == "/queue/reset":
            state.update(consumed=0, batches=0)
        elif url.path == "/queue/produce":
            for start in range(0, given["count"], given["batch"]):
                numbers = range(start, min(start + given["batch"], given["count"]))
                await self.env.Q.sendBatch([{"body": {"n": n}} for n in numbers], delaySeconds=given.get("delay", 0))
        elif url.path == "/queue/status":
            return Response.json(state)
        elif url.path == "/one":
            await self.env.ONE.send(time.time())
        elif url.path == "/took":
            return Response.json(sorted(took))
        return Response("ok")

    async def queue(self, batch, env, ctx):
        if batch.queue == "one":
            took.extend(time.time() - message.body for message in batch.messages)
            return
        for message in batch.messages:
            message.body
        state["consumed"] += len(batch.messages)
        state["batches"] += 1
        batch.ackAll()
"""
QUEUES = {
    "producers": [{"binding": "Q", "queue": "q"}, {"binding": "ONE", "queue": "one"}],
    "consumers": [
        {"queue": "q", "max_batch_size": 100, "max_batch_timeout": 1},
        {"queue": "one", "max_batch_timeout": 0},
    ],
}


def rate(url: str, count: int) -> float:
    """Messages a second, from the first send until all are acknowledged."""
    ask(url, "/queue/reset")
    begun = time.perf_counter()
    ask(url, f"/queue/produce?count={count}&batch=100")
    while json.loads(ask(url, "/queue/status"))["consumed"] < count:
        time.sleep(0.01)
    return count / (time.perf_counter() - begun)


def throughput(folder: Path, count: int, peer: str | None, durability: str) -> None:
    name, command, port, cwd = pyflare(folder, free_port())
    with server(name, [*command, "--durability", durability], port, cwd) as running:
        rate(running.url, count)
        for _ in range(3):
            cpu = running.cpu_seconds()
            ours = rate(running.url, count)
            cost = (running.cpu_seconds() - cpu) / count * 1e6
            line = f"durability {durability:6}  {ours:6.0f} messages/s, {cost:3.0f} us of CPU a message"
            print(line + (f", {ours / rate(peer, count):.2f} times the peer" if peer else ""), flush=True)
        if durability == "normal":
            latency(running)


def latency(running: Running) -> None:
    for _ in range(300):
        ask(running.url, "/one")
        time.sleep(0.005)
    took = json.loads(ask(running.url, "/took"))
    print(
        f"one message: median {took[len(took) // 2] * 1000:.2f} ms, 95 % under {took[len(took) * 95 // 100] * 1000:.2f}"
    )


def waiting(folder: Path, count: int) -> None:
    with server(*pyflare(folder, free_port())) as running:
        ask(running.url, f"/queue/produce?count={count}&batch=100&delay=80000")
    begun = time.perf_counter()
    with server(*pyflare(folder, free_port())) as running:
        took = time.perf_counter() - begun
        print(f"{count} delayed messages: start to first answer {took:.2f} s, {running.memory_mb():.0f} MB", flush=True)


def main(count: int, delayed: int, peer: str | None) -> None:
    with contextlib.ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for durability in ("normal", "full"):
            throughput(worker_folder(root / durability, WORKER, queues=QUEUES), count, peer, durability)
        waiting(worker_folder(root / "waiting", WORKER, queues=QUEUES), delayed)


if __name__ == "__main__":
    given = [*sys.argv[1:], *("10000", "100000")[len(sys.argv) - 1 :]]
    main(int(given[0]), int(given[1]), given[2] if len(given) > 2 else None)
