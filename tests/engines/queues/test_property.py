"""Any interleaving of sends, batches, decisions, raises, crashes and reloads loses nothing and repeats nothing."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from pyflare.engines.queues.rows import Tally
from tests.engines.queues.bench import Broker, broker, consumer, play, turns
from tests.support.rooms import js, settle

MAX_RETRIES = 2
SECTION = consumer(
    max_batch_size=3,
    max_batch_timeout=0,
    max_retries=MAX_RETRIES,
    retry_delay=5,
    max_concurrency=1,
    dead_letter_queue="dead",
)

Step = tuple[str, Any]
sends = st.tuples(st.just("send"), st.lists(st.integers(0, 10), min_size=1, max_size=4))  # delays
waits = st.tuples(st.just("wait"), st.integers(1, 20))
decisions = st.lists(st.sampled_from(["ack", "retry", "none"]), min_size=3, max_size=3)
batches = st.tuples(st.sampled_from(["return", "raise", "crash", "reload"]), decisions)


class World:
    """Plays steps and keeps count from outside."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.sent = 0
        self.deliveries: Counter[str] = Counter()
        self.uncounted: Counter[str] = Counter()  # deliveries that a reload took back
        self.done: set[str] = set()
        self.ending: str = "return"
        self.decisions: list[str] = []
        broker.handler = self.handle
        broker.room.pause_delivery("jobs")

    async def handle(self, batch: Any) -> None:
        ending = self.ending
        decided = list(zip(batch.messages, self.decisions, strict=False))
        for message, decision in decided:
            assert message.id not in self.done, "an acknowledged message came again"
            self.deliveries[message.id] += 1
            if decision != "none":
                getattr(message, decision)()
        for message, decision in decided:
            acknowledged = decision == "ack" and ending != "crash"
            if acknowledged or (decision == "none" and ending == "return"):
                self.done.add(message.id)
            self.uncounted[message.id] += decision == "none" and ending == "reload"
        if ending == "raise":
            raise ValueError("as planned")
        if ending in ("crash", "reload"):
            await asyncio.get_running_loop().create_future()

    async def play(self, step: Step) -> None:
        kind, what = step
        if kind == "send":
            settle(self.broker.env().sendBatch(js([{"body": 1, "delaySeconds": delay} for delay in what])))
            self.sent += len(what)
        elif kind == "wait":
            self.broker.clock.advance(what)
        else:
            await self.deliver(kind, what)

    async def deliver(self, ending: str, decisions: list[str]) -> None:
        self.ending, self.decisions = ending, decisions
        room = self.broker.room
        room.resume_delivery("jobs")
        room.run_due(self.broker.clock.now())
        room.pause_delivery("jobs")
        await turns(3)
        if ending == "reload":
            await room.pause()
        if ending in ("crash", "reload"):
            room.close()
            self.broker.open()

    def check(self) -> None:
        room = self.broker.room
        waiting = [message.id for message in room.messages("jobs", limit=-1)]
        dead = [message.id for message in room.messages("dead", limit=-1)]
        everything = Counter(waiting) + Counter(dead) + Counter(self.done)
        assert len(everything) == self.sent and set(everything.values()) <= {1}, "lost or doubled"
        for id, count in self.deliveries.items():
            assert count - self.uncounted[id] <= MAX_RETRIES + 1, "delivered too often"
        assert room.overview("jobs").standing.dead_lettered == len(dead)
        assert (room.tally("jobs").waiting, room.tally("dead").waiting) == (len(waiting), len(dead))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(sends, waits, batches), max_size=25))
def test_no_message_is_lost_or_delivered_too_often(steps: list[Step]) -> None:
    async def scene(made: Broker) -> None:
        world = World(made)
        for step in steps:
            await world.play(step)
            world.check()
        world.ending, world.decisions = "return", ["ack"] * 3
        made.room.resume_delivery("jobs")
        await made.advance(100)
        world.check()
        assert made.room.tally("jobs") == Tally()

    with tempfile.TemporaryDirectory() as folder, mock.patch("pyflare.engines.queues.engine.GRACE_SECONDS", 0.0):
        play(broker(Path(folder), section=SECTION), scene)
