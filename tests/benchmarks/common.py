"""What the benchmark scripts share: servers in processes of their own, load, CPU time, memory.

The scripts print ratios between servers that were measured in turn in the same run: absolute numbers change with the
machine and with what else it does. CPU time per request is the steadier of the two ratios. A Python that pyenv built
as it does by default, without optimizations, is a tenth slower than that of a distribution.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[-1]
TICK = os.sysconf("SC_CLK_TCK")

WORKER = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("Hello World!")
"""
PEER = """
import { createRequire } from "node:module";
const [modules, port, worker, options] = process.argv.slice(2);
const { Miniflare } = createRequire(modules + "/")("miniflare");
const mf = new Miniflare({
  modules: true, scriptPath: worker, compatibilityDate: "2026-04-01", host: "127.0.0.1", port: Number(port), cf: false,
  ...JSON.parse(options),
});
await mf.ready;
process.on("SIGTERM", async () => { await mf.dispose(); process.exit(0); });
"""
RAW_WORKER = """
from js import Response

async def on_fetch(request, env):
    return Response.new("Hello World!")
"""


def interpreter() -> str:
    return f"Python {sys.version.split()[0]}, {Path(sys.executable).resolve()}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def worker_folder(root: Path, source: str, date: str = "2026-08-01", **config: object) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / "entry.py").write_text(source)
    base = {"name": "bench", "main": "entry.py", "compatibility_date": date, "compatibility_flags": ["python_workers"]}
    (root / "wrangler.json").write_text(json.dumps(base | config))
    return root


@dataclass
class Running:
    name: str
    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def tree(self) -> list[int]:
        """The process and all below it."""
        found, waiting = [], [self.process.pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            with contextlib.suppress(OSError):
                waiting += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return found

    def cpu_seconds(self) -> float:
        total = 0
        for pid in self.tree():
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICK

    def memory_mb(self, kind: str = "Rss") -> float:
        """`Rss`, or `Pss`, where shared pages count by their share."""
        total = 0
        for pid in self.tree():
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(re.search(rf"^{kind}:\s+(\d+)", rollup, re.MULTILINE)[1])  # type: ignore[index]
        return total / 1024


def environment() -> dict[str, str]:
    """Servers have their bytecode, as installed packages do; it is kept out of the source tree."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "pyflare-benchmarks")}


@contextlib.contextmanager
def server(name: str, command: Sequence[str], port: int, cwd: Path, path: str = "/") -> Iterator[Running]:
    """Start a server pinned to one core, with its output in a file, and wait for its first answer."""
    with tempfile.NamedTemporaryFile(suffix=f"-{name}.log") as log:
        process = subprocess.Popen(
            pinned(command, SERVER_CORE), cwd=cwd, env=environment(), stdout=log, stderr=subprocess.STDOUT
        )
        try:
            wait_for_answer(port, path, process)
            yield Running(name, port, process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(10)


def pyflare(folder: Path, port: int) -> tuple[str, list[str], int, Path]:
    return "pyflare", [sys.executable, "-m", "pyflare", "dev", "--port", str(port)], port, folder


def miniflare(root: Path, modules: Path, worker: str, **options: object) -> tuple[str, list[str], int, Path]:
    """The local mode of npm's miniflare, which lies in the folder `modules`, for a worker in JavaScript."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "peer.mjs").write_text(PEER)
    (root / "worker.mjs").write_text(worker)
    port = free_port()
    arguments = [str(modules.resolve()), str(port), str(root / "worker.mjs"), json.dumps(options)]
    return "miniflare", ["node", str(root / "peer.mjs"), *arguments], port, root


def uvicorn(app: str, port: int, *more: str) -> tuple[str, list[str], int, Path]:
    flags = ["--no-access-log", "--log-level", "warning", "--loop", "uvloop", "--http", "httptools", *more]
    return "uvicorn", [sys.executable, "-m", "uvicorn", app, "--port", str(port), *flags], port, HERE


def pinned(command: Sequence[str], core: int) -> list[str]:
    return ["taskset", "-c", str(core), *command] if shutil.which("taskset") else list(command)


def answer(port: int, path: str = "/", timeout: float = 30.0) -> tuple[int, bytes]:
    """Status and body of one request on a connection of its own."""
    with socket.create_connection(("127.0.0.1", port), timeout) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while chunk := client.recv(65536):
            data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def ask(url: str, path: str) -> bytes:
    with urllib.request.urlopen(url.rstrip("/") + path) as answer:
        body: bytes = answer.read()
        return body


def wait_for_answer(port: int, path: str, process: subprocess.Popen[bytes], limit: float = 60.0) -> None:
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        with contextlib.suppress(OSError, IndexError):
            if answer(port, path)[0] == 200:
                return
        time.sleep(0.002)
    raise TimeoutError(f"no answer on {port}")


def load(running: Running, connections: int, seconds: float) -> tuple[float, float]:
    """(requests a second, server CPU in microseconds a request)."""
    before, begun = running.cpu_seconds(), time.perf_counter()
    if shutil.which("wrk"):
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", running.url]
        text = subprocess.run(pinned(command, LOAD_CORE), capture_output=True, text=True, check=True).stdout
        requests = int(re.search(r"(\d+) requests in", text)[1])  # type: ignore[index]
        if "Non-2xx" in text or "Socket errors" in text:
            raise RuntimeError(text)
    else:
        requests = asyncio.run(_load(running, connections, seconds))
    took = time.perf_counter() - begun
    return requests / took, (running.cpu_seconds() - before) / requests * 1e6


async def _load(running: Running, connections: int, seconds: float) -> int:
    request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode()
    end = time.monotonic() + seconds

    async def client() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        count = 0
        while time.monotonic() < end:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            at = head.index(b"content-length:")
            await reader.readexactly(int(head[at + 15 : head.index(b"\r\n", at)]))
            count += 1
        writer.close()
        return count

    return sum(await asyncio.gather(*(client() for _ in range(connections))))


def in_turn(
    measure: Callable[[Running], tuple[float, float]], servers: Sequence[Running], rounds: int
) -> dict[str, tuple[float, float]]:
    """Medians of `measure` for each server, taken alternately."""
    taken: dict[str, list[tuple[float, float]]] = {one.name: [] for one in servers}
    for _ in range(rounds):
        for one in servers:
            taken[one.name].append(measure(one))
    return {
        name: (statistics.median(a for a, _ in got), statistics.median(b for _, b in got))
        for name, got in taken.items()
    }
