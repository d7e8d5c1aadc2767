"""What an operator may do, from a test of a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pyflare.testing import Harness, harness
from tests.support.dev import project

WORKER = """
import asyncio

from workers import Response, WorkerEntrypoint

seen = []

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response.json(seen)

    async def queue(self, batch, env, ctx):
        for message in batch.messages:
            seen.append(message.body)
            if message.body == "hangs" and message.attempts == 1:
                await asyncio.Event().wait()
            if message.body == "poison":
                message.retry()
"""
QUEUES = {
    "producers": [{"binding": "JOBS", "queue": "jobs"}],
    "consumers": [
        {"queue": "jobs", "max_batch_timeout": 0, "max_retries": 0, "dead_letter_queue": "dead"},
        {"queue": "slow", "max_batch_timeout": 0},
        {"queue": "mail", "type": "http_pull", "visibility_timeout_ms": 5000},
    ],
}


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Callable[[Harness], Awaitable[None]]], None]:
    folder = project(tmp_path, WORKER, queues=QUEUES)

    def run(scene: Callable[[Harness], Awaitable[None]]) -> None:
        async def whole() -> None:
            async with Harness(folder) as worker:
                await scene(worker)

        asyncio.run(whole())

    return run


Play = Callable[[Callable[[Harness], Awaitable[None]]], None]


async def seen(worker: Harness) -> list[object]:
    found: list[object] = (await worker.fetch("/")).json()
    return found


def test_messages_are_sent_by_hand_and_held_while_delivery_is_paused(play: Play) -> None:
    async def scene(worker: Harness) -> None:
        jobs = worker.queue("jobs")
        jobs.pause()
        jobs.send({"n": 1})
        jobs.send("later", "text", delay_seconds=60)
        await worker.settle()
        assert (jobs.backlog, await seen(worker)) == (2, [])
        jobs.resume()
        await worker.settle()
        assert await seen(worker) == [{"n": 1}]
        assert jobs.retry_now() == 1
        await worker.settle()
        assert await seen(worker) == [{"n": 1}, "later"]

    play(scene)


def test_a_misspelt_queue_is_refused_with_those_that_there_are(play: Play) -> None:
    async def scene(worker: Harness) -> None:
        with pytest.raises(ValueError, match="There is no queue 'jbos'; there are: dead, jobs"):
            worker.queue("jbos")

    play(scene)


def test_dead_letters_are_moved_back_or_purged(play: Play) -> None:
    async def scene(worker: Harness) -> None:
        worker.queue("jobs").send("poison")
        await worker.settle()
        assert worker.queue("dead").bodies == ["poison"]
        assert worker.queue("dead").redrive() == 1
        await worker.settle()
        assert await seen(worker) == ["poison", "poison"]
        assert worker.queue("dead").purge() == 1

    play(scene)


def test_a_handler_that_hangs_meets_its_time_out_when_the_clock_moves(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "STUCK_SECONDS", 0.05)

    async def scene(worker: Harness) -> None:
        worker.queue("slow").send("hangs")
        await worker.advance(15 * 60 + 1)
        assert await seen(worker) == ["hangs", "hangs"]
        assert worker.queue("slow").backlog == worker.queue("slow").in_flight == 0
        assert "the handler did not return within 900 s" in worker.terminal

    play(scene)


def test_a_test_may_be_the_client_that_pulls(play: Play) -> None:
    async def scene(worker: Harness) -> None:
        queue = worker.queue("mail")
        for body in "abc":
            queue.send(body)
        first, second = queue.pull(batch_size=2)
        assert (first.body, first.attempts, queue.in_flight) == ("a", 1, 2)
        assert (queue.ack(first.lease_id), queue.ack(first.lease_id)) == (1, 0)
        assert queue.retry(second.lease_id, delay_seconds=60) == 1
        (third,) = queue.pull(visibility_timeout_ms=1000)
        await worker.advance(2)
        assert [(again.id, again.attempts) for again in queue.pull()] == [(third.id, 2)]
        await worker.advance(60)
        assert {leased.body for leased in queue.pull()} == {"b", "c"}

    play(scene)


def test_only_a_queue_of_http_clients_is_pulled(play: Play) -> None:
    async def scene(worker: Harness) -> None:
        with pytest.raises(ValueError, match='\'jobs\' has no consumer with "type": "http_pull"'):
            worker.queue("jobs").pull()

    play(scene)
