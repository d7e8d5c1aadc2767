"""One object at a time: order, overlap, critical sections, failures."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest

from pyflare.interop.errors import JsException
from pyflare.worker.portal import run_sync
from tests.engines.durable_objects.world import (
    DurableObject,
    DurableObjectAbort,
    World,
    failure,
    play,
    request,
    turns,
)


class Counter(DurableObject):
    """Fields of the class belong to the test: each test runs in a world of its own and resets them."""

    built = 0
    signal: asyncio.Event
    log: list[str]

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        Counter.built += 1
        self.memory = 0

    async def increment(self) -> Any:
        count = (await self.ctx.storage.get("count") or 0) + 1
        await self.ctx.storage.put("count", count)
        return count

    async def stored(self) -> Any:
        return await self.ctx.storage.get("count")

    async def wait(self, name: str = "w") -> str:
        self.log.append(f"{name} in")
        await self.signal.wait()
        self.log.append(f"{name} out")
        return name

    async def note(self, name: Any) -> Any:
        self.log.append(str(name))
        return name

    async def remember(self, value: Any = 1) -> Any:
        self.memory += value
        return self.memory

    async def block(self) -> Any:
        async def body() -> str:
            self.log.append("block in")
            await self.signal.wait()
            self.log.append("block out")
            return "blocked"

        return await self.ctx.blockConcurrencyWhile(body)

    async def block_and_raise(self) -> Any:
        async def body() -> None:
            raise ValueError("inside")

        self.memory = 7
        try:
            await self.ctx.blockConcurrencyWhile(body)
        except Exception:
            return "caught"

    async def fail(self) -> None:
        raise ValueError("bad")

    async def write_and_fail(self) -> None:
        await self.ctx.storage.put("count", 99)
        raise ValueError("after the write")

    async def write_then_abort(self, *reason: str) -> None:
        await self.ctx.storage.put("count", 99)
        self.ctx.abort(*reason)
        self.log.append("went on")

    async def abort_like_the_sdk(self) -> None:
        await self.ctx.storage.put("count", 99)
        asyncio.get_running_loop().call_soon(self.ctx.abort, "enough")
        raise DurableObjectAbort("enough")

    async def start_task(self) -> None:
        async def later() -> None:
            await self.signal.wait()
            self.log.append("task")
            await self.ctx.storage.put("count", 5)

        self.task = asyncio.create_task(later())

    async def in_the_background(self) -> None:
        async def work() -> None:
            await self.signal.wait()
            self.log.append("background")

        self.ctx.waitUntil(work())

    async def fail_in_the_background(self) -> None:
        async def work() -> None:
            raise ValueError("in the background")

        self.ctx.waitUntil(work())

    async def call(self, name: str) -> Any:
        return await self.env.COUNTER.getByName(name).increment()

    async def write_and_call(self, name: str) -> Any:
        await self.ctx.storage.put("count", 1)
        return await self.env.COUNTER.getByName(name).note("called")

    async def leave(self) -> None:
        raise SystemExit(3)


def within(tmp_path: Path, scene: Any, *classes: type) -> Any:
    async def prepared(w: World) -> Any:
        Counter.signal, Counter.log, Counter.built = asyncio.Event(), [], 0
        return await scene(w)

    return play(tmp_path, [Counter, *classes], prepared)


# --- order and overlap --------------------------------------------------------------------------------------------


def test_200_increments_at_once_are_exact(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        counts = await asyncio.gather(*[stub.increment() for _ in range(200)])
        assert sorted(counts) == list(range(1, 201))
        assert await stub.stored() == 200

    within(tmp_path, scene)


def test_calls_of_one_stub_start_in_order(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        await asyncio.gather(*[stub.note(number) for number in range(30)])
        assert Counter.log == [str(number) for number in range(30)]

    within(tmp_path, scene)


def test_events_overlap_at_awaits(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        waiting = stub.wait("a")
        await stub.note("b")
        Counter.signal.set()
        await waiting
        assert Counter.log == ["a in", "b", "a out"]

    within(tmp_path, scene)


def test_a_call_starts_without_being_awaited(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        w.stub("Counter").note("not awaited")
        await turns()
        assert Counter.log == ["not awaited"]

    within(tmp_path, scene)


def test_one_instance_serves_all_stubs(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Counter").remember()
        assert await w.stub("Counter").remember() == 2
        assert await w.stub("Counter", "b").remember() == 1
        assert Counter.built == 2

    within(tmp_path, scene)


def test_a_call_runs_though_its_caller_is_cancelled(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        async def caller() -> None:
            await w.stub("Counter").wait("a")

        task = asyncio.create_task(caller())
        await turns()
        task.cancel()
        await turns()
        Counter.signal.set()
        await turns()
        assert Counter.log == ["a in", "a out"]

    within(tmp_path, scene)


# --- critical sections --------------------------------------------------------------------------------------------


def test_block_concurrency_keeps_other_events_out(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        blocked, other = stub.block(), stub.note("other")
        await turns()
        assert Counter.log == ["block in"]
        Counter.signal.set()
        assert await blocked == "blocked"
        await other
        assert Counter.log == ["block in", "block out", "other"]

    within(tmp_path, scene)


def test_block_concurrency_holds_back_what_was_in_flight(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        go = asyncio.Event()
        Counter.signal = go
        waiting = stub.wait("a")
        await turns()
        Counter.signal = asyncio.Event()
        blocked = stub.block()
        await turns()
        go.set()
        await turns()
        assert Counter.log == ["a in", "block in"]
        Counter.signal.set()
        await asyncio.gather(blocked, waiting)
        assert Counter.log == ["a in", "block in", "block out", "a out"]

    within(tmp_path, scene)


def test_another_object_goes_on_while_one_is_blocked(tmp_path: Path) -> None:
    class Caller(DurableObject):
        async def both(self) -> str:
            async def body() -> str:
                return await self.env.COUNTER.getByName("b").note("from within")  # type: ignore[no-any-return]

            slow = self.env.COUNTER.getByName("b").wait("slow")
            Counter.signal.set()
            answer: str = await self.ctx.blockConcurrencyWhile(body)
            await slow
            return answer

    async def scene(w: World) -> None:
        assert await w.stub("Caller").both() == "from within"

    within(tmp_path, scene, Caller)


def test_block_concurrency_in_the_constructor_precedes_the_first_call(tmp_path: Path) -> None:
    class Warm(DurableObject):
        def __init__(self, ctx: Any, env: Any) -> None:
            super().__init__(ctx, env)
            ctx.blockConcurrencyWhile(self.load)
            self.log = ["built"]

        async def load(self) -> None:
            await turns(5)
            self.log.append("loaded")

        async def seen(self) -> Any:
            return ",".join([*self.log, "called"])

    async def scene(w: World) -> None:
        stub = w.stub("Warm")
        assert list(await asyncio.gather(stub.seen(), stub.seen())) == ["built,loaded,called"] * 2

    within(tmp_path, scene, Warm)


def test_what_the_constructor_waits_for_may_fail(tmp_path: Path) -> None:
    class Cold(DurableObject):
        tries = 0

        def __init__(self, ctx: Any, env: Any) -> None:
            super().__init__(ctx, env)
            Cold.tries += 1
            ctx.blockConcurrencyWhile(self.load)

        async def load(self) -> None:
            await turns(3)
            if Cold.tries == 1:
                raise RuntimeError("cannot load")

        async def hello(self) -> str:
            return "hello"

    async def scene(w: World) -> None:
        stub = w.stub("Cold")
        for call in (stub.hello(), stub.hello()):
            assert (await failure(call)).message.endswith("RuntimeError: cannot load")
        assert await w.stub("Cold").hello() == "hello"

    within(tmp_path, scene, Cold)


def test_a_constructor_that_waits_synchronously_keeps_events_out(tmp_path: Path) -> None:
    class Patient(DurableObject):
        def __init__(self, ctx: Any, env: Any) -> None:
            super().__init__(ctx, env)
            run_sync(turns(5))
            self.ready = True

        async def look(self) -> bool:
            return self.ready

    async def scene(w: World) -> None:
        stub = w.stub("Patient")
        assert list(await asyncio.gather(stub.look(), stub.look())) == [True, True]

    within(tmp_path, scene, Patient)


def test_what_block_concurrency_raises_resets_the_object_and_cannot_be_caught(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        error = await failure(stub.block_and_raise())
        assert error.name == "PythonError" and error.message.endswith("ValueError: inside")
        assert error.durableObjectReset is True
        assert await w.stub("Counter").remember(0) == 0

    within(tmp_path, scene)


@pytest.mark.cloudflare("workerd io/io-context.h, 30 s")
def test_block_concurrency_may_take_30_seconds(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        blocked = stub.block()
        await turns()
        await w.advance(29.9)
        assert not blocked.settled
        await w.advance(0.2)
        error = await failure(blocked)
        assert error.message == (
            "A call to blockConcurrencyWhile() in a Durable Object waited for too long. The call was canceled and the "
            "Durable Object was reset."
        )
        assert await w.stub("Counter").remember() == 1

    within(tmp_path, scene)


def test_block_concurrency_wants_a_function(tmp_path: Path) -> None:
    class Wrong(DurableObject):
        async def wrong(self) -> None:
            self.ctx.blockConcurrencyWhile(5)

    async def scene(w: World) -> None:
        assert "parameter 1 is not of type 'function'" in str(await failure(w.stub("Wrong").wrong()))

    within(tmp_path, scene, Wrong)


# --- failures -----------------------------------------------------------------------------------------------------


def test_what_a_method_raises_reaches_the_caller_with_its_traceback(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        error = await failure(w.stub("Counter").fail())
        assert error.name == "PythonError"
        assert error.message.splitlines()[0] == "Traceback (most recent call last):"
        assert error.message.splitlines()[-1] == "ValueError: bad"
        assert error.remote is True

    within(tmp_path, scene)


def test_a_method_that_raises_keeps_the_object_and_its_writes(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        await stub.remember()
        await failure(stub.write_and_fail())
        assert await stub.remember() == 2
        assert await stub.stored() == 99

    within(tmp_path, scene)


def test_a_missing_method_is_named(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        error = await failure(w.stub("Counter").nothing())
        assert str(error) == "TypeError: Method nothing does not exist"

    within(tmp_path, scene)


@pytest.mark.cloudflare("miniflare 4.20260426: the stub stays broken, a new one reaches a new object")
def test_a_constructor_that_raises_is_tried_again_by_the_next_stub(tmp_path: Path) -> None:
    class Shy(DurableObject):
        tries = 0

        def __init__(self, ctx: Any, env: Any) -> None:
            super().__init__(ctx, env)
            Shy.tries += 1
            if Shy.tries == 1:
                raise RuntimeError("not yet")

        async def hello(self) -> str:
            return "hello"

    async def scene(w: World) -> None:
        stub = w.stub("Shy")
        first, second = stub.hello(), stub.hello()
        for call in (first, second, stub.hello()):
            error = await failure(call)
            assert error.name == "PythonError" and error.message.endswith("RuntimeError: not yet")
        assert await w.stub("Shy").hello() == "hello"
        assert Shy.tries == 2

    within(tmp_path, scene, Shy)


@pytest.mark.parametrize(
    ("reason", "seen"), [(["enough"], "enough"), ([], "Application called abort() to reset Durable Object.")]
)
def test_abort_rolls_back_and_breaks_every_stub(tmp_path: Path, reason: list[str], seen: str) -> None:
    async def scene(w: World) -> None:
        stub, other = w.stub("Counter"), w.stub("Counter")
        await other.remember()
        waiting = other.wait("a")
        await turns()
        error = await failure(stub.write_then_abort(*reason))
        assert (error.name, error.message, error.durableObjectReset) == ("Error", seen, True)
        assert (await failure(waiting)).message == seen
        assert (await failure(other.remember())).message == seen
        fresh = w.stub("Counter")
        assert (await fresh.remember(), await fresh.stored()) == (1, None)
        assert "went on" not in Counter.log

    within(tmp_path, scene)


def test_the_very_next_call_after_an_abort_reaches_a_new_object(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Counter").remember(5)
        assert (await failure(w.stub("Counter").abort_like_the_sdk())).message == "enough"
        assert (await w.stub("Counter").remember(), await w.stub("Counter").stored()) == (1, None)

    within(tmp_path, scene)


def test_a_task_of_a_reset_object_goes_no_further(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Counter").start_task()
        await failure(w.stub("Counter").write_then_abort())
        Counter.signal.set()
        await turns()
        assert Counter.log == []
        assert await w.stub("Counter").stored() is None

    within(tmp_path, scene)


def test_a_method_that_ends_the_process_is_an_error_like_others(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        error = await failure(w.stub("Counter").leave())
        assert error.message.endswith("SystemExit: 3")
        assert await w.stub("Counter").remember() == 1

    within(tmp_path, scene)


# --- tasks and background work ------------------------------------------------------------------------------------


def test_a_task_goes_on_after_its_method(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        await stub.start_task()
        Counter.signal.set()
        await turns()
        assert await stub.stored() == 5

    within(tmp_path, scene)


def test_wait_until_runs_coroutines_and_tells_failures(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Counter").in_the_background()
        assert "Counter(a).waitUntil" in " ".join(w.engine.busy())
        Counter.signal.set()
        await turns()
        assert Counter.log == ["background"]
        await w.stub("Counter").fail_in_the_background()
        await turns()
        assert "ValueError: in the background" in w.said
        assert w.engine.busy() == []

    within(tmp_path, scene)


# --- between objects ----------------------------------------------------------------------------------------------


def test_objects_call_each_other(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        assert await w.stub("Counter").call("b") == 1
        assert await w.stub("Counter").call("b") == 2

    within(tmp_path, scene)


def test_a_call_out_leaves_after_the_writes_before_it(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        await stub.remember()
        instance = w.actor("Counter").instance
        assert instance is not None
        real = instance.store.commit

        def commit() -> None:
            Counter.log.append("commit")
            real()

        instance.store.commit = commit  # type: ignore[method-assign]
        assert await stub.write_and_call("b") == "called"
        assert Counter.log == ["commit", "called"]

    within(tmp_path, scene)


def test_a_commit_that_fails_resets_the_object_and_fails_the_call(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        await stub.increment()
        instance = w.actor("Counter").instance
        assert instance is not None

        def commit() -> None:
            raise OSError("disk full")

        instance.store.commit = commit  # type: ignore[method-assign]
        error = await failure(stub.increment())
        assert "disk full" in error.message and error.durableObjectReset is True
        assert await w.stub("Counter").stored() == 1

    within(tmp_path, scene)


def test_a_commit_waits_for_another_process_that_holds_the_file(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        await stub.increment()
        instance = w.actor("Counter").instance
        assert instance is not None
        instance.store.busy_timeout(0)
        other = apsw.Connection(str(instance.store.path))
        other.execute("BEGIN IMMEDIATE")
        call = stub.increment()
        await turns(50)
        assert not call.settled
        other.execute("COMMIT")
        other.close()
        assert await call == 2

    within(tmp_path, scene)


def test_deferred_constraints_are_checked_by_the_commit(tmp_path: Path) -> None:
    class Strict(DurableObject):
        async def setup(self) -> None:
            self.ctx.storage.sql.exec("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
            self.ctx.storage.sql.exec("CREATE TABLE child (parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")

        async def violate(self) -> None:
            self.ctx.storage.sql.exec("INSERT INTO child VALUES (5)")

    async def scene(w: World) -> None:
        stub = w.stub("Strict")
        await stub.setup()
        error = await failure(stub.violate())
        assert error.message.startswith("Durable Object was reset and rolled back to its last known good state because")
        assert "FOREIGN KEY constraint failed" in error.message

    within(tmp_path, scene, Strict)


def test_the_writes_of_events_that_run_together_are_one_commit(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        await stub.increment()
        instance = w.actor("Counter").instance
        assert instance is not None
        commits, real = [], instance.store.commit

        def commit() -> None:
            commits.append(1)
            real()

        instance.store.commit = commit  # type: ignore[method-assign]
        await asyncio.gather(*[stub.increment() for _ in range(20)])
        assert len(commits) == 1

    within(tmp_path, scene)


# --- fetch --------------------------------------------------------------------------------------------------------


def test_a_class_without_fetch_says_so(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        error = await failure(w.stub("Counter").fetch(request()))
        assert str(error) == "Error: Handler does not export a fetch() function."

    within(tmp_path, scene)


def test_fetch_must_answer_with_a_response(tmp_path: Path) -> None:
    class Wrong(DurableObject):
        def fetch(self, request: Any) -> str:
            return "text"

    async def scene(w: World) -> None:
        with pytest.raises(JsException, match=r"Wrong\.fetch returned str"):
            await w.stub("Wrong").fetch(request())

    within(tmp_path, scene, Wrong)


def test_reserved_methods_cannot_be_called(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        for name in ("alarm", "webSocketMessage"):
            error = await failure(getattr(w.stub("Counter"), name)())
            assert str(error) == f"TypeError: '{name}' is a reserved method and cannot be called over RPC."

    within(tmp_path, scene)
