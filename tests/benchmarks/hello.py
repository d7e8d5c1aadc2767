"""Requests a second of a hello worker, relative to an empty ASGI app on uvicorn. Wanted: 0.5 (SDK), 0.65 (raw).

python -m tests.benchmarks.hello [seconds of each measurement] [rounds]
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.benchmarks.common import (
    RAW_WORKER,
    WORKER,
    Running,
    free_port,
    in_turn,
    interpreter,
    load,
    pyflare,
    server,
    uvicorn,
    worker_folder,
)


def main(seconds: float, rounds: int) -> None:
    print(interpreter())
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        root = Path(folder)
        sdk = worker_folder(root / "sdk", WORKER)
        raw = worker_folder(root / "raw", RAW_WORKER, "2025-08-01")
        servers: list[Running] = [
            stack.enter_context(server(*uvicorn("apps:hello", free_port()))),
            replace(stack.enter_context(server(*pyflare(sdk, free_port()))), name="sdk"),
            replace(stack.enter_context(server(*pyflare(raw, free_port()))), name="raw"),
        ]
        for connections in (16, 50):
            found = in_turn(partial(load, connections=connections, seconds=seconds), servers, rounds)
            base_rate, base_cpu = found["uvicorn"]
            for name, (rate, cpu) in found.items():
                print(
                    f"{connections:3} connections  {name:8} {rate:8.0f} requests/s ({rate / base_rate:.2f})  "
                    f"{cpu:6.1f} us of CPU ({base_cpu / cpu:.2f})",
                    flush=True,
                )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
