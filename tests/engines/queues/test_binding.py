"""`env.QUEUE` as the SDK calls it: JavaScript values in, promises out."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from pyflare.engines.queues.config import MAX_BATCH_BYTES
from pyflare.interop.buffers import ArrayBuffer, Uint8Array
from pyflare.interop.containers import JsSet
from pyflare.interop.convert import create_proxy
from pyflare.interop.dates import JsDate
from pyflare.interop.proxy import JsObject, jsnull
from tests.engines.queues.bench import OLD, Broker, broker
from tests.support.rooms import NOW, js, refusal, settle

PRODUCER = {
    "producers": [{"binding": "Q", "queue": "jobs"}, {"binding": "LATE", "queue": "jobs", "delivery_delay": 60}]
}


@pytest.fixture
def new(tmp_path: Path) -> Iterator[Broker]:
    made = broker(tmp_path, section=PRODUCER)
    yield made
    made.room.close()


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Broker]:
    made = broker(tmp_path, section=PRODUCER, compat=OLD)
    yield made
    made.room.close()


def stored(made: Broker) -> list[tuple[str, bytes]]:
    return [(message.content_type, message.body) for message in made.room.messages("jobs")]


def due(made: Broker) -> list[float]:
    return [message.due_at - NOW for message in made.room.messages("jobs")]


def test_the_sdk_knows_the_binding_by_its_name(new: Broker) -> None:
    assert new.env().constructor.name == "WorkerQueue"


def test_an_unknown_method_is_an_attribute_error(new: Broker) -> None:
    assert not hasattr(new.env(), "send_batch")


def test_send_answers_with_the_metrics_of_the_queue(new: Broker) -> None:
    new.send("x")
    metrics = settle(new.env().send("yy")).metadata.metrics
    assert (metrics.backlogCount, metrics.backlogBytes) == (2, 7)
    assert metrics.oldestMessageTimestamp.getTime() == NOW * 1000


@pytest.mark.cloudflare("compatibility flag enable_fast_jsg_struct")
def test_the_missing_time_of_an_empty_queue_is_undefined(new: Broker) -> None:
    assert settle(new.env().metrics()).js_properties() == {
        "backlogCount": 0, "backlogBytes": 0, "oldestMessageTimestamp": None,
    }  # fmt: skip


def test_on_older_dates_the_missing_time_is_absent(old: Broker) -> None:
    assert settle(old.env().metrics()).js_properties() == {"backlogCount": 0, "backlogBytes": 0}


def test_json_is_the_default(new: Broker) -> None:
    new.send({"n": 1, "none": jsnull, "when": JsDate.make(0.0), "set": JsSet.make([1])})
    assert stored(new) == [("json", b'{"n":1,"none":null,"when":"1970-01-01T00:00:00.000Z","set":{}}')]


def test_before_2024_v8_was_the_default(tmp_path: Path) -> None:
    made = broker(tmp_path, section=PRODUCER, compat=type(OLD)("2024-01-01"))
    made.send("x")
    assert stored(made)[0][0] == "v8"
    made.room.close()


def test_text_is_kept_as_it_is(new: Broker) -> None:
    settle(new.env().send("é😀", contentType="TEXT"))
    assert stored(new) == [("text", "é😀".encode())]


def test_a_lone_surrogate_becomes_a_replacement_character(new: Broker) -> None:
    settle(new.env().send("a\ud800", contentType="text"))
    assert stored(new) == [("text", "a\ufffd".encode())]


def test_bytes_are_copied_at_the_call(new: Broker) -> None:
    data = Uint8Array.make(ArrayBuffer.make(bytearray(b"ab")))
    promise = new.env().send(data, js({"contentType": "bytes"}))
    data[0] = 0
    settle(promise)
    assert stored(new) == [("bytes", b"ab")]


def test_options_may_be_a_dict(new: Broker) -> None:
    settle(new.env().send("k", {"contentType": "text", "colour": "red"}))
    assert stored(new) == [("text", b"k")]


def test_a_misspelt_option_is_told_once(new: Broker) -> None:
    queue = new.env()
    for _ in range(2):
        settle(queue.send("x", {"delay_seconds": 6}))
    assert due(new) == [0.0, 0.0]
    assert new.said.count("send() ignores the option 'delay_seconds'; did you mean 'delaySeconds'?") == 1


def test_send_batch_takes_any_iterable(new: Broker) -> None:
    settle(new.env().sendBatch(JsObject.make({"body": text}) for text in "ab"))
    assert [body for _, body in stored(new)] == [b'"a"', b'"b"']


def test_send_batch_takes_what_a_proxy_of_a_python_iterable_gives(new: Broker) -> None:
    settle(new.env().sendBatch(create_proxy(JsObject.make({"body": text}) for text in "ab")))
    assert [body for _, body in stored(new)] == [b'"a"', b'"b"']


def test_a_dict_that_an_iterator_gives_has_no_body(new: Broker) -> None:
    assert "Message body cannot be undefined" in refusal(new.env().sendBatch(create_proxy([{"body": 1}])))
    assert stored(new) == []


@pytest.mark.cloudflare(
    "workers-runtime-sdk, rpc.py: it looks at every item before it converts, which uses up iterators"
)
def test_an_iterator_that_is_used_up_gives_no_messages(new: Broker) -> None:
    assert "requires at least one message" in refusal(new.env().sendBatch(create_proxy(iter([]))))


TEXT, BYTES = 'TypeError: Content Type "text"', 'TypeError: Content Type "bytes"'
RANGE = f"TypeError: Value out of range. Must be between {-(2**31)} and {2**31 - 1} (inclusive)."


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((), "TypeError: Failed to execute 'send' on 'WorkerQueue': parameter 1 is not of type 'Value'."),
        ((None,), "TypeError: Message body cannot be undefined"),
        (("x", {"contentType": "xml"}), "TypeError: Unsupported queue message content type: xml"),
        ((js({"a": 1}), {"contentType": "text"}), f"{TEXT} requires a value of type string, but received: object"),
        ((1, {"contentType": "text"}), f"{TEXT} requires a value of type string, but received: number"),
        (("x", {"contentType": "bytes"}), f"{BYTES} requires a value of type ArrayBufferView, but received: string"),
        ((None, {"contentType": "xml"}), "TypeError: Message body cannot be undefined"),
        (("x", 5), "TypeError: Failed to execute 'send' on 'WorkerQueue': parameter 2 is not of type 'SendOptions'."),
        (("x", {"delaySeconds": 2**31}), RANGE),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_a_rejection(new: Broker, args: tuple[Any, ...], text: str) -> None:
    assert refusal(new.env().send(*args)) == text
    assert stored(new) == []


def test_send_batch_wants_messages(new: Broker) -> None:
    assert refusal(new.env().sendBatch(js([]))) == "TypeError: sendBatch() requires at least one message"


def test_what_is_no_object_is_neither_a_message_nor_options(new: Broker) -> None:
    assert refusal(new.env().sendBatch(js([{"body": 1}, "x"]))).endswith("is not of type 'MessageSendRequest'.")
    assert refusal(new.env().sendBatch(js([{"body": 1}]), "x")).endswith("is not of type 'SendBatchOptions'.")
    assert stored(new) == []


def test_a_bad_message_lets_nothing_of_the_batch_through(new: Broker) -> None:
    messages = js([{"body": "good"}, {"body": {"not": "text"}, "contentType": "text"}])
    assert "requires a value of type string" in refusal(new.env().sendBatch(messages))
    assert stored(new) == []


def test_a_python_dict_that_nobody_converted_is_refused_with_the_remedy(new: Broker) -> None:
    assert "to_js(value, dict_converter=Object.fromEntries)" in refusal(new.env().send({"a": 1}))


LONG = "x" * 128_001


def test_older_dates_say_how_long_a_message_was(old: Broker) -> None:
    text = refusal(old.env().send(LONG, contentType="text"))
    assert text == "Error: Queue send failed: message length of 128001 bytes exceeds limit of 128000"


@pytest.mark.cloudflare("queues/reference/error-codes")
def test_newer_dates_give_the_code(new: Broker) -> None:
    assert refusal(new.env().send(LONG, contentType="text")) == "Error: Message size out of bounds (10204)"
    assert "128001 bytes exceeds limit of 128000; keep the body in R2" in new.said


def test_a_message_of_the_greatest_length_passes(new: Broker) -> None:
    settle(new.env().send(LONG[1:], contentType="text"))
    assert len(stored(new)) == 1


def test_a_batch_of_101_messages_is_refused(new: Broker, tmp_path: Path) -> None:
    messages = js([{"body": n} for n in range(101)])
    assert refusal(new.env().sendBatch(messages)) == "Error: Batch count out of bounds (10206)"
    made = broker(tmp_path / "old", section=PRODUCER, compat=OLD)
    assert refusal(made.env().sendBatch(messages)).endswith("batch message count of 101 exceeds limit of 100")
    made.room.close()


def test_the_number_in_the_text_is_the_number_enforced(old: Broker) -> None:
    def batch(count: int) -> Any:
        return js([{"body": "x" * 64_000, "contentType": "text"} for _ in range(count)])

    settle(old.env().sendBatch(batch(4)))
    text = refusal(old.env().sendBatch(batch(5)))
    assert text.endswith(f"batch size of 320000 bytes exceeds limit of {MAX_BATCH_BYTES}")


def test_limits_may_only_warn(tmp_path: Path) -> None:
    made = broker(tmp_path, section=PRODUCER, tool={"limits": "warn"})
    settle(made.env().send(LONG, contentType="text"))
    assert len(stored(made)) == 1
    assert "exceeds limit" in made.said
    made.room.close()


@pytest.mark.parametrize("seconds", [-1, 86_401])
def test_a_delay_out_of_bounds_is_refused(old: Broker, seconds: int) -> None:
    assert f"message delay {seconds} is invalid" in refusal(old.env().send(1, delaySeconds=seconds))
    assert f"Queue jobs: message delay {seconds} is invalid: it must be between 0 and 86400 seconds" in old.said
    assert stored(old) == []


@pytest.mark.parametrize(("given", "seconds"), [(5.9, 5), ("7", 7), ("soon", 0), (float("nan"), 0), (jsnull, 0)])
def test_a_delay_is_the_integer_that_javascript_makes_of_it(new: Broker, given: Any, seconds: int) -> None:
    settle(new.env("LATE").send(1, JsObject.make({"delaySeconds": given})))
    settle(new.env("LATE").sendBatch(js([{"body": 1}]), JsObject.make({"delaySeconds": given})))
    assert due(new) == [seconds, seconds]


def test_a_day_is_the_longest_delay(new: Broker) -> None:
    settle(new.env().send(1, delaySeconds=86_400))
    assert due(new) == [86_400]


def test_the_delay_of_the_message_comes_before_that_of_the_batch_and_of_the_producer(new: Broker) -> None:
    messages = js([{"body": 1, "delaySeconds": 5}, {"body": 2}])
    settle(new.env("LATE").sendBatch(messages, delaySeconds=10))
    settle(new.env("LATE").send(3))
    settle(new.env("LATE").send(4, delaySeconds=0))
    assert due(new) == [5, 10, 60, 0]


@pytest.mark.cloudflare("queues/configuration/configure-queues")
def test_the_delay_of_the_queue_comes_last(new: Broker) -> None:
    new.room.set_delivery_delay("jobs", 30)
    settle(new.env("Q").send(1))
    settle(new.env("Q").send(2, delaySeconds=0))
    settle(new.env("LATE").send(3))
    settle(new.env("Q").sendBatch(js([{"body": 4}, {"body": 5, "delaySeconds": 1}])))
    assert due(new) == [30, 0, 60, 30, 1]


def test_a_producer_without_delay_beats_the_queue_s(tmp_path: Path) -> None:
    made = broker(tmp_path, section={"producers": [{"binding": "Q", "queue": "jobs", "delivery_delay": 0}]})
    made.room.set_delivery_delay("jobs", 30)
    made.send(1)
    assert due(made) == [0]
    made.room.close()


def test_a_queue_without_consumer_keeps_its_messages_and_says_so_once(new: Broker) -> None:
    new.send(1, 2)
    assert new.said.count('Queue "jobs" has no consumer among the running workers') == 1
    assert len(stored(new)) == 2


def test_a_send_inside_a_durable_object_waits_for_its_gate(new: Broker) -> None:
    from pyflare.interop import scope

    class Gate:
        def __init__(self, future: asyncio.Future[None]) -> None:
            self.future = future

        def unconfirmed(self) -> asyncio.Future[None] | None:
            return self.future

    class Worker:
        compat = OLD

    async def scene() -> list[int]:
        counts = []
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        scope.current.set(scope.Scope(Worker(), new.clock, lambda work: None, cast(scope.Gate, Gate(future))))
        promise = new.env().send("x")
        counts.append(len(stored(new)))
        future.set_result(None)
        await promise
        return [*counts, len(stored(new))]

    assert asyncio.run(scene()) == [0, 1]


def test_dates_keep_their_milliseconds_in_v8(new: Broker) -> None:
    from pyflare.engines.queues import body

    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678000, dt.UTC)
    settle(new.env().send(js({"when": JsDate.make(moment.timestamp() * 1000)}), contentType="v8"))
    ((kind, data),) = stored(new)
    assert body.decode(data, kind).when.toISOString() == "2026-01-02T03:04:05.678Z"
