"""Workflows: steps a second, what sleeping instances cost, and a fake clock's fortnight.

python -m tests.benchmarks.workflows [instances] [sleeping instances] [URL of a peer with the same paths]

Wanted: ten times the peer's rate (npm's miniflare makes about 290 steps a second), under 250 us of CPU a step; a
restart with 10,000 sleeping instances under 1.5 s and 200 MB; fourteen days in under 20 ms.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path

from pyflare.testing import Harness
from tests.benchmarks.common import Running, ask, free_port, interpreter, pyflare, server, worker_folder

WORKER = """
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint, WorkflowEntrypoint

done = 0


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        global done
        for number in range(10):

            @step.do(f"step {number}")
            async def work():
                return number

            await work()
        done += 1


class Sleeper(WorkflowEntrypoint):
    async def run(self, event, step):
        await step.do("begin")(lambda: 1)()
        await step.sleep("fortnight", "14 days")
        return "awake"


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        global done
        url = urlsplit(request.url)
        given = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/workflow/reset":
            done = 0
        elif url.path == "/workflow/start":
            for number in range(int(given["n"])):
                await self.env.FLOW.create(id=f"{given['prefix']}-{number}")
        elif url.path == "/workflow/done":
            return Response.json({"done": done})
        elif url.path == "/one":
            await self.env.SLEEPER.create(id="one")
        elif url.path == "/sleep":
            for begin in range(0, int(given["n"]), 100):
                await self.env.SLEEPER.create_batch([{"id": f"s-{begin + n}"} for n in range(100)])
        elif url.path == "/status":
            return Response.json((await (await self.env.SLEEPER.get(given["id"])).status())["status"])
        return Response("ok")
"""
WORKFLOWS = [
    {"name": "flow", "binding": "FLOW", "class_name": "Flow"},
    {"name": "sleeper", "binding": "SLEEPER", "class_name": "Sleeper"},
]


def run_steps(url: str, count: int) -> float:
    """Seconds until `count` instances of ten steps are done."""
    ask(url, "/workflow/reset")
    begun = time.perf_counter()
    ask(url, f"/workflow/start?n={count}&prefix=w{time.time_ns():x}")
    while json.loads(ask(url, "/workflow/done"))["done"] < count:
        time.sleep(0.01)
    return time.perf_counter() - begun


def steps(running: Running, count: int, peer: str | None) -> None:
    for _ in range(3):
        cpu = running.cpu_seconds()
        rate = 10 * count / run_steps(running.url, count)
        cost = (running.cpu_seconds() - cpu) / count / 10 * 1e6
        line = f"{count} instances of ten steps: {rate:6.0f} steps/s, {cost:4.0f} us of CPU a step"
        if peer:
            line += f", {rate / (10 * count / run_steps(peer, count)):.1f} times the peer"
        print(line, flush=True)


def sleeping(folder: Path, count: int) -> None:
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(server(*pyflare(folder, free_port())))
        begun = time.perf_counter()
        ask(running.url, f"/sleep?n={count}")
        print(
            f"{count} instances put to sleep in {time.perf_counter() - begun:.1f} s, {running.memory_mb():.0f} MB then"
        )
        time.sleep(12)  # after ten seconds they leave the memory
        print(f"after twelve seconds {running.memory_mb():.0f} MB")
    begun = time.perf_counter()
    with server(*pyflare(folder, free_port())) as running:
        print(f"restart to first answer {time.perf_counter() - begun:.2f} s, {running.memory_mb():.0f} MB", flush=True)
        assert ask(running.url, "/status?id=s-7") == b'"waiting"'


async def fortnight(folder: Path) -> None:
    async with Harness(folder) as worker:
        await worker.fetch("/one")
        await worker.settle()
        begun = time.perf_counter()
        await worker.advance(14 * 86_400)
        took = (time.perf_counter() - begun) * 1000
        assert (await worker.fetch("/status?id=one")).json() == "complete"
        print(f"fourteen days of a fake clock: {took:.1f} ms")


def main(count: int, asleep: int, peer: str | None) -> None:
    print(interpreter())
    with tempfile.TemporaryDirectory() as root:
        folder = worker_folder(Path(root) / "w", WORKER, workflows=WORKFLOWS)
        with server(*pyflare(folder, free_port())) as running:
            steps(running, count, peer)
        sleeping(folder, asleep)
        asyncio.run(fortnight(folder))


if __name__ == "__main__":
    given = [*sys.argv[1:], *("100", "10000")[len(sys.argv) - 1 :]]
    main(int(given[0]), int(given[1]), given[2] if len(given) > 2 else None)
