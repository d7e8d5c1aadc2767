import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyflare.clock import FakeClock
from pyflare.interop import scope
from pyflare.interop.promise import JsPromise
from pyflare.worker.portal import NoSuspender, Portal, run_sync, task_factory
from tests.support.gate import Open


class FakeWorker:
    compat = None

    def __init__(self, portal: Portal) -> None:
        self.portal = portal


def within(test: Callable[[], Awaitable[Any]], gate: scope.Gate | None = None) -> Any:
    """Run `test` as worker code."""

    async def main() -> Any:
        portal = Portal(lambda worker: None, lambda: None)
        loop = asyncio.get_running_loop()
        loop.set_task_factory(task_factory)  # type: ignore[arg-type]
        scope.current.set(scope.Scope(FakeWorker(portal), FakeClock(), lambda work: None, gate))
        return await asyncio.create_task(_call(test))

    return asyncio.run(main())


async def _call(test: Callable[[], Awaitable[Any]]) -> Any:
    return await test()


def test_synchronous_code_waits_for_an_awaitable() -> None:
    async def handler() -> Any:
        def deep() -> Any:
            return run_sync(asyncio.sleep(0, "deep")), run_sync(JsPromise.resolve(4))

        return deep()

    assert within(handler) == ("deep", 4)


def test_other_tasks_go_on_while_one_waits_synchronously() -> None:
    async def handler() -> list[str]:
        order: list[str] = []
        gate = asyncio.Event()

        async def other() -> None:
            order.append("other")
            gate.set()

        task = asyncio.create_task(other())
        run_sync(gate.wait())
        order.append("waiter")
        await task
        return order

    assert within(handler) == ["other", "waiter"]


def test_exceptions_pass_through_run_sync() -> None:
    async def fail() -> None:
        raise LookupError("inside")

    async def handler() -> None:
        run_sync(fail())

    with pytest.raises(LookupError, match="inside"):
        within(handler)


def test_time_outs_and_cancellation_reach_code_that_waits_synchronously() -> None:
    async def handler() -> str:
        try:
            async with asyncio.timeout(0.001):
                run_sync(asyncio.Event().wait())
        except TimeoutError:
            return "timed out"
        return "went on"

    assert within(handler) == "timed out"


def test_context_variables_are_the_tasks_own() -> None:
    async def handler() -> list[int]:
        async def worker(number: int) -> int:
            value.set(number)
            run_sync(asyncio.sleep(0))
            return value.get()

        return await asyncio.gather(*[asyncio.create_task(worker(n)) for n in range(5)])

    from contextvars import ContextVar

    value: ContextVar[int] = ContextVar("value")
    assert within(handler) == [0, 1, 2, 3, 4]


def test_outside_of_an_event_nothing_can_be_suspended() -> None:
    with pytest.raises(NoSuspender, match="No suspender"):
        run_sync(asyncio.sleep(0))


class OneWait(Open):
    """A gate that is closed once."""

    def __init__(self) -> None:
        self.closed: asyncio.Future[None] | None = None
        self.asked = 0

    def waits(self) -> "asyncio.Future[None] | None":
        self.asked += 1
        closed, self.closed = self.closed, None
        return closed


def test_every_resumption_asks_the_gate() -> None:
    gate = OneWait()

    async def handler() -> list[str]:
        order = ["start"]
        loop = asyncio.get_running_loop()
        gate.closed = loop.create_future()
        loop.call_soon(loop.call_soon, _open, gate.closed, order)
        await asyncio.sleep(0)
        order.append("resumed")
        return order

    assert within(handler, gate) == ["start", "opened", "resumed"]
    assert gate.asked >= 3


def _open(closed: "asyncio.Future[None]", order: list[str]) -> None:
    order.append("opened")
    closed.set_result(None)
