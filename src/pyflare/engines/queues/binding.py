"""What lands in env: `WorkerQueue`. Texts of errors as recorded and as in workerd `api/queue.c++`.

With the flag `queue_expose_error_codes` (from 2026-03-12) an error ends in the code of queues/reference/error-codes;
before, it says the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from pyflare.engines.queues import body
from pyflare.engines.queues.config import (
    MAX_BATCH_BYTES,
    MAX_BATCH_MESSAGES,
    MAX_DELAY_SECONDS,
    MAX_MESSAGE_BYTES,
    Producer,
    QueuesConfig,
)
from pyflare.engines.queues.options import DELAY, SEND, fields, ignored, not_of_type
from pyflare.engines.queues.rows import Draft, Tally
from pyflare.interop.arguments import to_int32
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException, error, type_error
from pyflare.interop.promise import JsPromise, perform
from pyflare.interop.proxy import JsObject, JsProxy, options

BATCH_DELAY, METADATA, MESSAGE_SIZE, BATCH_SIZE, BATCH_COUNT = (
    "Invalid batch delay (10202)",
    "Invalid message metadata (10203)",
    "Message size out of bounds (10204)",
    "Batch size out of bounds (10205)",
    "Batch count out of bounds (10206)",
)
NO_MESSAGE = "Incorrect type: the provided value is not of type 'MessageSendRequest'."


class Broker(Protocol):
    """What the binding needs of the engine."""

    def send(self, queue: str, drafts: Sequence[Draft]) -> None: ...

    def delivery_delay(self, queue: str) -> int: ...

    def tally(self, queue: str) -> Tally: ...

    def oldest(self, queue: str) -> float | None: ...

    def new_id(self) -> str: ...

    def warn(self, text: str) -> None: ...


def metrics_of(tally: Tally, oldest: float | None, config: QueuesConfig) -> Any:
    """backlogCount, backlogBytes and oldestMessageTimestamp, as `metrics()` and a batch's metadata give them."""
    metrics: dict[str, Any] = {"backlogCount": tally.unacknowledged, "backlogBytes": tally.bytes}
    if oldest is not None:
        metrics["oldestMessageTimestamp"] = JsDate.make(float(int(oldest * 1000)))
    elif config.compat.enabled("enable_fast_jsg_struct"):
        metrics["oldestMessageTimestamp"] = None
    return JsObject.make(metrics)


class WorkerQueue(JsProxy):
    """A producer."""

    js_name: ClassVar[str] = "WorkerQueue"

    def __init__(self, broker: Broker, producer: Producer, config: QueuesConfig) -> None:
        self._broker = broker
        self._producer = producer
        self._config = config
        self._told: set[str] = set()
        self._default_type = "json" if config.compat.enabled("queues_json_messages") else "v8"

    @options
    def send(self, *args: Any) -> JsPromise:
        return self._promise(self._fix_one, args)

    @options
    def sendBatch(self, *args: Any) -> JsPromise:
        return self._promise(self._fix_many, args)

    @options
    def metrics(self, *_: Any) -> JsPromise:
        return perform(self._metrics)

    # --- checking -----------------------------------------------------------------------------------------------------

    def _promise(self, fix: Callable[..., Sequence[Draft]], args: tuple[Any, ...]) -> JsPromise:
        """Arguments are copied, and refused, at the call; the message leaves when the object's gate lets it."""
        try:
            drafts = fix(*args)
        except JsException as refused:
            return JsPromise.reject(refused)
        return perform(self._send, drafts)

    def _fix_one(self, *args: Any) -> Sequence[Draft]:
        if not args:
            raise type_error(not_of_type("send", self.js_name, 1, "Value"))
        how = fields(args[1], not_of_type("send", self.js_name, 2, "SendOptions")) if len(args) > 1 else {}
        self._tell_ignored("send", how, SEND)
        draft = self._draft(self._broker.new_id(), args[0], how, self._usual_delay())
        size = len(draft.body)
        if size > MAX_MESSAGE_BYTES:
            self._refuse(
                "send", MESSAGE_SIZE, f"message length of {size} bytes exceeds limit of {MAX_MESSAGE_BYTES}", large=True
            )
        self._check_delay("send", draft.delay, METADATA)
        return [draft]

    def _fix_many(self, *args: Any) -> Sequence[Draft]:
        begin = getattr(args[0], "__iter__", None) if args else None  # also that of a Python iterator in its proxy
        if begin is None or isinstance(args[0], (str, bytes)):
            raise type_error(not_of_type("sendBatch", self.js_name, 1, "Sequence"))
        how = fields(args[1], not_of_type("sendBatch", self.js_name, 2, "SendBatchOptions")) if len(args) > 1 else {}
        self._tell_ignored("sendBatch", how, DELAY)
        given = how.get("delaySeconds")
        delay = self._usual_delay() if given is None else to_int32(given)
        # One random id a batch, its first digits counted up: asking for entropy 100 times takes longer than the rest.
        id = self._broker.new_id()
        first, rest = int(id[:8], 16), id[8:]
        drafts = []
        for at, message in enumerate(begin()):
            if isinstance(message, dict):
                raise type_error(f"{body.NO_BODY}: a dict that an iterator gives is not converted, one in a list is")
            own = fields(message, NO_MESSAGE)
            drafts.append(self._draft(f"{(first + at) % 2**32:08x}{rest}", own.get("body"), own, delay))
        if not drafts:
            raise type_error("sendBatch() requires at least one message")
        self._check_batch([len(draft.body) for draft in drafts])
        if given is not None:
            self._check_delay("sendBatch", delay, BATCH_DELAY)
        for each in {draft.delay for draft in drafts}:
            self._check_delay("sendBatch", each, METADATA)
        return drafts

    def _check_batch(self, sizes: Sequence[int]) -> None:
        count, largest, total = len(sizes), max(sizes), sum(sizes)
        if count > MAX_BATCH_MESSAGES:
            self._refuse(
                "sendBatch", BATCH_COUNT, f"batch message count of {count} exceeds limit of {MAX_BATCH_MESSAGES}"
            )
        if largest > MAX_MESSAGE_BYTES:
            text = (
                f"message in batch has length {largest} bytes which exceeds single message size limit of "
                f"{MAX_MESSAGE_BYTES}"
            )
            self._refuse("sendBatch", MESSAGE_SIZE, text, large=True)
        if total > MAX_BATCH_BYTES:
            self._refuse("sendBatch", BATCH_SIZE, f"batch size of {total} bytes exceeds limit of {MAX_BATCH_BYTES}")

    def _check_delay(self, call: str, delay: float, code: str) -> None:
        if not 0 <= delay <= MAX_DELAY_SECONDS:
            text = f"message delay {delay:.12g} is invalid: it must be between 0 and {MAX_DELAY_SECONDS} seconds"
            self._broker.warn(f"Queue {self._producer.queue}: {text}")
            # A delay is no size: nothing sensible can be done with a wrong one, even where limits only warn.
            raise self._fault(call, code, text)

    def _tell_ignored(self, call: str, given: Mapping[str, Any], known: frozenset[str]) -> None:
        for sentence in ignored(call, given, known, self._told):
            self._broker.warn(f"Queue {self._producer.queue}: {sentence}")

    def _usual_delay(self) -> int:
        """What holds when neither message nor batch says anything: the producer's, else the queue's."""
        own = self._producer.delivery_delay
        return self._broker.delivery_delay(self._producer.queue) if own is None else own

    def _draft(self, id: str, value: Any, how: Mapping[str, Any], delay: float) -> Draft:
        if value is None:
            raise type_error(body.NO_BODY)
        kind = body.content_type(how.get("contentType"), self._default_type)
        given = how.get("delaySeconds")
        return Draft(id, kind, body.encode(value, kind), delay if given is None else to_int32(given))

    def _refuse(self, call: str, code: str, text: str, large: bool = False) -> None:
        hint = "; keep the body in R2 and send its key" if large else ""
        self._broker.warn(f"Queue {self._producer.queue}: {text}{hint}")
        if self._config.enforce_limits:
            raise self._fault(call, code, text)

    def _fault(self, call: str, code: str, text: str) -> JsException:
        exposed = self._config.compat.enabled("queue_expose_error_codes")
        return error(code if exposed else f"Queue {call} failed: {text}")

    # --- doing --------------------------------------------------------------------------------------------------------

    def _send(self, drafts: Sequence[Draft]) -> Any:
        self._broker.send(self._producer.queue, drafts)
        return JsObject.make({"metadata": JsObject.make({"metrics": self._metrics()})})

    def _metrics(self) -> Any:
        queue = self._producer.queue
        return metrics_of(self._broker.tally(queue), self._broker.oldest(queue), self._config)
