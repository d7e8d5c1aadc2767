"""What the `queue` handler gets: MessageBatch and Message, and what was decided on them.

The first decision on a message wins; a decision on a message beats one on the batch (queues/configuration/
batching-retries). Warnings as in workerd `api/queue.c++`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from pyflare.engines.queues import body
from pyflare.engines.queues.config import MAX_DELAY_SECONDS
from pyflare.engines.queues.options import DELAY, fields, ignored, not_of_type
from pyflare.engines.queues.rows import Row
from pyflare.interop.arguments import to_int32
from pyflare.interop.containers import JsArray
from pyflare.interop.dates import JsDate
from pyflare.interop.proxy import JsObject, JsProxy, options

ACK, RETRY = "ack", "retry"
ABSENT = object()


class Message(JsProxy):
    """One message of a batch; its body is decoded when it is first looked at."""

    js_name: ClassVar[str] = "QueueMessage"
    _decision: str | None = None
    _delay: int | None = None
    _body: Any = ABSENT

    def __init__(self, row: Row, batch: MessageBatch) -> None:
        self._row = row
        self._batch = batch

    @property
    def id(self) -> str:
        return self._row.id

    @property
    def timestamp(self) -> Any:
        return JsDate.make(float(int(self._row.sent_at * 1000)))

    @property
    def attempts(self) -> int:
        return self._row.attempts

    @property
    def body(self) -> Any:
        if self._body is ABSENT:
            self._body = body.decode(self._row.body, self._row.content_type)
        return self._body

    def ack(self, *_: Any) -> None:
        batch = self._batch
        if batch._decision == ACK:
            return
        if batch._decision == RETRY:
            batch._warn(_no_effect("ack()", f"on message {self.id} ", "retryAll()", "ack() on a message"))
        elif self._decision == RETRY:
            batch._warn(_no_effect("ack()", f"on message {self.id} ", "retry()", "ack() on a message"))
        else:
            self._decision = ACK

    @options
    def retry(self, how: Any = None) -> None:
        batch = self._batch
        delay = batch._delay_of("retry", self.js_name, how)
        if batch._decision == ACK:
            batch._warn(_no_effect("retry()", f"on message {self.id} ", "ackAll()", "retry() on a message"))
        elif self._decision == ACK:
            batch._warn(_no_effect("retry()", f"on message {self.id} ", "ack()", "retry() on a message"))
        else:
            self._decision = RETRY
            self._delay = delay  # the last call's, also when it gives none; retryAll() keeps the one before


class MessageBatch(JsProxy):
    """A batch of one queue; `backlog` gives the metrics at its delivery when someone asks."""

    js_name: ClassVar[str] = "QueueController"

    def __init__(
        self, queue: str, rows: Sequence[Row], backlog: Callable[[], Any], warn: Callable[[str], None]
    ) -> None:
        self.queue = queue
        self._messages = [Message.make(row, self) for row in rows]
        self._backlog = backlog
        self._warn = warn
        self._decision: str | None = None
        self._delay: int | None = None
        self._told: set[str] = set()  # options that nobody knows

    @property
    def messages(self) -> JsArray:
        if "_array" not in self.__dict__:
            self._array: JsArray = JsArray.make(list(self._messages))
        return self._array

    @property
    def metadata(self) -> JsObject:
        if "_metadata" not in self.__dict__:
            self._metadata: JsObject = JsObject.make({"metrics": self._backlog()})
        return self._metadata

    def ackAll(self, *_: Any) -> None:
        if self._decision == RETRY:
            self._warn(_no_effect("ackAll()", "", "retryAll()", "ackAll()"))
        else:
            self._decision = ACK

    @options
    def retryAll(self, how: Any = None) -> None:
        delay = self._delay_of("retryAll", self.js_name, how)
        if self._decision == ACK:
            self._warn(_no_effect("retryAll()", "", "ackAll()", "retryAll()"))
            return
        self._decision = RETRY
        self._delay = self._delay if delay is None else delay

    def _delay_of(self, call: str, of: str, how: Any) -> int | None:
        """`delaySeconds` as the integer that JavaScript makes of it, within its limits; None: not given.

        The runtime refuses none here, unlike `send`: what is beyond the limits of queues/platform/limits is told of.
        """
        if how is None:
            return None
        given = fields(how, not_of_type(call, of, 1, "QueueRetryOptions"))
        for sentence in ignored(call, given, DELAY, self._told):
            self._warn(f"Queue {self.queue}: {sentence}")
        asked = given.get("delaySeconds")
        if asked is None:
            return None
        delay = to_int32(asked)
        taken = min(max(delay, 0), MAX_DELAY_SECONDS)
        if taken != delay:
            limits = f"delaySeconds of {call}() must be between 0 and {MAX_DELAY_SECONDS}"
            self._warn(f"Queue {self.queue}: {limits}, but received {delay}; {taken} is taken")
        return taken


class Verdict:
    """What the handler decided; `undecided` were neither acknowledged nor retried by it."""

    def __init__(self, batch: MessageBatch) -> None:
        self.acked: list[Row] = []
        self.retried: list[tuple[Row, int | None]] = []  # with the delay that was asked for
        self.undecided: list[Row] = []
        for message in batch._messages:
            decision = message._decision or batch._decision
            if decision == ACK:
                self.acked.append(message._row)
            elif decision == RETRY:
                delay = message._delay if message._delay is not None else batch._delay
                self.retried.append((message._row, delay))
            else:
                self.undecided.append(message._row)


def _no_effect(call: str, where: str, earlier: str, what: str) -> str:
    return (
        f"Received a call to {call} {where}after {earlier} was already called. "
        f"Calling {what} after calling {earlier} has no effect."
    )
