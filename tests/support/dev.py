"""A real `pyflare dev` in a process of its own, on a port that it picks."""

from __future__ import annotations

import http.client
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

LIMIT_S = 30.0  # for anything that is waited for

CONFIG = {
    "name": "probe",
    "main": "entry.py",
    "compatibility_date": "2026-08-01",
    "compatibility_flags": ["python_workers"],
}


def project(root: Path, source: str, **config: Any) -> Path:
    """A folder with a worker whose `entry.py` is `source`."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "entry.py").write_text(source)
    (root / "wrangler.jsonc").write_text(json.dumps(CONFIG | config))
    return root


class Dev:
    """Started by `with Dev(folder) as dev:`, which waits for the line that it is ready."""

    def __init__(self, folder: Path, *arguments: str, ready: bool = True) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.port = 0
        self._wants_ready = ready
        self._arrived: queue.Queue[str | None] = queue.Queue()
        given = arguments if "--port" in arguments else ("--port", "0", *arguments)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pyflare", "dev", *given],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Dev:
        if self._wants_ready:
            line = self.wait_for("Ready on ")
            self.port = int(re.sub(r".*Ready on \w+://[^ ]*:(\d+).*", r"\1", line, flags=re.DOTALL))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.stop()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._arrived.put(line.rstrip("\n"))
        self._arrived.put(None)

    def wait_for(self, text: str) -> str:
        """The next line that holds `text`."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                line = self._arrived.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty:
                raise AssertionError(f"no line with {text!r} in:\n{self.output}") from None
            if line is None:
                raise AssertionError(f"ended without a line with {text!r}:\n{self.output}")
            self.lines.append(line)
            if text in line:
                return line

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def ended(self) -> int:
        """Wait for its end; the exit status. `output` is complete then."""
        status = self.process.wait(LIMIT_S)
        while (line := self._arrived.get(timeout=LIMIT_S)) is not None:
            self.lines.append(line)
        return status

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.ended()

    # --- as a client ------------------------------------------------------------------------------------------------

    def connect(self, host: str = "127.0.0.1") -> http.client.HTTPConnection:
        return http.client.HTTPConnection(host, self.port, timeout=LIMIT_S)

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, str, dict[str, str]]:
        """(status, text, headers) on a connection of its own."""
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read().decode(), {k.lower(): v for k, v in response.getheaders()}
        finally:
            connection.close()

    def get(self, path: str = "/", **headers: str) -> tuple[int, str]:
        status, text, _ = self.request("GET", path, headers=headers)
        return status, text

    def until(self, text: str, path: str = "/") -> tuple[int, str]:
        """Ask again until the answer holds `text`."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            status, answer = self.get(path)
            if text in answer:
                return status, answer
            assert time.monotonic() < deadline, f"{text!r} never came, but {answer!r}\n{self.output}"
            time.sleep(0.01)

    def runtime_pid(self) -> int:
        """The process that holds the worker."""
        return self.children()[0]

    def children(self) -> list[int]:
        """The processes of the supervisor."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
