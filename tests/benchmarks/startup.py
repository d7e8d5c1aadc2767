"""Start to first answer, save to first new answer, and idle memory. Wanted: at most 2.2 times an empty ASGI app's
start, under 0.55 s, under 110 MB.

    python -m tests.benchmarks.startup [rounds]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.common import (
    WORKER,
    Running,
    answer,
    free_port,
    interpreter,
    pyflare,
    server,
    uvicorn,
    worker_folder,
)


def main(rounds: int) -> None:
    print(interpreter())
    with tempfile.TemporaryDirectory() as root:
        folder = worker_folder(Path(root) / "hello", WORKER)
        starts: dict[str, list[float]] = {"uvicorn": [], "pyflare": []}
        for turn in range(rounds + 1):
            for name, times in starts.items():
                command = uvicorn("apps:hello", free_port()) if name == "uvicorn" else pyflare(folder, free_port())
                begun = time.perf_counter()
                with server(*command):
                    if turn:  # the first one compiles
                        times.append(time.perf_counter() - begun)
        base, ours = (statistics.median(starts[name]) for name in ("uvicorn", "pyflare"))
        print(f"start    uvicorn {base:.3f} s   pyflare {ours:.3f} s   ({ours / base:.2f} times)")
        with server(*pyflare(folder, free_port())) as running:
            time.sleep(2)
            print(f"memory   {running.memory_mb():.0f} MB resident, {running.memory_mb('Pss'):.0f} MB by shares")
            saves = [save(folder / "entry.py", number, running) for number in range(rounds)]
        longest = max(worst for _, worst in saves)
        print(
            f"reload   {statistics.median(took for took, _ in saves):.3f} s   longest request meanwhile {longest:.3f} s"
        )


def save(file: Path, number: int, running: Running) -> tuple[float, float]:
    """(seconds until the new text is served, the longest request until then)."""
    text = f"Saved {number}"
    file.write_text(WORKER.replace("Hello World!", text))
    begun, worst = time.perf_counter(), 0.0
    while True:
        asked = time.perf_counter()
        body = answer(running.port)[1]
        worst = max(worst, time.perf_counter() - asked)
        if body == text.encode():
            took = time.perf_counter() - begun
            time.sleep(1)
            return took, worst
        time.sleep(0.005)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
