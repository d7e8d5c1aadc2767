"""A queue engine on a fake clock, with a consumer that the test writes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyflare.clock import FakeClock
from pyflare.config.model import Compat
from pyflare.engines.queues.engine import Queues
from pyflare.worker.event import Event
from tests.support.rooms import NOW, Bench, js, settle

Handler = Callable[[Any], Awaitable[None]]


@dataclass
class Broker:
    """`await broker.advance(5)` lets five seconds pass, deadline by deadline."""

    folder: Path
    handler: Handler
    section: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    bench: Bench = field(init=False)
    room: Queues = field(init=False)

    def __post_init__(self) -> None:
        self.bench = Bench(self.folder)
        self.open()

    def open(self) -> None:
        """Start the room, again after `close`; the clock goes on."""
        self.bench.answers["w"] = self._answer
        self.room = self.bench.open(Queues, {"queues": self.section}, **self.options)

    async def _answer(self, event: Event) -> None:
        await self.handler(event.batch)  # type: ignore[attr-defined]

    @property
    def clock(self) -> FakeClock:
        return self.bench.clock

    @property
    def seconds(self) -> float:
        """Since the test began."""
        return self.clock.now() - NOW

    @property
    def said(self) -> str:
        """What the terminal shows."""
        return self.bench.terminal.getvalue()

    def env(self, binding: str = "Q") -> Any:
        return self.room.bindings("w")[binding]

    def send(self, *bodies: Any, binding: str = "Q", **options: Any) -> Any:
        """Send each; the last answer."""
        answers = [settle(self.env(binding).send(js(body), js(options))) for body in bodies]
        return answers[-1]

    async def settle(self) -> None:
        """Run what is due, until nothing is."""
        for _ in range(10_000):
            due = self.room.next_due()
            if due is not None and due <= self.clock.now():
                self.room.run_due(self.clock.now())
            elif not self.room.busy():
                return
            await turns(1)
        raise AssertionError(f"never at rest: {self.room.busy()}, due {self.room.next_due()}")

    async def advance(self, seconds: float) -> None:
        end = self.clock.now() + seconds
        await self.settle()
        while (due := self.room.next_due()) is not None and due <= end:
            self.clock.set(due)
            await self.settle()
        self.clock.set(end)


async def turns(count: int) -> None:
    """Let the loop turn; nothing sleeps."""
    for _ in range(count):
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, None)
        await future


def consumer(**fields: Any) -> dict[str, Any]:
    """A section with one producer Q and one consumer, of the queue `jobs`."""
    return {"producers": [{"binding": "Q", "queue": "jobs"}], "consumers": [{"queue": "jobs", **fields}]}


OLD = Compat("2025-11-02")  # before fast structs and error codes


def play(broker: Broker, scene: Callable[[Broker], Coroutine[Any, Any, None]]) -> Broker:
    """Run a scene and close the room."""

    async def whole() -> None:
        try:
            await scene(broker)
        finally:
            broker.room.close()

    asyncio.run(whole())
    return broker


class Recorder:
    """A handler that notes each delivery as (body, attempts, seconds); `decide` may act on the message."""

    def __init__(self, decide: Callable[[Any], Any] | None = None) -> None:
        self.decide = decide
        self.batches: list[list[Any]] = []
        self.deliveries: list[tuple[Any, int, float]] = []
        self.clock: FakeClock | None = None

    async def __call__(self, batch: Any) -> None:
        self.batches.append([message.body for message in batch.messages])
        now = self.clock.now() - NOW if self.clock else 0.0
        for message in batch.messages:
            self.deliveries.append((message.body, message.attempts, now))
        for message in batch.messages:
            if self.decide is not None:
                self.decide(message)

    @property
    def sizes(self) -> Sequence[int]:
        return [len(batch) for batch in self.batches]

    @property
    def bodies(self) -> Sequence[Any]:
        return [body for body, _, _ in self.deliveries]


def broker(
    folder: Path, handler: Handler | None = None, section: Mapping[str, Any] | None = None, **options: Any
) -> Broker:
    """A broker whose consumer is a Recorder unless given."""
    made = Broker(folder, handler or Recorder(), consumer() if section is None else section, options)
    if isinstance(made.handler, Recorder):
        made.handler.clock = made.clock
    return made
