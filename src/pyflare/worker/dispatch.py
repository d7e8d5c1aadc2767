"""Turns an event into a call of the user's code, within a scope, inside the portal.

Calling convention (workerd `io/worker.c++`, as recorded): class handlers get `(event, None, None)`, since the
constructor got env and ctx. `fetch` may take fewer arguments; `queue`, `scheduled` and the like must take three.
Module-level handlers get as many arguments as they take.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyflare.clock import Clock
from pyflare.interop import rpc, scope, traces
from pyflare.interop.awaiting import value_of
from pyflare.interop.errors import error, type_error
from pyflare.interop.modules.pyodide_code import positional_count
from pyflare.interop.web.response import Response
from pyflare.log import Log
from pyflare.worker import event as events
from pyflare.worker import trace
from pyflare.worker.context import Background, ExecutionContext
from pyflare.worker.portal import Portal
from pyflare.worker.signature import explain
from pyflare.worker.worker import Worker

RELAXED = ("fetch", "test")  # of class handlers; the others are called with exactly three arguments


class Dispatcher:
    """`await dispatcher(worker_name, event)` runs it as a task of its own; `serve` within the caller's task."""

    def __init__(self, workers: Mapping[str, Worker], portal: Portal, clock: Clock, log: Log) -> None:
        self._workers, self._portal, self._clock, self._log = workers, portal, clock, log
        self._base = contextvars.copy_context()
        self.running: set[asyncio.Task[Any]] = set()
        self.background: set[Background] = set()

    async def __call__(self, worker_name: str, event: events.Event) -> Any:
        """What the handler gave; raises what it raised. The caller's cancellation cancels it."""
        worker = self._workers[worker_name]
        context = self._base.copy()
        running, background = self._scope(worker, event)
        context.run(scope.current.set, running)
        task = asyncio.get_running_loop().create_task(self._run(worker, event, running, background), context=context)
        if not isinstance(event, events.Enter) or event.counts:
            self.running.add(task)
            task.add_done_callback(self.running.discard)
        try:
            return await task
        except AttributeError as raised:
            traces.explain_env(raised, worker.env)
            raise

    async def serve(self, worker_name: str, event: events.Event) -> Any:
        """The same within the caller's task, whose context keeps the scope: what an answer still streams belongs to
        it."""
        worker = self._workers[worker_name]
        running, background = self._scope(worker, event)
        scope.current.set(running)
        try:
            if running.trace is None and isinstance(event, events.Fetch):  # nearly always, and in fewer steps
                return await self._portal.drive(self._fetch(worker, event, running, background))
            return await self._portal.drive(self._run(worker, event, running, background))
        except AttributeError as raised:
            traces.explain_env(raised, worker.env)
            raise

    def base_context(self) -> contextvars.Context:
        """A context outside of any event."""
        return self._base.copy()

    @contextlib.contextmanager
    def importing(self, worker: Worker) -> Iterator[None]:
        """The global scope of a worker, while its modules are imported."""
        running = scope.Scope(worker, self._clock, Background().add, None, "global scope")
        running.global_scope = True
        token = scope.current.set(running)
        try:
            yield
        finally:
            scope.current.reset(token)

    def busy(self) -> list[str]:
        """What runs now, for `settle` and its messages."""
        return ["handler" for _ in self.running] + ["waitUntil" for group in self.background if group.pending]

    def _scope(self, worker: Worker, event: events.Event) -> tuple[scope.Scope, Background]:
        background = Background()
        background.failed = self._background_failed  # type: ignore[method-assign]
        enter = event if isinstance(event, events.Enter) else None
        add = enter.background if enter is not None and enter.background is not None else background.add
        running = scope.Scope(worker, self._clock, add, enter.gate if enter is not None else None, _label(event))
        if worker.tail is not None:
            running.trace = trace.begin(worker.name, event, self._clock)
        return running, background

    def _background_failed(self, raised: BaseException) -> None:
        running = scope.current.get()
        if running is not None and running.trace is not None:
            running.trace.failed(raised)
        if running is not None and isinstance(raised, AttributeError):
            traces.explain_env(raised, running.worker.env)
        self._log.error(f"Uncaught (in waitUntil)\n{traces.render(raised)}")

    async def _run(self, worker: Worker, event: events.Event, running: scope.Scope, background: Background) -> Any:
        if running.trace is None:
            return await self._deliver(worker, event, running, background)
        result = failure = None
        try:
            result = await self._deliver(worker, event, running, background)
            return result
        except BaseException as raised:
            failure = raised
            raise
        finally:
            running.trace.end(result, failure)
            _when_empty(background, lambda: _closed(worker, running.trace))

    async def _deliver(self, worker: Worker, event: events.Event, running: scope.Scope, background: Background) -> Any:
        if isinstance(event, events.Fetch):
            return await self._fetch(worker, event, running, background)
        if isinstance(event, events.Enter):
            return await value_of(event.enter(_class(worker, event.class_name)))
        if isinstance(event, events.Rpc):
            instance = self._instance(worker, event.entrypoint, running, event.props)
            return await rpc.invoke(instance, event.method, event.args)
        name, argument = _handler_of(event)
        return await self._handler(worker, name, argument, running, background)

    async def _fetch(
        self, worker: Worker, event: events.Fetch, running: scope.Scope, background: Background
    ) -> Response:
        self.background.add(background)
        try:
            result = await self._call(worker, "fetch", event.request, running, event.entrypoint, event.props)
            return as_response(result, event)
        finally:
            if background.pending:
                background.emptied = self.background.discard  # type: ignore[method-assign,assignment]
            else:
                self.background.discard(background)

    async def _handler(
        self, worker: Worker, name: str, argument: Any, running: scope.Scope, background: Background
    ) -> None:
        if name == "queue" and worker.compat.enabled("queue_consumer_no_wait_for_wait_until"):
            await self._call(worker, name, argument, running, None, None)
            if background.pending:
                self.background.add(background)
            return
        background.failed = _quiet  # type: ignore[method-assign]
        try:
            await self._call(worker, name, argument, running, None, None)
        except Exception:
            with contextlib.suppress(Exception):  # what the handler raised comes first
                await background.settle()
            raise
        await background.settle()

    async def _call(
        self,
        worker: Worker,
        name: str,
        argument: Any,
        running: scope.Scope,
        entrypoint: str | None,
        props: Any,
    ) -> Any:
        function = worker.handlers.get(f"on_{name}")
        if function is not None and entrypoint is None and "Default" not in worker.exports:
            return await self._module_handler(worker, name, function, argument, running)
        instance = self._instance(worker, entrypoint, running, props)
        handler = getattr(instance, name, None)
        if handler is None and not worker.compat.enabled("python_no_global_handlers"):
            handler = getattr(instance, f"on_{name}", None)  # as methods were called in those days
        if handler is None:
            raise _lacks(name)
        if name == "fetch":
            argument = worker.sdk.Request(argument)
        elif name != "queue":  # the SDK wraps a batch by itself
            argument = worker.sdk.python_from_rpc(argument)
        args: tuple[Any, ...] = (argument, None, None)
        if name in RELAXED:
            args = args[: self._arity(worker, type(instance), name, handler)]
        try:
            result = handler(*args)
            return await result if inspect.isawaitable(result) else result
        except AttributeError as raised:
            _hint_env(raised, handler)
            raise
        except TypeError as raised:
            explain(raised, handler, name, len(args))
            raise

    async def _module_handler(
        self, worker: Worker, name: str, function: Callable[..., Any], argument: Any, running: scope.Scope
    ) -> Any:
        ctx = ExecutionContext.make(running)
        env = worker.env
        if worker.compat.enabled("python_no_global_handlers"):
            env = worker.sdk.wrap_env(env)
            argument = worker.sdk.Request(argument) if name == "fetch" else worker.sdk.python_from_rpc(argument)
        args = (argument, env, ctx)[: self._arity(worker, None, name, function)]
        result = function(*args)
        return await result if inspect.isawaitable(result) else result

    def _instance(self, worker: Worker, entrypoint: str | None, running: scope.Scope, props: Any) -> Any:
        cls = _class(worker, entrypoint or "Default")
        return cls(ExecutionContext.make(running, props), worker.env)

    def _arity(self, worker: Worker, owner: type | None, name: str, handler: Callable[..., Any]) -> int:
        count = worker.arities.get((owner, name))
        if count is None:
            count = worker.arities[owner, name] = positional_count(handler, 3)
        return count


def _closed(worker: Worker, ended: trace.Trace) -> None:
    ended.close()
    if worker.tail is not None:
        worker.tail(ended)


def _when_empty(background: Background, action: Callable[[], None]) -> None:
    """Call `action` when no waitUntil work is left."""
    if not background.pending:
        action()
        return
    before = background.emptied

    def emptied(group: Background) -> None:
        before(group)
        action()

    background.emptied = emptied  # type: ignore[method-assign,assignment]


def _class(worker: Worker, name: str) -> type:
    cls = worker.exports.get(name)
    if cls is None:
        raise type_error(f"There is no '{name}' class defined in the Python Worker's main module")
    return cls


def _handler_of(event: events.Event) -> tuple[str, Any]:
    if isinstance(event, events.Scheduled):
        return "scheduled", event.controller
    if isinstance(event, events.Queue):
        return "queue", event.batch
    assert isinstance(event, events.Handler)
    return event.name, event.argument


def _label(event: events.Event) -> str:
    if isinstance(event, events.Enter):
        return event.label or event.class_name
    if isinstance(event, events.Rpc):
        return f"{event.entrypoint or 'Default'}.{event.method}"
    if isinstance(event, events.Fetch):
        return f"{event.entrypoint or 'Default'}.fetch"
    return _handler_of(event)[0]


def _lacks(name: str) -> Exception:
    return error(f"Handler does not export a {name}() function.")


def _hint_env(raised: AttributeError, handler: Callable[..., Any]) -> None:
    """`env.X` in a class handler: say why env is None."""
    if raised.obj is None and positional_count(handler, 3) > 1:
        raised.add_note(traces.ENV_HINT)


def _quiet(raised: BaseException) -> None:
    """The failure is raised by `settle`."""


def as_response(result: Any, event: events.Fetch) -> Response:
    """The Response that a handler gave; TypeError in production's words for anything else."""
    response = getattr(result, "js_object", result)
    if isinstance(response, Response):
        return response
    raise type_error(
        "Incorrect type for Promise: the Promise did not resolve to 'Response'. "
        f"{_label(event)} returned {'None' if result is None else type(result).__name__}: "
        "return Response(...) or Response.json(...)"
    )
