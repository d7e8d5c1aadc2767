"""`kill -9` under load: what the client was told is sent, the consumer sees. The counts are kept outside of pyflare.

PYFLARE_KILL_ROUNDS sets how often the server is killed.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import threading
import time
from pathlib import Path

from tests.support.dev import LIMIT_S, Dev, project

ROUNDS = int(os.environ.get("PYFLARE_KILL_ROUNDS", "3"))
WORKER = """
from workers import Response, WorkerEntrypoint

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        key = request.url.rpartition("/")[2]
        await self.env.JOBS.send(key)
        return Response(key)

    async def queue(self, batch, env, ctx):
        with open({seen!r}, "a") as seen:
            for message in batch.messages:
                print(message.body, message.attempts, file=seen)
"""
QUEUES = {
    "producers": [{"binding": "JOBS", "queue": "jobs"}],
    "consumers": [{"queue": "jobs", "max_batch_timeout": 0, "max_retries": 100}],
}


class Client(threading.Thread):
    """Sends until the server dies; `accepted` are the keys that were answered."""

    def __init__(self, dev: Dev, name: str) -> None:
        super().__init__(name=name)
        self._connection = dev.connect()
        self.accepted: list[str] = []

    def run(self) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            for number in range(100_000):
                self._connection.request("GET", f"/{self.name}-{number}")
                answer = self._connection.getresponse()
                key = answer.read().decode()
                if answer.status == 200:
                    self.accepted.append(key)
        self._connection.close()


def kill(dev: Dev) -> None:
    """SIGKILL for the process that holds the worker, then for its supervisor, which could still tidy up."""
    os.kill(dev.runtime_pid(), signal.SIGKILL)
    dev.stop(signal.SIGKILL)


def delivered(seen: Path) -> dict[str, list[int]]:
    """The attempts at which each key was delivered."""
    found: dict[str, list[int]] = {}
    for line in seen.read_text().splitlines():
        key, attempt = line.split()
        found.setdefault(key, []).append(int(attempt))
    return found


def test_a_message_that_was_accepted_is_delivered_whenever_the_server_is_killed(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    seen.touch()
    folder = project(tmp_path / "worker", WORKER.format(seen=str(seen)), queues=QUEUES)
    chance, accepted = random.Random(11), set()
    for number in range(ROUNDS):
        with Dev(folder) as dev:
            clients = [Client(dev, f"{number}-{each}") for each in range(3)]
            for client in clients:
                client.start()
            time.sleep(chance.uniform(0.05, 0.3))
            kill(dev)
            for client in clients:
                client.join()
                accepted.update(client.accepted)
    with Dev(folder) as dev:
        deadline = time.monotonic() + LIMIT_S
        while not accepted <= delivered(seen).keys():
            assert time.monotonic() < deadline, f"lost: {sorted(accepted - delivered(seen).keys())[:10]}"
            time.sleep(0.02)
        _, text = dev.get("/cdn-cgi/local/explorer/api/accounts/any/queues/jobs")
        queue = json.loads(text)["result"]
        assert (queue["dropped"], queue["dead_lettered"]) == (0, 0)
    assert accepted
    assert max(max(attempts) for attempts in delivered(seen).values()) <= ROUNDS + 1
