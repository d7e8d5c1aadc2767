"""Decisions on messages: the first one wins, a message's beats the batch's."""

from __future__ import annotations

from typing import Any

import pytest

from pyflare.engines.queues.batch import MessageBatch, Verdict
from pyflare.engines.queues.rows import Row
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import JsObject


class Batch:
    """Three messages, 0 to 2, and what the terminal was told."""

    def __init__(self) -> None:
        rows = [Row(n, f"id{n}", b"%d" % n, "json", 1_700_000_000.1239, 1, 1, 0.0) for n in range(3)]
        self.warnings: list[str] = []
        self.js: Any = MessageBatch.make("jobs", rows, lambda: JsObject.make({"backlogCount": 7}), self.warnings.append)
        self.messages = list(self.js.messages)

    @property
    def verdict(self) -> tuple[list[int], dict[int, int | None], list[int]]:
        found = Verdict(self.js)
        return (
            [row.seq for row in found.acked],
            {row.seq: delay for row, delay in found.retried},
            [row.seq for row in found.undecided],
        )


def test_the_batch_names_its_queue_and_its_backlog() -> None:
    batch = Batch()
    assert (batch.js.queue, batch.js.metadata.metrics.backlogCount) == ("jobs", 7)


def test_a_message_shows_id_attempts_time_and_body() -> None:
    message = Batch().messages[2]
    assert (message.id, message.attempts, message.body) == ("id2", 1, 2)
    assert message.timestamp.getTime() == 1_700_000_000_123


def test_messages_and_bodies_are_the_same_objects_each_time() -> None:
    batch = Batch()
    assert batch.js.messages is batch.js.messages
    assert batch.messages[0].body is batch.messages[0].body


def test_without_a_decision_messages_are_undecided() -> None:
    assert Batch().verdict == ([], {}, [0, 1, 2])


def test_ack_and_retry_return_nothing() -> None:
    batch = Batch()
    assert [batch.messages[0].ack(), batch.messages[1].retry(), batch.js.ackAll()] == [None, None, None]


def test_each_message_has_its_own_fate() -> None:
    batch = Batch()
    batch.messages[0].ack()
    batch.messages[1].retry(delaySeconds=30)
    assert batch.verdict == ([0], {1: 30}, [2])


def test_a_retry_after_an_ack_has_no_effect_and_warns() -> None:
    batch = Batch()
    batch.messages[0].ack()
    batch.messages[0].retry()
    assert batch.verdict[0] == [0]
    assert batch.warnings == [
        "Received a call to retry() on message id0 after ack() was already called. "
        "Calling retry() on a message after calling ack() has no effect."
    ]


def test_an_ack_after_a_retry_has_no_effect_and_warns() -> None:
    batch = Batch()
    batch.messages[0].retry()
    batch.messages[0].ack()
    assert batch.verdict[1] == {0: None}
    assert "ack() on message id0 after retry() was already called" in batch.warnings[0]


def test_the_decision_on_a_message_beats_ack_all() -> None:
    batch = Batch()
    batch.messages[2].retry()
    batch.js.ackAll()
    assert batch.verdict == ([0, 1], {2: None}, [])


@pytest.mark.cloudflare("queues/configuration/batching-retries")
def test_the_decision_on_a_message_beats_retry_all() -> None:
    batch = Batch()
    batch.messages[0].ack()
    batch.js.retryAll(delaySeconds=9)
    assert batch.verdict == ([0], {1: 9, 2: 9}, [])


def test_the_delay_of_a_message_beats_that_of_retry_all() -> None:
    batch = Batch()
    batch.messages[0].retry(JsObject.make({"delaySeconds": 4}))
    batch.js.retryAll({"delaySeconds": 9})
    assert batch.verdict[1] == {0: 4, 1: 9, 2: 9}


def test_after_ack_all_a_retry_warns_and_an_ack_is_silent() -> None:
    batch = Batch()
    batch.js.ackAll()
    batch.messages[0].ack()
    batch.messages[1].retry()
    batch.js.retryAll()
    assert batch.verdict == ([0, 1, 2], {}, [])
    assert [text.split(" after")[0] for text in batch.warnings] == [
        "Received a call to retry() on message id1",
        "Received a call to retryAll()",
    ]


def test_after_retry_all_acks_warn_but_a_retry_may_set_its_delay() -> None:
    batch = Batch()
    batch.js.retryAll()
    batch.messages[0].ack()
    batch.messages[1].retry(delaySeconds=5)
    batch.js.ackAll()
    assert batch.verdict == ([], {0: None, 1: 5, 2: None}, [])
    assert len(batch.warnings) == 2


def test_the_last_retry_of_a_message_sets_its_delay_and_may_take_it_away() -> None:
    batch = Batch()
    for message in batch.messages[:2]:
        message.retry(delaySeconds=5)
        message.retry()
    batch.messages[1].retry(delaySeconds=6)
    batch.js.retryAll(delaySeconds=9)
    batch.js.retryAll()
    assert batch.verdict[1] == {0: 9, 1: 6, 2: 9}


def test_what_is_no_object_is_no_options() -> None:
    batch = Batch()
    for call, of in ((batch.messages[0].retry, "'retry' on 'QueueMessage'"), (batch.js.retryAll, "'QueueController'")):
        with pytest.raises(JsException, match=f"{of}: parameter 1 is not of type 'QueueRetryOptions'"):
            call(5)
    assert batch.verdict == ([], {}, [0, 1, 2])


@pytest.mark.cloudflare("workerd, api/queue.c++: retry() and retryAll() look at no limit")
@pytest.mark.parametrize(("seconds", "taken"), [(-1, 0), (86_401, 86_400)])
def test_a_delay_out_of_bounds_is_told_of_and_the_nearest_is_taken(seconds: int, taken: int) -> None:
    batch = Batch()
    batch.messages[0].retry(delaySeconds=seconds)
    batch.js.retryAll(delaySeconds=seconds)
    assert batch.verdict[1] == {0: taken, 1: taken, 2: taken}
    assert [f"but received {seconds}; {taken} is taken" in told for told in batch.warnings] == [True, True]


def test_a_delay_loses_its_fraction() -> None:
    batch = Batch()
    batch.messages[0].retry(delaySeconds=2.9)
    assert batch.verdict[1] == {0: 2}


def test_an_option_of_retry_that_nobody_knows_is_told_once() -> None:
    batch = Batch()
    batch.messages[0].retry(delay_seconds=60)
    batch.messages[1].retry(delay_seconds=60)
    batch.js.retryAll(delay_seconds=60)
    assert batch.warnings == ["Queue jobs: retry() ignores the option 'delay_seconds'; did you mean 'delaySeconds'?"]
    assert batch.verdict[1] == {0: None, 1: None, 2: None}
