"""D1, KV and R2 through a worker, 20 connections: requests a second, and for a second of the server's CPU.

python -m tests.benchmarks.storage [--peer NODE_MODULES] [--seconds N] [--rounds N] [--durability full] [case …]

With the path of a `node_modules` that holds miniflare, its local mode runs the same worker in JavaScript beside ours,
in turn, and ratios are printed. Wanted: 6 times its rate for D1 and KV put, 4 times for KV get and R2 get, 8 times for
R2 put. Needs wrk.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.benchmarks.common import (
    LOAD_CORE,
    Running,
    answer,
    free_port,
    in_turn,
    interpreter,
    miniflare,
    pinned,
    pyflare,
    server,
    worker_folder,
)

CONNECTIONS = 20

WORKER = """
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint

TEXT = "x" * 100


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        key, env = url.query.removeprefix("k="), self.env
        match url.path:
            case "/d1/init":
                await env.DB.exec("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v TEXT)")
                insert = env.DB.prepare("INSERT OR REPLACE INTO t (id, v) VALUES (?, ?)")
                await env.DB.batch([insert.bind(number, f"value {number}") for number in range(1000)])
            case "/d1/insert":
                result = await env.DB.prepare("INSERT INTO t (v) VALUES (?)").bind("hello d1").run()
                return Response(str(result.meta.last_row_id))
            case "/d1/select":
                row = await env.DB.prepare("SELECT * FROM t WHERE id = ?").bind(int(key)).first()
                return Response(row.v)
            case "/kv/put":
                await env.KV.put(key, TEXT)
            case "/kv/get":
                return Response(await env.KV.get(key) or "missing")
            case "/r2/put":
                stored = await env.R2.put(key, request.body)
                return Response(stored.etag)
            case "/r2/get":
                found = await env.R2.get(key)
                return Response(found.body) if found else Response("missing")
        return Response("ok")
"""
PEER_WORKER = """
export default { async fetch(request, env) {
  const url = new URL(request.url), key = url.searchParams.get("k");
  switch (url.pathname) {
    case "/d1/init":
      await env.DB.exec("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v TEXT)");
      await env.DB.batch(Array.from({ length: 1000 }, (_, number) =>
        env.DB.prepare("INSERT OR REPLACE INTO t (id, v) VALUES (?, ?)").bind(number, `value ${number}`)));
      break;
    case "/d1/insert": {
      const result = await env.DB.prepare("INSERT INTO t (v) VALUES (?)").bind("hello d1").run();
      return new Response(String(result.meta.last_row_id));
    }
    case "/d1/select": {
      const row = await env.DB.prepare("SELECT * FROM t WHERE id = ?").bind(Number(key)).first();
      return new Response(row.v);
    }
    case "/kv/put": await env.KV.put(key, "x".repeat(100)); break;
    case "/kv/get": return new Response((await env.KV.get(key)) ?? "missing");
    case "/r2/put": return new Response((await env.R2.put(key, request.body)).etag);
    case "/r2/get": {
      const found = await env.R2.get(key);
      return new Response(found ? found.body : "missing");
    }
  }
  return new Response("ok");
} };
"""
LOAD = """
local method, path, keys, body
function init(args)
  method, path, keys = args[1], args[2], tonumber(args[3])
  if args[4] then body = string.rep("x", tonumber(args[4])) end
end
function request()
  return wrk.format(method, path .. "?k=" .. math.random(0, keys - 1), nil, body)
end
"""


@dataclass(frozen=True)
class Case:
    """`wanted` is how many times the peer's rate we want; `before` what must have run."""

    method: str
    path: str
    keys: int
    wanted: float
    body: int | None = None
    before: str | None = None


CASES = {
    "d1-insert": Case("GET", "/d1/insert", 1000, 6),
    "d1-select": Case("GET", "/d1/select", 1000, 6),
    "kv-put": Case("GET", "/kv/put", 1000, 6),
    "kv-get": Case("GET", "/kv/get", 1000, 4, before="kv-put"),
    "r2-put": Case("POST", "/r2/put", 100, 8, body=102_400),
    "r2-get": Case("GET", "/r2/get", 100, 4, before="r2-put"),
}


class Load:
    def __init__(self, folder: Path) -> None:
        self._script = folder / "load.lua"
        self._script.write_text(LOAD)

    def run(self, case: Case, seconds: float, running: Running) -> tuple[float, float]:
        """(requests a second, server CPU in microseconds a request)."""
        arguments = [case.method, case.path, str(case.keys), *([str(case.body)] if case.body else [])]
        command = [
            "wrk",
            "-t1",
            f"-c{CONNECTIONS}",
            f"-d{seconds:g}s",
            "-s",
            str(self._script),
            running.url.rstrip("/"),
        ]
        before = running.cpu_seconds()
        said = subprocess.run(
            pinned([*command, "--", *arguments], LOAD_CORE), capture_output=True, text=True, check=True
        )
        cpu = running.cpu_seconds() - before
        requests, took = re.search(r"(\d+) requests in ([\d.]+)s", said.stdout).groups()  # type: ignore[union-attr]
        if "Non-2xx" in said.stdout:
            raise RuntimeError(said.stdout)
        return int(requests) / float(took), cpu / int(requests) * 1e6


def ours(root: Path, durability: str) -> tuple[str, list[str], int, Path]:
    folder = worker_folder(
        root / durability,
        WORKER,
        kv_namespaces=[{"binding": "KV", "id": "kv"}],
        r2_buckets=[{"binding": "R2", "bucket_name": "files"}],
        d1_databases=[{"binding": "DB", "database_name": "db", "database_id": "db"}],
    )
    _, command, port, cwd = pyflare(folder, free_port())
    return f"pyflare-{durability}", [*command, "--durability", durability], port, cwd


def peer(root: Path, modules: Path) -> tuple[str, list[str], int, Path]:
    state = str(root / "state")
    kv, r2, d1 = {"KV": "kv"}, {"R2": "r2"}, {"DB": "db"}
    places = {"kvPersist": f"{state}/kv", "r2Persist": f"{state}/r2", "d1Persist": f"{state}/d1"}
    return miniflare(root, modules, PEER_WORKER, kvNamespaces=kv, r2Buckets=r2, d1Databases=d1, **places)


def measure(servers: list[Running], load: Load, names: list[str], seconds: float, rounds: int) -> None:
    for running in servers:
        answer(running.port, "/d1/init")
    for name in names:
        case = CASES[name]
        for running in servers:
            if case.before is not None:
                load.run(CASES[case.before], 1, running)
            load.run(case, 1, running)
        found = in_turn(partial(load.run, case, seconds), servers, rounds)
        base = found.get("miniflare")
        for server_name, (rate, cpu) in found.items():
            line = f"{name:10} {server_name:14} {rate:7.0f} requests/s  {1e6 / cpu:7.0f} for a second of CPU"
            if base is not None and server_name != "miniflare":
                line += (
                    f"  {rate / base[0]:5.1f} times miniflare (wanted: {case.wanted:g}), of CPU {base[1] / cpu:5.1f}"
                )
            print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", choices=[*CASES, []])
    parser.add_argument("--peer", type=Path, metavar="NODE_MODULES")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--durability", choices=("normal", "full"), action="append")
    given = parser.parse_args()
    print(interpreter())
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        root = Path(folder)
        starts = [ours(root, durability) for durability in given.durability or ["normal"]]
        if given.peer is not None:
            starts.append(peer(root, given.peer))
        servers = [replace(stack.enter_context(server(*start)), name=start[0]) for start in starts]
        measure(servers, Load(root), given.cases or list(CASES), given.seconds, given.rounds)


if __name__ == "__main__":
    main()
