"""A call of a step that has not come to its end, and the promise that the worker waits on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pyflare.engines.workflows.duration import StepConfig
from pyflare.engines.workflows.rows import Step
from pyflare.interop.promise import JsPromise


class StepPromise(JsPromise):
    """A promise whose waiters are known: a task that awaits it waits for the engine."""

    js_name: ClassVar[str] = "Promise"

    def __init__(self, futures: set[asyncio.Future[Any]]) -> None:
        super().__init__()
        self._futures = futures

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.settled:
            future = asyncio.get_running_loop().create_future()
            self._futures.add(future)
            self._when_settled(lambda: None if future.done() else future.set_result(None))
            try:
                yield from future.__await__()
            finally:
                self._futures.discard(future)
        return self.result()


@dataclass(eq=False)
class Call:
    """One step in progress: its row, what to call, in whose context, and which attempt it is at."""

    step: Step
    promise: StepPromise
    config: StepConfig | None = None  # None: a sleep or a wait
    callback: Callable[[Any], Any] | None = None
    compensation: Compensation | None = None
    attempt: int = 0
    task: asyncio.Task[Any] | None = None  # of the attempt in flight
    context: Context = field(default_factory=copy_context)

    @property
    def title(self) -> str:
        return f"{self.step.name}-{self.step.nth}"


@dataclass(eq=False)
class Compensation:
    """What undoes a step: registered when the step is first attempted, run with its output should the instance fail."""

    function: Callable[[Any], Any]
    config: StepConfig
    step: Step | None = None
    context: Any = None  # the step's own context, as its latest attempt got it
    output: Any = None
