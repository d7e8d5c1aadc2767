import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyflare.clock import FakeClock
from pyflare.interop import scope
from pyflare.interop.containers import JsArray
from pyflare.interop.errors import JsException, error
from pyflare.interop.promise import JsPromise, inside, perform, start
from tests.support.gate import Unconfirmed


def run(test: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(_main(test))


async def _main(test: Callable[[], Awaitable[Any]]) -> Any:
    return await test()


def test_a_call_that_does_not_suspend_is_done_at_once_and_awaits_without_a_loop_turn() -> None:
    async def main() -> list[str]:
        order: list[str] = []
        asyncio.get_running_loop().call_soon(order.append, "loop turned")
        promise = perform(order.append, "done")
        await promise
        order.append("awaited")
        return list(order)

    assert run(main) == ["done", "awaited"]


def test_a_promise_may_be_awaited_many_times_and_concurrently() -> None:
    async def main() -> Any:
        promise = start(asyncio.sleep(0, "value"))
        return await asyncio.gather(promise, promise), await promise

    assert run(main) == (["value", "value"], "value")


def test_a_cancelled_waiter_does_not_cancel_the_promise() -> None:
    async def main() -> Any:
        gate = asyncio.Event()
        promise = start(_value_after(gate))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(promise, 0.001)
        gate.set()
        return await promise

    assert run(main) == "value"


async def _value_after(gate: asyncio.Event) -> str:
    await gate.wait()
    return "value"


def test_rejections_keep_their_python_class() -> None:
    def fail() -> None:
        raise KeyError("mine")

    async def main() -> None:
        await perform(fail)

    with pytest.raises(KeyError, match="mine"):
        run(main)


def test_then_catch_and_finally_chain() -> None:
    async def main() -> Any:
        seen: list[str] = []
        value = await JsPromise.resolve(5).then(lambda v: v + 1).finally_(lambda: seen.append("finally"))
        caught = await JsPromise.reject(error("no")).catch(lambda e: e.message + "!")
        return value, caught, seen

    assert run(main) == (6, "no!", ["finally"])


def test_then_callbacks_never_run_within_the_caller() -> None:
    async def main() -> list[str]:
        order: list[str] = []
        promise = JsPromise.resolve(1).then(lambda _: order.append("then"))
        order.append("caller")
        await promise
        return order

    assert run(main) == ["caller", "then"]


def test_all_race_any_and_all_settled() -> None:
    async def main() -> Any:
        one, no = JsPromise.resolve(1), JsPromise.reject(error("no"))
        settled = await JsPromise.allSettled(JsArray.make([one, no]))
        return (
            (await JsPromise.all(JsArray.make([one, 2]))).to_py(),
            await JsPromise.race([one]),
            await JsPromise.any([no, one]),
            [item.status for item in settled],
        )

    assert run(main) == ([1, 2], 1, 1, ["fulfilled", "rejected"])


def test_a_rejection_without_an_error_is_raised_as_one() -> None:
    async def main() -> None:
        await JsPromise.reject("text")

    with pytest.raises(JsException, match="text"):
        run(main)


def test_the_loops_own_tools_work_across_promises() -> None:
    async def main() -> Any:
        async with asyncio.TaskGroup() as group, asyncio.timeout(1):
            task = group.create_task(_awaited(start(asyncio.sleep(0, "in a group"))))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await JsPromise.make()
        return task.result()

    assert run(main) == "in a group"


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


class FakeWorker:
    compat = None


def test_a_call_out_of_an_object_leaves_after_its_commit_and_its_own_storage_does_not_wait() -> None:
    async def main() -> tuple[list[str], list[str]]:
        done: list[str] = []
        gate = Unconfirmed()
        scope.current.set(scope.Scope(FakeWorker(), FakeClock(), lambda work: None, gate))
        outbound = perform(done.append, "sent")
        inside(done.append, "stored")
        before = list(done)
        gate.commit.set_result(None)
        await outbound
        return before, done

    assert run(main) == (["stored"], ["stored", "sent"])


def test_a_failed_commit_fails_what_waited_for_it() -> None:
    async def main() -> None:
        gate = Unconfirmed()
        scope.current.set(scope.Scope(FakeWorker(), FakeClock(), lambda work: None, gate))
        outbound = perform(print, "never")
        gate.commit.set_exception(RuntimeError("disk full"))
        await outbound

    with pytest.raises(RuntimeError, match="disk full"):
        run(main)
