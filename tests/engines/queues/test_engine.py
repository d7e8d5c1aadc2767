"""Delivery over time, on a fake clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from pyflare.engines.queues.rows import Tally
from tests.engines.queues.bench import Broker, Recorder, broker, consumer, play, turns
from tests.support.rooms import js, settle

PRODUCER = {"producers": [{"binding": "Q", "queue": "jobs"}]}
DLQ: dict[str, Any] = {
    **PRODUCER,
    "consumers": [{"queue": "jobs", "max_batch_timeout": 0, "max_retries": 2, "dead_letter_queue": "dead"}],
}


def always_retry(message: Any) -> None:
    message.retry()


def fail(message: Any) -> None:
    raise ValueError("no")


# --- batching -----------------------------------------------------------------------------------------------------


def test_a_full_batch_does_not_wait(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        b.send(*range(10))
        await b.settle()
        assert seen.sizes == [10]

    play(broker(tmp_path, seen), scene)


def test_a_partial_batch_waits_for_the_time_out_of_its_first_message(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        b.send("first")
        await b.advance(3)
        b.send("second")
        await b.advance(1.9)
        assert seen.sizes == []
        await b.advance(0.2)
        assert seen.deliveries == [("first", 1, 5.0), ("second", 1, 5.0)]

    play(broker(tmp_path, seen), scene)


def test_with_a_time_out_of_zero_a_message_is_delivered_at_once(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        b.send("now")
        await b.settle()
        assert seen.bodies == ["now"]

    play(broker(tmp_path, seen, consumer(max_batch_timeout=0)), scene)


@pytest.mark.cloudflare("queues/configuration/batching-retries")
def test_twelve_quick_sends_make_a_batch_of_ten_and_one_of_two(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        b.send(*range(12))
        await b.advance(5)
        assert seen.sizes == [10, 2]

    play(broker(tmp_path, seen), scene)


def test_a_batch_that_is_due_begins_as_soon_as_the_one_before_it_ends(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        b.send(*range(20))
        b.room.run_due(b.clock.now())  # once: the scheduler is not asked again
        await turns(10)
        assert seen.sizes == [10, 10]

    play(broker(tmp_path, seen), scene)


def test_messages_arrive_in_the_order_of_sending(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        settle(b.env().sendBatch(js([{"body": n} for n in range(25)])))
        await b.advance(5)
        assert seen.bodies == list(range(25))

    play(broker(tmp_path, seen), scene)


def test_a_delayed_message_lets_the_others_pass(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        settle(b.env().sendBatch(js([{"body": "late", "delaySeconds": 3}, {"body": "soon"}])))
        await b.advance(10)
        assert seen.deliveries == [("soon", 1, 0.0), ("late", 1, 3.0)]

    play(broker(tmp_path, seen, consumer(max_batch_timeout=0)), scene)


def test_a_delayed_message_completes_a_batch_when_it_is_due(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        b.send("late", delaySeconds=3)
        b.send("soon")
        await b.advance(10)
        assert (seen.sizes, seen.deliveries[0][2]) == ([2], 3.0)

    play(broker(tmp_path, seen, consumer(max_batch_size=2, max_batch_timeout=60)), scene)


# --- how a batch ends ---------------------------------------------------------------------------------------------


def decided(folder: Path, act: Callable[[Any, list[Any]], None]) -> list[list[Any]]:
    """Three messages in a batch; `act(batch, messages)` on the first delivery. What each delivery held."""
    seen = Recorder()

    async def handler(batch: Any) -> None:
        await seen(batch)
        if len(seen.batches) == 1:
            act(batch, list(batch.messages))

    async def scene(b: Broker) -> None:
        b.send(0, 1, 2)
        await b.advance(60)

    play(broker(folder, handler, consumer(max_batch_size=3, max_batch_timeout=1)), scene)
    return seen.batches


def raising(*steps: Callable[[Any, list[Any]], Any]) -> Callable[[Any, list[Any]], None]:
    def act(batch: Any, messages: list[Any]) -> None:
        for step in steps:
            step(batch, messages)
        raise ValueError("the handler fails")

    return act


def test_returning_acknowledges_everything(tmp_path: Path) -> None:
    assert decided(tmp_path, lambda batch, messages: None) == [[0, 1, 2]]


def test_raising_retries_everything(tmp_path: Path) -> None:
    assert decided(tmp_path, raising()) == [[0, 1, 2], [0, 1, 2]]


def test_a_retry_of_one_spares_the_others(tmp_path: Path) -> None:
    assert decided(tmp_path, lambda batch, messages: messages[1].retry()) == [[0, 1, 2], [1]]


@pytest.mark.cloudflare("queues/configuration/batching-retries")
def test_an_acknowledged_message_survives_a_raise(tmp_path: Path) -> None:
    assert decided(tmp_path, raising(lambda batch, messages: messages[1].ack())) == [[0, 1, 2], [0, 2]]


@pytest.mark.cloudflare("queues/configuration/javascript-apis")
def test_ack_all_survives_a_raise(tmp_path: Path) -> None:
    assert decided(tmp_path, raising(lambda batch, messages: batch.ackAll())) == [[0, 1, 2]]


def test_a_retry_with_delay_then_a_raise_keeps_the_delay(tmp_path: Path) -> None:
    seen = Recorder()

    async def handler(batch: Any) -> None:
        await seen(batch)
        if len(seen.batches) == 1:
            batch.messages[0].ack()
            batch.messages[1].retry(delaySeconds=4)
            raise ValueError

    async def scene(b: Broker) -> None:
        seen.clock = b.clock
        b.send(0, 1, 2)
        await b.advance(60)
        assert seen.deliveries[3:] == [(2, 2, 1.0), (1, 2, 5.0)]

    play(broker(tmp_path, handler, consumer(max_batch_size=3, max_batch_timeout=1)), scene)


def test_the_configured_delay_holds_for_retries_without_one(tmp_path: Path) -> None:
    seen = Recorder(always_retry)

    async def scene(b: Broker) -> None:
        b.send("m")
        await b.advance(100)
        assert [(attempts, at) for _, attempts, at in seen.deliveries] == [(1, 0.0), (2, 15.0), (3, 30.0)]

    play(broker(tmp_path, seen, consumer(max_batch_size=1, max_retries=2, retry_delay=15)), scene)


def test_growing_delays_by_attempts(tmp_path: Path) -> None:
    seen = Recorder(lambda message: message.retry(delaySeconds=2**message.attempts * 60))

    async def scene(b: Broker) -> None:
        b.send("m")
        await b.advance(2000)
        assert [at for _, _, at in seen.deliveries] == [0.0, 120.0, 360.0, 840.0]

    play(broker(tmp_path, seen, consumer(max_batch_timeout=0)), scene)


def test_the_line_says_how_many_were_acknowledged(tmp_path: Path) -> None:
    seen = Recorder(lambda message: message.retry() if message.body == 1 else message.ack())

    async def scene(b: Broker) -> None:
        b.send(0, 1, 2)
        await b.settle()

    made = play(broker(tmp_path, seen, consumer(max_batch_size=3, retry_delay=60)), scene)
    assert "[wrangler:info] QUEUE jobs 2/3 (" in made.said
    assert "undecided" not in made.said


def test_the_undecided_are_counted_in_the_line(tmp_path: Path) -> None:
    async def scene(b: Broker) -> None:
        b.send(0, 1, 2)
        await b.settle()

    made = play(broker(tmp_path, None, consumer(max_batch_size=3)), scene)
    assert "), 3 left undecided and acknowledged" in made.said


def test_pyproject_may_have_the_undecided_retried(tmp_path: Path) -> None:
    seen = Recorder(lambda message: message.ack() if message.body == 0 else None)

    async def scene(b: Broker) -> None:
        b.send(0, 1)
        await b.settle()

    section = consumer(max_batch_size=2, max_batch_timeout=0, max_retries=1)
    made = play(broker(tmp_path, seen, section, tool={"queues": {"undecided": "retry"}}), scene)
    assert seen.batches == [[0, 1], [1]]
    assert "1/2" in made.said and "1 left undecided and retried" in made.said


def test_a_failure_is_shown_with_its_traceback(tmp_path: Path) -> None:
    async def scene(b: Broker) -> None:
        b.send("m")
        await b.settle()

    made = play(broker(tmp_path, Recorder(fail), consumer(max_batch_timeout=0)), scene)
    assert "ValueError: no" in made.said


# --- retries and dead letters -------------------------------------------------------------------------------------


def test_a_failing_message_is_delivered_max_retries_and_one_times(tmp_path: Path) -> None:
    seen = Recorder(fail)

    async def scene(b: Broker) -> None:
        b.send("m")
        await b.settle()
        assert [attempts for _, attempts, _ in seen.deliveries] == [1, 2, 3, 4]
        assert b.room.overview("jobs").standing.dropped == 1

    made = play(broker(tmp_path, seen, consumer(max_batch_timeout=0)), scene)
    assert 'Dropped message "00000000000000000000000000000001" on queue "jobs" after 4 failed attempt(s)!' in made.said


def test_dead_letters_without_consumer_are_kept_and_counted(tmp_path: Path) -> None:
    async def scene(b: Broker) -> None:
        b.send("a", "b")
        await b.settle()
        assert b.room.tally("dead") == Tally(waiting=2, bytes=6)
        assert b.room.overview("jobs").standing.dead_lettered == 2

    made = play(broker(tmp_path, Recorder(always_retry), DLQ), scene)
    assert 'on queue "jobs" to dead letter queue "dead" after 3 failed attempt(s)...' in made.said


def test_a_dead_letter_has_its_own_consumer_and_attempts_anew(tmp_path: Path) -> None:
    seen: list[tuple[str, int, str]] = []

    async def handler(batch: Any) -> None:
        for message in batch.messages:
            seen.append((batch.queue, message.attempts, message.id))
        if batch.queue == "jobs":
            batch.retryAll()

    async def scene(b: Broker) -> None:
        b.send("m")
        await b.settle()

    section = {**DLQ, "consumers": [*DLQ["consumers"], {"queue": "dead", "max_batch_timeout": 0}]}
    play(broker(tmp_path, handler, section), scene)
    assert [(queue, attempts) for queue, attempts, _ in seen] == [("jobs", 1), ("jobs", 2), ("jobs", 3), ("dead", 1)]
    assert len({id for _, _, id in seen}) == 1


def test_two_queues_that_are_each_other_s_dead_letters_pass_a_message_on(tmp_path: Path) -> None:
    seen: list[str] = []

    async def handler(batch: Any) -> None:
        seen.append(batch.queue)
        if len(seen) < 5:
            batch.retryAll()

    async def scene(b: Broker) -> None:
        b.send("m")
        await b.settle()

    ends = {"max_batch_timeout": 0, "max_retries": 0}
    consumers = [
        {"queue": "jobs", "dead_letter_queue": "b", **ends},
        {"queue": "b", "dead_letter_queue": "jobs", **ends},
    ]
    play(broker(tmp_path, handler, {**DLQ, "consumers": consumers}), scene)
    assert seen == ["jobs", "b", "jobs", "b", "jobs"]


# --- how many at once ---------------------------------------------------------------------------------------------


class Slow:
    """A handler that waits until the test lets a batch go."""

    def __init__(self) -> None:
        self.running: list[asyncio.Future[None]] = []
        self.most = 0

    async def __call__(self, batch: Any) -> None:
        future = asyncio.get_running_loop().create_future()
        self.running.append(future)
        self.most = max(self.most, len(self.running))
        await future

    def release(self) -> None:
        self.running.pop(0).set_result(None)


async def pump(b: Broker) -> None:
    """Start what is due without waiting for what is in flight."""
    for _ in range(20):
        if (due := b.room.next_due()) is not None and due <= b.clock.now():
            b.room.run_due(b.clock.now())
        await turns(1)


def concurrency(folder: Path, rounds: int, **fields: Any) -> list[int]:
    """How many batches of one run beside each other, after each batch that ends."""
    slow = Slow()
    counts: list[int] = []

    async def scene(b: Broker) -> None:
        b.send(*range(40))
        await pump(b)
        for _ in range(rounds):
            counts.append(len(slow.running))
            slow.release()
            await pump(b)
        while slow.running:
            slow.release()
            await pump(b)

    play(broker(folder, slow, consumer(max_batch_size=1, **fields)), scene)
    return counts


def test_each_batch_that_leaves_a_full_one_waiting_allows_one_more(tmp_path: Path) -> None:
    assert concurrency(tmp_path, 12) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]


def test_max_concurrency_is_the_cap(tmp_path: Path) -> None:
    assert concurrency(tmp_path, 5, max_concurrency=3) == [1, 2, 3, 3, 3]


def test_a_concurrency_of_one_is_strictly_sequential(tmp_path: Path) -> None:
    assert concurrency(tmp_path, 5, max_concurrency=1) == [1] * 5


def test_when_nothing_waits_it_is_one_batch_again(tmp_path: Path) -> None:
    slow = Slow()

    async def scene(b: Broker) -> None:
        b.send(*range(6))
        await pump(b)
        while slow.running:
            slow.release()
            await pump(b)
        b.send(*range(6))
        await pump(b)
        assert len(slow.running) == 1
        while slow.running:
            slow.release()
            await pump(b)

    play(broker(tmp_path, slow, consumer(max_batch_size=1)), scene)


# --- the wall -----------------------------------------------------------------------------------------------------


def test_a_batch_that_takes_too_long_fails_and_its_undecided_messages_come_again(tmp_path: Path) -> None:
    slow, seen = Slow(), Recorder()

    async def handler(batch: Any) -> None:
        await seen(batch)
        batch.messages[0].ack()
        if len(seen.batches) == 1:
            await slow(batch)

    async def scene(b: Broker) -> None:
        b.send("done", "hangs")
        await pump(b)
        b.clock.advance(29.9)
        await pump(b)
        assert seen.batches == [["done", "hangs"]]
        b.clock.advance(0.2)
        await pump(b)
        assert seen.batches == [["done", "hangs"], ["hangs"]]

    section = consumer(max_batch_size=2, max_batch_timeout=0)
    made = play(broker(tmp_path, handler, section, tool={"queues": {"consumer_timeout": 30}}), scene)
    assert "TimeoutError: the handler did not return within 30 s" in made.said


@pytest.mark.parametrize(
    ("tool", "handled"),
    [({"consumer_timeout": 30}, 59), ({}, 100)],
    ids=["thirty seconds are too few", "a quarter of an hour is enough"],
)
def test_a_hundred_messages_of_half_a_second(tmp_path: Path, tool: dict[str, int], handled: int) -> None:
    slow, done = Slow(), list[int]()

    async def handler(batch: Any) -> None:
        for message in batch.messages:
            await slow(batch)
            message.ack()
            done.append(message.body)

    async def scene(b: Broker) -> None:
        b.send(*range(100))
        await pump(b)
        for _ in range(99):
            b.clock.advance(0.5)
            await pump(b)
            if "did not return" in b.said:
                break
            slow.release()
            await pump(b)
        else:
            b.clock.advance(0.5)
            slow.release()
            await pump(b)
        assert done == list(range(handled))
        assert b.room.tally("jobs").leased == 100 - handled  # what is left is out again, in the next batch
        slow.running.clear()

    section = consumer(max_batch_size=100, max_batch_timeout=0)
    made = play(broker(tmp_path, handler, section, tool={"queues": tool}), scene)
    assert ("did not return within 30 s" in made.said) == (handled < 100)


def test_the_wall_is_a_quarter_of_an_hour_when_nothing_is_said(tmp_path: Path) -> None:
    slow = Slow()

    async def scene(b: Broker) -> None:
        b.send("m")
        await pump(b)
        assert b.room.next_due() == b.clock.now() + 900
        slow.release()
        await pump(b)

    play(broker(tmp_path, slow, consumer(max_batch_timeout=0)), scene)


def test_a_batch_that_was_timed_out_may_return_later_without_effect(tmp_path: Path) -> None:
    async def stubborn(batch: Any) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            batch.ackAll()

    async def scene(b: Broker) -> None:
        b.send("m")
        await pump(b)
        b.room.pause_delivery("jobs")
        b.clock.advance(900)
        await pump(b)
        assert b.room.tally("jobs") == Tally(waiting=1, bytes=3)

    play(broker(tmp_path, stubborn, consumer(max_batch_timeout=0)), scene)


# --- stopping and starting ----------------------------------------------------------------------------------------


def test_what_waits_survives_a_restart_with_its_id_and_its_time(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        b.send("m", delaySeconds=5)
        (before,) = b.room.peek("jobs")
        await b.advance(1)
        b.room.close()
        b.open()
        (after,) = b.room.peek("jobs")
        assert before == after
        await b.advance(10)
        assert seen.deliveries == [("m", 1, 5.0)]

    play(broker(tmp_path, seen, consumer(max_batch_timeout=0)), scene)


def test_a_crash_counts_the_attempt(tmp_path: Path) -> None:
    slow, seen = Slow(), Recorder()

    async def handler(batch: Any) -> None:
        await seen(batch)
        if len(seen.batches) == 1:
            await slow(batch)

    async def scene(b: Broker) -> None:
        b.send("m")
        await pump(b)
        b.room.close()  # without `pause`: as a killed process leaves the file
        b.open()
        await b.settle()
        assert [attempts for _, attempts, _ in seen.deliveries] == [1, 2]

    play(broker(tmp_path, handler, consumer(max_batch_timeout=0)), scene)


def test_a_reload_gives_the_lease_back_uncounted_but_keeps_decisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyflare.engines.queues.engine.GRACE_SECONDS", 0.0)
    slow, seen = Slow(), Recorder()

    async def handler(batch: Any) -> None:
        await seen(batch)
        if len(seen.batches) == 1:
            batch.messages[0].ack()
            batch.messages[1].retry()
            await slow(batch)

    async def scene(b: Broker) -> None:
        b.send("acked", "retried", "undecided")
        await pump(b)
        await b.room.pause()
        assert b.room.busy() == []
        b.room.close()
        b.open()
        await b.settle()
        assert [(body, attempts) for body, attempts, _ in seen.deliveries[3:]] == [("undecided", 1), ("retried", 2)]

    play(broker(tmp_path, handler, consumer(max_batch_size=3, max_batch_timeout=0)), scene)


def test_a_batch_that_ends_in_the_grace_counts_as_it_ended(tmp_path: Path) -> None:
    slow = Slow()

    async def scene(b: Broker) -> None:
        b.send("m")
        await pump(b)
        asyncio.get_running_loop().call_soon(slow.release)
        await b.room.pause()
        assert b.room.tally("jobs") == Tally()

    play(broker(tmp_path, slow, consumer(max_batch_timeout=0)), scene)


def test_a_batch_is_settled_when_another_program_lets_go_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyflare.storage.database.BUSY_TIMEOUT_MS", 0)
    file = tmp_path / "v3/pyflare/queues.sqlite"
    other: list[apsw.Connection] = []

    async def handler(batch: Any) -> None:
        other.append(apsw.Connection(str(file)))
        other[0].execute("BEGIN IMMEDIATE")

    async def scene(b: Broker) -> None:
        woken: list[asyncio.Event] = []

        async def wait(event: asyncio.Event, until: float | None) -> None:
            woken.append(event)
            await event.wait()

        monkeypatch.setattr(b.clock, "wait", wait)
        b.send("m")
        await pump(b)
        assert b.room.busy() == ["queue jobs"]
        other[0].execute("ROLLBACK")
        other[0].close()
        woken[0].set()
        await pump(b)
        assert (b.room.busy(), b.room.tally("jobs")) == ([], Tally())

    play(broker(tmp_path, handler, consumer(max_batch_timeout=0)), scene)


def test_after_pause_nothing_starts(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        await b.room.pause()
        b.send("m")
        assert b.room.next_due() is None
        b.room.run_due(b.clock.now())
        await turns(3)
        assert seen.batches == []

    play(broker(tmp_path, seen, consumer(max_batch_timeout=0)), scene)


# --- operations ---------------------------------------------------------------------------------------------------


def test_a_paused_queue_accepts_and_does_not_deliver(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        b.room.pause_delivery("jobs")
        b.send("m")
        await b.advance(60)
        assert seen.batches == []
        b.room.resume_delivery("jobs")
        await b.settle()
        assert seen.batches == [["m"]]

    play(broker(tmp_path, seen, consumer(max_batch_timeout=0)), scene)


def test_peek_shows_without_delivering(tmp_path: Path) -> None:
    async def scene(b: Broker) -> None:
        b.send("a", "b")
        assert [message.body for message in b.room.peek("jobs", 1)] == [b'"a"']
        assert b.room.tally("jobs").waiting == 2

    play(broker(tmp_path), scene)


def test_a_delayed_message_can_be_delivered_now(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        b.send("m", delaySeconds=3600)
        assert b.room.retry_now("jobs") == 1
        await b.settle()
        assert seen.bodies == ["m"]

    play(broker(tmp_path, seen, consumer(max_batch_timeout=0)), scene)


def test_a_purged_queue_delivers_nothing(tmp_path: Path) -> None:
    seen = Recorder()

    async def scene(b: Broker) -> None:
        b.send("a", "b")
        assert b.room.purge("jobs") == 2
        await b.advance(60)
        assert (seen.batches, b.room.tally("jobs")) == ([], Tally())

    play(broker(tmp_path, seen), scene)


def test_dead_letters_that_are_moved_back_are_delivered_anew(tmp_path: Path) -> None:
    seen = Recorder(always_retry)

    async def scene(b: Broker) -> None:
        b.send("m")
        await b.settle()
        seen.decide = None
        assert b.room.redrive("dead") == {"jobs": 1}
        await b.settle()
        assert seen.deliveries[-1] == ("m", 1, 0.0)

    play(broker(tmp_path, seen, DLQ), scene)


def test_the_overview_names_both_ends(tmp_path: Path) -> None:
    made = broker(tmp_path, section=DLQ)
    assert made.room.names() == ["dead", "jobs"]
    view = made.room.overview("jobs")
    assert (view.worker, list(view.producers), view.in_flight) == ("w", ["w.Q"], 0)
    made.room.close()


def test_the_panel_shows_counts_and_messages(tmp_path: Path) -> None:
    made = broker(tmp_path, section=DLQ)
    made.send({"n": 1})
    panel = made.room.panel()
    assert [table.title for table in panel.tables] == ["Queues", "Messages of jobs"]
    assert panel.tables[1].rows[0][1] == '{"n":1}'
    made.room.close()


@pytest.mark.cloudflare("changelog/2026-04-15: unacknowledged messages")
def test_metrics_count_what_the_handler_holds(tmp_path: Path) -> None:
    seen: list[list[int]] = []

    async def handler(batch: Any) -> None:
        own, asked = batch.metadata.metrics, settle(b.env().metrics())
        for found in (own, asked):
            seen.append([found.backlogCount, found.backlogBytes, found.oldestMessageTimestamp.getTime()])

    async def scene(b: Broker) -> None:
        b.send("a", "bb", contentType="text")
        began = b.clock.now()
        await b.advance(5)
        assert seen == [[2, 3, began * 1000]] * 2
        assert settle(b.env().metrics()).backlogCount == 0

    b = broker(tmp_path, handler)
    play(b, scene)


# --- retention ----------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("queues/platform/limits")
def test_messages_expire_after_four_days_and_a_line_warns_a_day_before(tmp_path: Path) -> None:
    section = {"producers": [{"binding": "Q", "queue": "jobs"}]}

    async def scene(b: Broker) -> None:
        b.send("m")
        await b.advance(3 * 86_400 - 1)
        assert "will expire" not in b.said
        await b.advance(2)
        assert 'Queue "jobs": 1 message(s) are 4 days old in less than 24 hours and will expire' in b.said
        await b.advance(86_400)
        assert b.room.tally("jobs") == Tally()
        assert b.room.overview("jobs").standing.expired == 1

    play(broker(tmp_path, section=section), scene)


@pytest.mark.cloudflare("queues/configuration/configure-queues")
def test_a_queue_may_keep_its_messages_for_another_time(tmp_path: Path) -> None:
    section = {"producers": [{"binding": "Q", "queue": "jobs"}, {"binding": "LONG", "queue": "long"}]}

    async def scene(b: Broker) -> None:
        b.send("m", binding="LONG")
        b.room.set_retention("jobs", 600)
        b.room.set_retention("long", 14 * 86_400)
        b.send("m")
        await b.advance(449)
        assert "will expire" not in b.said
        await b.advance(150)
        assert 'Queue "jobs": 1 message(s) are 10 minutes old in less than 2.5 minutes and will expire' in b.said
        assert b.room.tally("jobs").waiting == 1
        await b.advance(2)
        assert 'Queue "jobs": 1 message(s) expired after 10 minutes' in b.said
        await b.advance(13 * 86_400)
        assert b.room.tally("long").waiting == 1
        assert 'Queue "long": 1 message(s) are 14 days old in less than 24 hours and will expire' in b.said

    play(broker(tmp_path, section=section), scene)


def test_a_shorter_retention_holds_for_what_waits_already(tmp_path: Path) -> None:
    async def scene(b: Broker) -> None:
        b.send("m")
        await b.advance(3600)
        b.room.set_retention("jobs", 1800)
        await b.settle()
        assert b.room.tally("jobs") == Tally()

    play(broker(tmp_path, section=PRODUCER), scene)


def test_a_dead_letter_is_kept_as_long_as_its_queue_says(tmp_path: Path) -> None:
    async def scene(b: Broker) -> None:
        b.room.set_retention("dead", 60)
        b.send("m")
        await b.settle()
        assert b.room.tally("dead").waiting == 1
        await b.advance(61)
        assert b.room.tally("dead") == Tally()

    play(broker(tmp_path, Recorder(always_retry), DLQ), scene)


def test_a_message_that_is_held_past_its_time_expires_when_it_is_let_go(tmp_path: Path) -> None:
    section = {"consumers": [{"queue": "jobs", "type": "http_pull"}], **PRODUCER}
    half_a_day_ms = 43_200_000

    async def scene(b: Broker) -> None:
        b.send("m")
        await b.advance(4 * 86_400 - 60)
        b.room.pull("jobs", 1, half_a_day_ms)
        await b.advance(120)
        assert b.room.tally("jobs").leased == 1
        await b.advance(86_400)
        assert b.room.tally("jobs") == Tally()
        assert b.room.overview("jobs").standing.expired == 1

    play(broker(tmp_path, section=section), scene)


def test_100_000_waiting_messages_are_rows_and_no_tasks(tmp_path: Path) -> None:
    from pyflare.engines.queues.rows import Draft

    async def scene(b: Broker) -> None:
        drafts = [Draft(f"{n:032x}", "json", b"1", 3600) for n in range(1000)]
        for _ in range(100):
            b.room.send("jobs", drafts)
        await b.settle()
        assert b.room.next_due() == b.clock.now() + 3600
        assert len(asyncio.all_tasks()) == 1

    play(broker(tmp_path, section=consumer(max_batch_timeout=0)), scene)
