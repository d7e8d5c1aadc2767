"""Delivery: when batches start, how they end, what an operator may do. All waiting is in the rows' `due_at`."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.clock import monotonic
from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.queues import config as settings
from pyflare.engines.queues.batch import MessageBatch, Verdict
from pyflare.engines.queues.binding import WorkerQueue, metrics_of
from pyflare.engines.queues.config import QueuesConfig
from pyflare.engines.queues.consumer import Flight, PushConsumer
from pyflare.engines.queues.names import misspelt
from pyflare.engines.queues.panel import panel
from pyflare.engines.queues.pull import Outcome, PullConsumer, Pulled
from pyflare.engines.queues.rest import MALFORMED, Route, routes
from pyflare.engines.queues.retention import Retention
from pyflare.engines.queues.rows import Buried, Draft, Fate, Listed, Overview, Tally
from pyflare.engines.queues.store import Busy, Store
from pyflare.interop import traces
from pyflare.worker.event import Queue

BUSY_SECONDS = 0.1  # between two tries to settle a batch while another program writes to the file
GRACE_SECONDS = 1.0  # real time that batches in flight get to end by themselves when the server stops or reloads


class Queues(Engine):
    """The room of all queues."""

    keys: ClassVar[Sequence[str]] = ("queues",)
    malformed: ClassVar[int] = MALFORMED

    def __init__(self, configs: Mapping[str, QueuesConfig], ctx: EngineContext) -> None:
        self._configs = configs
        self._ctx = ctx
        self._store = Store(ctx.storage.own("queues"), ctx.storage.durability)
        self._push: dict[str, PushConsumer] = {}
        self._pull: dict[str, PullConsumer] = {}
        for worker, config in configs.items():
            for consumer in config.consumers:
                if consumer.type == "worker":
                    self._push[consumer.queue] = PushConsumer(worker, consumer, config, self._store)
                else:
                    self._pull[consumer.queue] = PullConsumer(consumer, self._store, self._new_lease)
        self._misspelt = misspelt(configs.values())
        self._purged: dict[str, float] = {}  # queue -> when it was last purged, while this server runs
        self._stopped = False
        self._store.recover(ctx.clock.now())
        self._retention = Retention(self._store, ctx.log, ctx.clock.now())

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> QueuesConfig:
        return settings.parse(config, diagnostics)

    agree = staticmethod(settings.agree)

    def check(self, exports: Mapping[str, Mapping[str, type]]) -> None:
        for queue, near in self._misspelt.items():
            text = f'Queue "{queue}" has no consumer, and into "{near}", which has one, nothing goes: a name misspelt?'
            self._ctx.log.once("warn", f"queues.misspelt.{queue}", text)

    def bindings(self, worker: str) -> Mapping[str, WorkerQueue]:
        config = self._configs[worker]
        return {producer.binding: WorkerQueue.make(self, producer, config) for producer in config.producers}

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [BindingRow(producer.binding, "Queue", producer.queue) for producer in self._configs[worker].producers]

    # --- time -----------------------------------------------------------------------------------------------------

    def next_due(self) -> float | None:
        if self._stopped:
            return None
        dues = [self._retention.due]
        for consumer in self._push.values():
            dues += (consumer.due(), consumer.deadline())
        dues += (consumer.due() for consumer in self._pull.values())
        return min((due for due in dues if due is not None), default=None)

    def run_due(self, now: float) -> None:
        if self._stopped:
            return
        for consumer in self._push.values():
            for flight in consumer.overdue(now):
                self._time_out(consumer, flight)
            self._start_due(consumer, now)
        for pulled in self._pull.values():
            if (due := pulled.due()) is not None and due <= now:
                self._report(pulled.queue, pulled.fate, self._store.bury_spent(pulled.queue, pulled.fate, now))
                pulled.changed()
        if self._retention.due is not None and self._retention.due <= now:
            for queue in self._retention.run(now):
                self._changed(queue)

    def busy(self) -> Sequence[str]:
        return [f"queue {name}" for name, consumer in self._push.items() if consumer.flights]

    async def pause(self) -> None:
        self._stopped = True
        tasks = [flight.task for consumer in self._push.values() for flight in consumer.flights.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_SECONDS)
        for consumer in self._push.values():
            for flight in list(consumer.flights.values()):
                self._give_back(consumer, flight)

    def close(self) -> None:
        self._stopped = True
        self._store.close()

    # --- delivery -------------------------------------------------------------------------------------------------

    def _start_due(self, consumer: PushConsumer, now: float) -> None:
        while not self._stopped and (due := consumer.due()) is not None and due <= now:
            self._start(consumer, now)

    def _start(self, consumer: PushConsumer, now: float) -> None:
        """Lease the next batch and hand it to the worker."""
        queue, lease = consumer.queue, self._new_lease()
        taken = self._store.take(queue, consumer.consumer.max_batch_size, consumer.fate, lease, now)
        consumer.changed()
        self._report(queue, consumer.fate, taken.buried)
        if not taken.rows:
            return
        backlog = functools.partial(self._backlog, consumer, self._store.tally(queue))
        batch = MessageBatch.make(queue, taken.rows, backlog, self._ctx.log.warn)
        flight = Flight(lease, taken.rows, batch, now + consumer.config.consumer_timeout, monotonic())
        consumer.flights[lease] = flight
        flight.task = self._ctx.spawn(self._deliver(consumer, flight))

    async def _deliver(self, consumer: PushConsumer, flight: Flight) -> None:
        raised: Exception | None = None
        try:
            await self._ctx.dispatch(consumer.worker, Queue(flight.batch))
        except Exception as error:
            raised = error
        while flight.lease in consumer.flights:  # else it was timed out or given back meanwhile
            try:
                self._finish(consumer, flight, raised)
            except Busy:
                await self._ctx.clock.wait(asyncio.Event(), self._ctx.clock.now() + BUSY_SECONDS)

    def _time_out(self, consumer: PushConsumer, flight: Flight) -> None:
        seconds = consumer.config.consumer_timeout
        self._finish(consumer, flight, TimeoutError(f"the handler did not return within {seconds:g} s"))
        flight.task.cancel()

    def _finish(self, consumer: PushConsumer, flight: Flight, raised: Exception | None) -> None:
        """Settle what the handler decided; the undecided are retried when it raised, else as the settings say."""
        now, queue = self._ctx.clock.now(), consumer.queue
        verdict = Verdict(flight.batch)
        again = raised is not None or consumer.config.undecided == "retry"
        acked = verdict.acked if again else verdict.acked + verdict.undecided
        asked = verdict.retried + ([(row, None) for row in verdict.undecided] if again else [])
        usual = consumer.consumer.retry_delay
        retried = [(row, usual if delay is None else delay) for row, delay in asked]
        buried = self._store.settle(queue, flight.lease, acked, retried, consumer.fate, now)
        del consumer.flights[flight.lease]
        consumer.ended(now)
        self._log_batch(consumer, flight, len(acked), raised, len(verdict.undecided))
        if retried and self._ctx.log.enabled("debug"):
            for row, _ in retried:
                self._ctx.log.debug(f'Retrying message "{row.id}" on queue "{queue}"...')
        self._report(queue, consumer.fate, buried)
        self._start_due(consumer, now)  # at once: until the scheduler comes to it, others have their turns
        self._ctx.poke()

    def _give_back(self, consumer: PushConsumer, flight: Flight) -> None:
        """The server stops: what was decided holds, the rest waits as if it had not been delivered."""
        del consumer.flights[flight.lease]
        verdict = Verdict(flight.batch)
        usual = consumer.consumer.retry_delay
        retried = [(row, usual if delay is None else delay) for row, delay in verdict.retried]
        now = self._ctx.clock.now()
        buried = self._store.settle(consumer.queue, flight.lease, verdict.acked, retried, consumer.fate, now)
        self._store.give_back(consumer.queue, flight.lease, verdict.undecided)
        self._report(consumer.queue, consumer.fate, buried)
        flight.task.cancel()

    def _backlog(self, consumer: PushConsumer, tally: Tally) -> Any:
        return metrics_of(tally, self._store.oldest(consumer.queue), consumer.config)

    def _log_batch(
        self, consumer: PushConsumer, flight: Flight, acked: int, raised: Exception | None, undecided: int
    ) -> None:
        log, queue, total = self._ctx.log, consumer.queue, len(flight.rows)
        if raised is not None:
            text = f'Queue "{queue}": the consumer {consumer.worker} failed\n{traces.render(raised)}'
            log.error(text, queue=queue)
        if log.enabled("info"):
            ms = (monotonic() - flight.began) * 1000
            text = f"QUEUE {queue} {acked}/{total} ({ms:.0f}ms)"
            if undecided and raised is None:
                fate = "retried" if consumer.config.undecided == "retry" else "acknowledged"
                text += f", {undecided} left undecided and {fate}"
            log.info(text, queue=queue, acked=acked, total=total, ms=round(ms, 3), undecided=undecided)

    def _report(self, queue: str, fate: Fate, buried: Sequence[Buried]) -> None:
        """Say what ran out of retries."""
        for message in buried:
            start = f'message "{message.id}" on queue "{queue}"'
            tries = f"after {message.attempts} failed attempt(s)"
            if fate.dead_letter_queue is None:
                self._ctx.log.warn(f"Dropped {start} {tries}!", queue=queue)
            else:
                self._ctx.log.warn(f'Moving {start} to dead letter queue "{fate.dead_letter_queue}" {tries}...')
        if buried and fate.dead_letter_queue is not None:
            self._arrived(fate.dead_letter_queue, self._ctx.clock.now())

    # --- what the binding asks ------------------------------------------------------------------------------------

    def send(self, queue: str, drafts: Sequence[Draft]) -> None:
        now = self._ctx.clock.now()
        self._store.send(queue, drafts, now)
        if queue not in self._push and queue not in self._pull:
            near = self._misspelt.get(queue)
            hint = f'did you mean "{near}"?' if near else "-c a -c b runs the worker that consumes it beside this one"
            text = f'Queue "{queue}" has no consumer among the running workers: its messages are kept until it has one'
            self._ctx.log.once("warn", f"queues.consumer.{queue}", f"{text}; {hint}")
        self._arrived(queue, now)

    def delivery_delay(self, queue: str) -> int:
        return self._store.standings.of(queue).delivery_delay

    def tally(self, queue: str) -> Tally:
        return self._store.tally(queue)

    def oldest(self, queue: str) -> float | None:
        return self._store.oldest(queue)

    def new_id(self) -> str:
        return self._ctx.new_id()

    def warn(self, text: str) -> None:
        self._ctx.log.warn(text)

    # --- what an operator may do ----------------------------------------------------------------------------------

    def names(self) -> Sequence[str]:
        """Every queue that is configured or has messages."""
        return sorted({*self._store.queues(), *self._configured()})

    def overview(self, queue: str) -> Overview:
        push, pull = self._push.get(queue), self._pull.get(queue)
        consumer = push.consumer if push else pull.consumer if pull else None
        producers = [
            f"{worker}.{producer.binding}"
            for worker, config in self._configs.items()
            for producer in config.producers
            if producer.queue == queue
        ]
        now = self._ctx.clock.now()
        return Overview(
            queue,
            self._store.tally_at(queue, now),
            self._store.delayed(queue, now),
            self._store.standings.of(queue),
            self._store.oldest(queue),
            consumer,
            push.worker if push else None,
            producers,
            len(push.flights) if push else 0,
        )

    def messages(
        self, queue: str, state: str = "all", id: str | None = None, contains: str | None = None, after: int = 0,
        limit: int = 100,
    ) -> Sequence[Listed]:  # fmt: skip
        """Messages in order of arrival; `state`: all, waiting, ready, delayed, leased; `contains`: text of the body."""
        needle = contains.encode() if contains else None
        now = self._ctx.clock.now()
        return self._store.messages(queue, now, state=state, id=id, contains=needle, after=after, limit=limit)

    def peek(self, queue: str, limit: int = 10) -> Sequence[Listed]:
        """The next messages, without leasing them."""
        return self.messages(queue, state="waiting", limit=limit)

    def pause_delivery(self, queue: str) -> None:
        """No batch of the queue starts; messages are still accepted. Survives a restart."""
        self._store.standings.set(queue, "paused", True)

    def resume_delivery(self, queue: str) -> None:
        self._store.standings.set(queue, "paused", False)
        self._changed(queue)

    def purge(self, queue: str) -> int:
        """Delete every message; how many."""
        purged = self._store.purge(queue)
        self._purged[queue] = self._ctx.clock.now()
        self._changed(queue)
        return purged

    def purged_at(self, queue: str) -> float | None:
        """When this server last purged the queue."""
        return self._purged.get(queue)

    def delete_message(self, queue: str, seq: int, id: str) -> bool:
        """Whether it was there."""
        deleted = self._store.delete(queue, seq, id)
        self._changed(queue)
        return deleted

    def configured(self, queue: str) -> bool:
        """Whether a configuration names the queue; else only its messages or settings are left."""
        return queue in self._configured()

    def forget(self, queue: str) -> None:
        """Delete what is left of a queue that no configuration names any more."""
        self._store.forget(queue)

    def set_delivery_delay(self, queue: str, seconds: int) -> None:
        """How long messages wait that say nothing of it themselves, nor does their batch or producer."""
        self._store.standings.set(queue, "delivery_delay", seconds)

    def set_retention(self, queue: str, seconds: int) -> None:
        """How long messages are kept, those that wait already too."""
        self._store.standings.set(queue, "retention", seconds)
        self._retention.due = self._ctx.clock.now()
        self._ctx.poke()

    def retry_now(self, queue: str, id: str | None = None) -> int:
        """Make delayed messages due (one, or all); how many."""
        count = self._store.hurry(queue, self._ctx.clock.now(), id)
        self._changed(queue)
        return count

    def redrive(self, queue: str, to: str | None = None, id: str | None = None) -> Mapping[str, int]:
        """Move dead letters back to where they died, or to `to`, with attempts anew: how many to which queue."""
        moved = self._store.redrive(queue, self._ctx.clock.now(), to, id)
        self._changed(queue)
        for target in moved:
            self._arrived(target, self._ctx.clock.now())
        return moved

    # --- HTTP consumers -------------------------------------------------------------------------------------------

    def pulls(self, queue: str) -> bool:
        """Whether HTTP clients consume the queue."""
        return queue in self._pull

    def paused(self, queue: str) -> bool:
        """Whether delivery is."""
        return self._store.standings.of(queue).paused

    def pull(self, queue: str, size: int, visibility_ms: float | None = None) -> Sequence[Pulled]:
        """Lease up to `size` messages to an HTTP client; none while delivery is paused."""
        if self._stopped or self.paused(queue):
            return []
        consumer = self._pull[queue]
        pulled, buried = consumer.pull(self._ctx.clock.now(), size, visibility_ms)
        self._report(queue, consumer.fate, buried)
        self._ctx.poke()
        return pulled

    def acknowledge(self, queue: str, acks: Sequence[str], retries: Sequence[tuple[str, float | None]]) -> Outcome:
        """End leases by their ids; a retry may have a delay in seconds."""
        consumer = self._pull[queue]
        outcome = consumer.acknowledge(self._ctx.clock.now(), acks, retries)
        self._report(queue, consumer.fate, outcome.buried)
        self._ctx.poke()
        return outcome

    # --- faces ----------------------------------------------------------------------------------------------------

    def panel(self) -> Panel:
        return panel(self)

    def routes(self) -> Sequence[Route]:
        """Cloudflare's REST paths of queues, for the local API: (method, path template, handler)."""
        return routes(self)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _configured(self) -> set[str]:
        named = set(self._push) | set(self._pull)
        for config in self._configs.values():
            named.update(producer.queue for producer in config.producers)
            named.update(c.dead_letter_queue for c in config.consumers if c.dead_letter_queue)
        return named

    def _arrived(self, queue: str, now: float) -> None:
        self._retention.arrived(queue, now)
        self._changed(queue)

    def _changed(self, queue: str) -> None:
        consumer = self._push.get(queue) or self._pull.get(queue)
        if consumer is not None:
            consumer.changed()
        self._ctx.poke()

    def _new_lease(self) -> int:
        return int(self._ctx.new_id()[-15:], 16)
