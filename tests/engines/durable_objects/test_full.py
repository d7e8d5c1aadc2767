"""`--durability full`: each commit waits for the disk, in a thread."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

from pyflare.engines.durable_objects.instance import Instance
from tests.engines.durable_objects.world import DurableObject, World, failure, play


class Counter(DurableObject):
    async def add(self) -> Any:
        count = (await self.ctx.storage.get("count") or 0) + 1
        await self.ctx.storage.put("count", count)
        return count

    async def add_in_a_transaction(self) -> Any:
        async def body(txn: Any) -> Any:
            count = (await txn.get("count") or 0) + 1
            await txn.put("count", count)
            return count

        await self.ctx.storage.put("before", True)
        return await self.ctx.storage.transaction(body)

    async def arm(self, ms: int) -> None:
        await self.ctx.storage.setAlarm(ms)

    async def alarm(self) -> None:
        await self.add()

    async def look(self) -> Any:
        return await self.ctx.storage.get("count")

    async def read(self) -> str:
        return "read"


def within(tmp_path: Path, scene: Any) -> Any:
    return play(tmp_path, [Counter], scene, durability="full")


def instance(w: World, name: str = "a") -> Instance:
    found = w.actor("Counter", name).instance
    assert found is not None
    return found


async def real(seconds: float = 0.02) -> None:
    await asyncio.sleep(seconds)


def test_counting_is_exact(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        counts = await asyncio.gather(*[w.stub("Counter").add() for _ in range(100)])
        assert sorted(counts) == list(range(1, 101))
        w.restart()
        assert await w.stub("Counter").look() == 100

    within(tmp_path, scene)


def test_transactions_and_other_events_take_turns(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        calls = [stub.add_in_a_transaction() if number % 2 else stub.add() for number in range(40)]
        assert sorted(await asyncio.gather(*calls)) == list(range(1, 41))

    within(tmp_path, scene)


def test_another_object_goes_on_while_one_waits_for_the_disk(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Counter").add()
        store, disk = instance(w).store, threading.Event()
        commit = store.commit

        def slow() -> None:
            disk.wait(5)
            commit()

        store.commit = slow  # type: ignore[method-assign]
        waiting = w.stub("Counter").add()
        await real()
        assert await w.stub("Counter", "b").add() == 1
        behind = w.stub("Counter").read()
        await real()
        assert not waiting.settled and not behind.settled
        disk.set()
        assert (await waiting, await behind) == (2, "read")

    within(tmp_path, scene)


def test_a_commit_that_fails_resets_the_object(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        await stub.add()

        def fail() -> None:
            raise OSError("disk full")

        instance(w).store.commit = fail  # type: ignore[method-assign]
        assert "disk full" in (await failure(stub.add())).message
        assert await w.stub("Counter").look() == 1

    within(tmp_path, scene)


def test_an_object_that_is_evicted_or_reset_meanwhile_waits_for_the_disk(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Counter")
        await stub.add()
        store = instance(w).store
        commit = store.commit

        def slow() -> None:
            threading.Event().wait(0.05)
            commit()

        store.commit = slow  # type: ignore[method-assign]
        call = stub.add()
        await real()
        w.engine.abort("Counter", "a", reason="by hand")
        assert (await failure(call)).message == "by hand"
        assert await w.stub("Counter").look() == 2

    within(tmp_path, scene)


def test_alarms_run(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Counter").arm(w.ms + 5_000)
        await w.advance(5)
        while w.engine.busy():
            await real(0.002)
        assert await w.stub("Counter").look() == 1

    within(tmp_path, scene)


def test_what_was_acknowledged_is_there_after_the_end(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await asyncio.gather(*[w.stub("Counter", str(number)).add() for number in range(30)])
        w.restart()
        assert await asyncio.gather(*[w.stub("Counter", str(number)).look() for number in range(30)]) == [1] * 30

    within(tmp_path, scene)
