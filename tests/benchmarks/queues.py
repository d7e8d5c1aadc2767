"""Queues: messages a second, what waiting messages cost, and how long one message takes.

python -m tests.benchmarks.queues [--peer NODE_MODULES] [--messages N] [--rounds N] [--waiting N]

With the path of a `node_modules` that holds miniflare, its local mode, whose broker is in memory, runs the same worker
in JavaScript beside ours, in turn, and ratios are printed: once for a consumer that acknowledges its batches, once for
one that reads every body first. Wanted: 1.5 times its rate, also with `--durability full`; a start with 100,000 delayed
messages under 1 s and 150 MB; one message in under 3 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.common import (
    Running,
    ask,
    free_port,
    in_turn,
    interpreter,
    miniflare,
    pyflare,
    server,
    worker_folder,
)

WORKER = """
import time
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint

state = {"consumed": 0, "batches": 0, "reads": 0}
took = []


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        given = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
        if url.path == "/queue/reset":
            state.update(consumed=0, batches=0, reads=given["reads"])
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
        if state["reads"]:
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


PEER_WORKER = """
const state = { consumed: 0, batches: 0, reads: 0 };
export default {
  async fetch(request, env) {
    const url = new URL(request.url), given = (name) => Number(url.searchParams.get(name));
    if (url.pathname == "/queue/reset") Object.assign(state, { consumed: 0, batches: 0, reads: given("reads") });
    if (url.pathname == "/queue/status") return Response.json(state);
    if (url.pathname == "/queue/produce") {
      const count = given("count"), size = given("batch");
      for (let start = 0; start < count; start += size) {
        const length = Math.min(size, count - start);
        await env.Q.sendBatch(Array.from({ length }, (_, n) => ({ body: { n: start + n } })));
      }
    }
    return new Response("ok");
  },
  async queue(batch) {
    if (state.reads) for (const message of batch.messages) message.body;
    state.consumed += batch.messages.length;
    state.batches += 1;
    batch.ackAll();
  },
};
"""


def rate(running: Running, count: int, reads: int) -> tuple[float, float]:
    """Messages a second, from the first send until all are acknowledged; microseconds of the server's CPU for each."""
    ask(running.url, f"/queue/reset?reads={reads}")
    cpu, begun = running.cpu_seconds(), time.perf_counter()
    ask(running.url, f"/queue/produce?count={count}&batch=100")
    while json.loads(ask(running.url, "/queue/status"))["consumed"] < count:
        time.sleep(0.01)
    return count / (time.perf_counter() - begun), (running.cpu_seconds() - cpu) / count * 1e6


def peer(root: Path, modules: Path) -> tuple[str, list[str], int, Path]:
    consumers = {"q": {"maxBatchSize": 100, "maxBatchTimeout": 1}}
    return miniflare(root, modules, PEER_WORKER, queueProducers={"Q": "q"}, queueConsumers=consumers)


def throughput(servers: Sequence[Running], count: int, rounds: int) -> None:
    for reads in (0, 1):
        for running in servers:
            rate(running, count, reads)
        found = in_turn(lambda running: rate(running, count, reads), servers, rounds)  # noqa: B023
        for name, (messages, cpu) in found.items():
            what = "reads bodies" if reads else "acknowledges"
            line = f"{what}  {name:14} {messages:6.0f} messages/s, {cpu:3.0f} us of CPU each"
            if "miniflare" in found and name != "miniflare":
                line += f", {messages / found['miniflare'][0]:.2f} times miniflare"
            print(line, flush=True)


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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", type=Path, metavar="NODE_MODULES")
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--waiting", type=int, default=100_000)
    given = parser.parse_args()
    print(interpreter())
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        root = Path(folder)
        servers = []
        for durability in ("normal", "full"):
            _, command, port, cwd = pyflare(worker_folder(root / durability, WORKER, queues=QUEUES), free_port())
            start = f"pyflare-{durability}", [*command, "--durability", durability], port, cwd
            servers.append(stack.enter_context(server(*start)))
        latency(servers[0])
        if given.peer is not None:
            servers.append(stack.enter_context(server(*peer(root / "peer", given.peer))))
        throughput(servers, given.messages, given.rounds)
        waiting(worker_folder(root / "waiting", WORKER, queues=QUEUES), given.waiting)


if __name__ == "__main__":
    main()
