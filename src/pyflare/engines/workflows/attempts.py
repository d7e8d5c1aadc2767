"""`step.do`: attempts, their results and failures, and the pauses between them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pyflare.engines.workflows import faults
from pyflare.engines.workflows.call import Call, Compensation, StepPromise
from pyflare.engines.workflows.config import DELAY_FUNCTION_SECONDS, MAX_RESULT_BYTES, MAX_STREAM_BYTES
from pyflare.engines.workflows.duration import StepConfig, milliseconds, shown
from pyflare.engines.workflows.rows import DONE, IN_FLIGHT, RETRYING, ROLLBACK, Fault, Step
from pyflare.interop import v8
from pyflare.interop.errors import JsException
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsObject, is_nullish
from pyflare.interop.web.readable import ReadableStream

if TYPE_CHECKING:
    from pyflare.engines.workflows.run import Run

CHUNK_BYTES = 256 * 1024  # of a streamed result, in the database
INVALID_DELAY = 'returned an invalid delay value (expected a number of ms or a duration string like "30 seconds")'


class DelayFault(Exception):
    """A delay function that gave no delay; the text completes "The delay function for step … "."""


class Attempts:
    """The `do` steps of one run that are in progress."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._store = run.host.store
        self.in_flight: set[Call] = set()

    # --- beginning --------------------------------------------------------------------------------------------------

    def first(
        self, kind: str, name: str, count: int, position: int, config: StepConfig, callback: Callable[[Any], Any],
        compensation: Compensation | None,
    ) -> JsPromise:  # fmt: skip
        """A step that was never called before."""
        run, now = self._run, self._run.host.now()
        due_at = now + config.timeout_ms / 1000
        about = run.host.about(config)
        id = self._store.add_do(run.id, kind, name, count, position, due_at, about, now)
        step = Step(id, run.id, kind, name, count, position, IN_FLIGHT, 1, due_at, now, None, about, None, 0)
        call = Call(step, StepPromise.make(run.tasks.futures), config, callback, compensation, 1)
        run.calls[id] = call
        run.host.due(due_at)
        self._start(call)
        return call.promise

    def recorded(
        self, step: Step, config: StepConfig, callback: Callable[[Any], Any], compensation: Compensation | None
    ) -> JsPromise:
        """A step of an earlier run of the same code: its result, its error, or its next attempt."""
        run = self._run
        promise: StepPromise = StepPromise.make(run.tasks.futures)
        call = Call(step, promise, config, callback, compensation, step.attempt)
        if step.state == DONE:
            value = self._value(step)
            self._register(call, value)
            promise._resolve(value)
        elif step.error is not None and step.state not in (IN_FLIGHT, RETRYING):
            self._register(call)
            promise._reject(faults.thrown(Fault.from_json(step.error)))
        elif run.only_replays or step.state not in (IN_FLIGHT, RETRYING):
            self._register(call)  # it does not go on: the instance is about to undo what it has done
        else:
            run.calls[step.id] = call
            self._continue(call)
        return promise

    def _continue(self, call: Call) -> None:
        step, now = call.step, self._run.host.now()
        if step.state == IN_FLIGHT:  # when the process died
            self._register(call)
            self._after_failure(call, faults.LOST_ATTEMPT)
        elif step.due_at is None or step.due_at <= now:
            self.again(call)
        else:
            self._register(call)
            self._run.host.due(step.due_at)

    def again(self, call: Call) -> None:
        """The next attempt."""
        assert call.config is not None
        run, now = self._run, self._run.host.now()
        if run.holds(partial(self.again, call)):
            return
        call.attempt += 1
        due_at = now + call.config.timeout_ms / 1000
        self._store.begin_attempt(call.step, call.attempt, due_at, now)
        run.host.due(due_at)
        self._start(call)

    def _start(self, call: Call) -> None:
        self._register(call)
        self.in_flight.add(call)
        assert call.callback is not None
        context = self._context(call)
        self._launch(call, _answer(call.callback, context), self._attempted)

    def _launch(self, call: Call, work: Any, done: Callable[[Call, int, asyncio.Task[Any]], None]) -> None:
        call.task = self._run.tasks.step(work, call.context.copy())
        call.task.add_done_callback(partial(done, call, call.attempt))

    # --- ending -----------------------------------------------------------------------------------------------------

    def _attempted(self, call: Call, attempt: int, task: asyncio.Task[Any]) -> None:
        raised = None if task.cancelled() else task.exception()
        if self._run.over or call.task is not task or call.attempt != attempt or call not in self.in_flight:
            return
        if task.cancelled():
            self._failed(call, Fault("Error", "The step was cancelled"), True)
        elif raised is not None:
            self._failed(call, faults.kept(raised), not faults.is_non_retryable(raised))
        elif isinstance(result := task.result(), ReadableStream):
            self._launch(call, self._keep_stream(call, result), self._streamed)
        else:
            self._returned(call, result)

    def _returned(self, call: Call, result: Any) -> None:
        try:
            data = v8.dumps(result)
        except JsException:
            self._unserialisable(call)
            return
        if len(data) > MAX_RESULT_BYTES and self._run.host.enforce_limits:
            text = f"Step {call.title} output is too large. Maximum allowed size is 1MiB."
            self._failed(call, Fault("WorkflowInternalError", text), True)
            return
        self._succeeded(call, data, v8.loads(data))

    def _succeeded(self, call: Call, data: bytes | None, value: Any, streamed: bool = False) -> None:
        self._store.succeed(call.step, data, self._run.host.now(), streamed)
        self._end(call)
        self._register(call, value)
        call.promise._resolve(value)
        self._run.moved()

    def _unserialisable(self, call: Call) -> None:
        name = call.step.name
        fault = faults.fatal(f'Value returned from step "{name}" is not serialisable')
        self._store.fail(call.step, call.attempt, fault, self._run.host.now())
        self._end(call)
        self._run.die(
            faults.fatal(
                f'The execution of the Workflow instance was terminated, as the step "{name}" returned a value which '
                "is not serialisable"
            )
        )

    def timed_out(self, call: Call) -> None:
        """The time of an attempt is over."""
        assert call.config is not None
        if call not in self.in_flight:
            return
        task, call.task = call.task, None
        if task is not None:
            task.cancel()
        self._failed(call, faults.timed_out(shown(call.config.timeout_ms)), True)

    def _failed(self, call: Call, fault: Fault, retryable: bool) -> None:
        self._run.host.step_failed(call, fault)
        if retryable:
            self._after_failure(call, fault)
        else:
            self._fail(call, fault)

    def _after_failure(self, call: Call, fault: Fault) -> None:
        """Try again, unless that was the last attempt."""
        assert call.config is not None
        if call.attempt > call.config.limit:
            self._fail(call, fault)
        elif callable(call.config.delay):
            work = _delay(call.config.delay, self._context(call), faults.thrown(fault))
            self.in_flight.add(call)
            self._launch(call, work, partial(self._delayed, fault))
        else:
            self._retry(call, fault, milliseconds(call.config.delay))

    def _delayed(self, fault: Fault, call: Call, attempt: int, task: asyncio.Task[Any]) -> None:
        raised = None if task.cancelled() else task.exception()
        if self._run.over or call.task is not task or call.attempt != attempt:
            return
        if raised is not None or task.cancelled():
            reason = str(raised) if isinstance(raised, DelayFault) else f"threw an error: {raised}"
            self._fail(call, Fault("Error", f'The delay function for step "{call.title}" {reason}'))
        else:
            self._retry(call, fault, task.result())

    def _retry(self, call: Call, fault: Fault, base_ms: float) -> None:
        assert call.config is not None
        now = self._run.host.now()
        due_at = now + call.config.wait_after(call.attempt, base_ms) / 1000
        self._store.retry(call.step, call.attempt, fault, due_at, now)
        self.in_flight.discard(call)
        call.step = call.step._replace(state=RETRYING, due_at=due_at)
        self._run.host.due(due_at)
        self._run.moved()

    def _fail(self, call: Call, fault: Fault) -> None:
        self._store.fail(call.step, call.attempt, fault, self._run.host.now())
        self._end(call)
        call.promise._reject(faults.thrown(fault))
        self._run.moved()

    def _end(self, call: Call) -> None:
        self.in_flight.discard(call)
        self._run.calls.pop(call.step.id, None)

    # --- results ----------------------------------------------------------------------------------------------------

    def _value(self, step: Step) -> Any:
        if step.streamed:
            return ReadableStream.of(self._chunks(step.id))
        data = self._store.result(step.id)
        return None if data is None else v8.loads(data)

    async def _keep_stream(self, call: Call, stream: ReadableStream) -> None:
        """Write the chunks of a result as they come."""
        self._store.chunks.drop(call.step.id)
        number, size, waiting = 0, 0, bytearray()
        async for data in stream.drain():
            waiting += data
            size += len(data)
            if size > MAX_STREAM_BYTES:
                raise ValueError("The instance has exceeded the 1GiB storage limit")
            while len(waiting) >= CHUNK_BYTES:
                self._store.chunks.add(call.step.id, number, bytes(waiting[:CHUNK_BYTES]))
                del waiting[:CHUNK_BYTES]
                number += 1
        if waiting:
            self._store.chunks.add(call.step.id, number, bytes(waiting))

    def _streamed(self, call: Call, attempt: int, task: asyncio.Task[Any]) -> None:
        raised = None if task.cancelled() else task.exception()
        if self._run.over or call.task is not task or call.attempt != attempt or call not in self.in_flight:
            return
        if raised is not None or task.cancelled():
            self._store.chunks.drop(call.step.id)
            self._failed(call, faults.kept(raised or asyncio.CancelledError()), True)
        else:
            self._succeeded(call, None, ReadableStream.of(self._chunks(call.step.id)), True)

    async def _chunks(self, step: int) -> AsyncIterator[bytes]:
        number = 0
        while (data := self._store.chunks.get(step, number)) is not None:
            yield data
            number += 1

    # --- context and compensation -------------------------------------------------------------------------------------

    def _context(self, call: Call) -> Any:
        """What the callback gets: {step: {name, count}, attempt, config}."""
        assert call.config is not None
        step = JsObject.make({"name": call.step.name, "count": call.step.nth})
        return JsObject.make({"step": step, "attempt": call.attempt, "config": call.config.as_object()})

    def _register(self, call: Call, output: Any = None) -> None:
        """From the first attempt on, a failure of the instance undoes the step."""
        compensation = call.compensation
        if compensation is None or call.step.kind == ROLLBACK:
            return
        compensation.step, compensation.context, compensation.output = call.step, self._context(call), output
        self._run.compensations[call.step.id] = compensation


async def _answer(callback: Callable[[Any], Any], context: Any) -> Any:
    result = callback(context)
    return await result if inspect.isawaitable(result) else result


async def _delay(function: Callable[[Any], Any], context: Any, raised: JsException) -> float:
    """Milliseconds, as a function of the worker's says; DelayFault."""
    result = function(JsObject.make({"ctx": context, "error": raised}))
    if inspect.isawaitable(result):
        try:
            async with asyncio.timeout(DELAY_FUNCTION_SECONDS):
                result = await result
        except TimeoutError:
            raise DelayFault(f"did not return within {DELAY_FUNCTION_SECONDS:g} seconds") from None
    if is_nullish(result) or isinstance(result, bool):
        raise DelayFault(INVALID_DELAY)
    try:
        delay = milliseconds(result)
    except ValueError:
        raise DelayFault(INVALID_DELAY) from None
    if delay < 0:
        raise DelayFault(INVALID_DELAY)
    return delay
