"""Eviction, and the hooks to evict, abort, delete and list objects."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyflare.errors import EngineError
from tests.engines.durable_objects.world import DurableObject, World, failure, play, turns


class Cart(DurableObject):
    """A cart in memory, which sleep loses, and one in storage, which it keeps."""

    built = 0
    signal: asyncio.Event

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        Cart.built += 1
        self.items = 0

    async def add(self) -> str:
        self.items += 1
        stored = (await self.ctx.storage.get("items") or 0) + 1
        await self.ctx.storage.put("items", stored)
        return f"{self.items} {stored}"

    async def wait(self) -> None:
        await self.signal.wait()

    async def task(self) -> None:
        self.kept = asyncio.create_task(self.wait())

    async def background(self) -> None:
        self.ctx.waitUntil(self.wait())

    async def arm(self, ms: int) -> None:
        await self.ctx.storage.setAlarm(ms)

    async def alarm(self) -> None:
        """Nothing to do."""


def within(tmp_path: Path, scene: Any) -> Any:
    async def prepared(w: World) -> Any:
        Cart.built, Cart.signal = 0, asyncio.Event()
        return await scene(w)

    return play(tmp_path, [Cart], prepared)


def test_ten_idle_seconds_lose_the_fields_and_keep_the_storage(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Cart")
        assert await stub.add() == "1 1"
        await w.advance(9.9)
        assert await stub.add() == "2 2"
        await w.advance(9.9)
        assert w.awake("Cart")
        await w.advance(0.2)
        assert not w.awake("Cart")
        assert await stub.add() == "1 3"
        assert Cart.built == 2

    within(tmp_path, scene)


@pytest.mark.parametrize("what", ["wait", "task", "background"])
def test_an_object_at_work_stays_awake(tmp_path: Path, what: str) -> None:
    async def scene(w: World) -> None:
        call = getattr(w.stub("Cart"), what)()
        await w.advance(60)
        assert w.awake("Cart")
        Cart.signal.set()
        await call
        await w.advance(25)
        assert not w.awake("Cart")

    within(tmp_path, scene)


def test_sleep_can_be_switched_off(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        w.engine.configure(SimpleNamespace(evict_after=0))
        await w.stub("Cart").add()
        await w.advance(1_000)
        assert w.awake("Cart")
        assert w.engine.next_due() is None

    within(tmp_path, scene)


def test_sleep_can_come_sooner(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        w.engine.configure(SimpleNamespace(evict_after=1.5))
        await w.stub("Cart").add()
        await w.advance(2)
        assert not w.awake("Cart")

    within(tmp_path, scene)


def test_an_idle_object_is_due_ten_seconds_later_and_the_scheduler_is_told_once(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Cart")
        await stub.add()
        assert w.engine.next_due() == w.clock.now() + 10
        told = w.pokes
        for _ in range(20):
            await stub.add()
        assert w.pokes == told

    within(tmp_path, scene)


# --- hooks --------------------------------------------------------------------------------------------------------


def test_an_object_can_be_evicted_by_hand(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Cart").add()
        assert await w.engine.evict("Cart", "a") is True
        assert await w.engine.evict("Cart", "a") is False
        assert await w.stub("Cart").add() == "1 2"
        assert await w.engine.evict("Cart", w.actor("Cart").id) is True

    within(tmp_path, scene)


def test_a_busy_object_is_evicted_only_by_force(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        call = w.stub("Cart").wait()
        await turns()
        with pytest.raises(EngineError, match="it still has active references"):
            await w.engine.evict("Cart", "a")
        assert await w.engine.evict("Cart", "a", force=True) is True
        assert (await failure(call)).message == "Actor freed due to inactivity"
        assert await w.stub("Cart").add() == "1 1"

    within(tmp_path, scene)


def test_all_objects_can_be_evicted(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await asyncio.gather(*[w.stub("Cart", name).add() for name in "abc"])
        assert await w.engine.evict_all() == 3
        assert await w.engine.evict_all() == 0

    within(tmp_path, scene)


def test_one_that_is_at_work_does_not_keep_the_others_awake(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        call = w.stub("Cart", "a").wait()
        await asyncio.gather(*[w.stub("Cart", name).add() for name in "bc"])
        with pytest.raises(EngineError, match="it still has active references"):
            await w.engine.evict_all()
        assert (w.awake("Cart", "b"), w.awake("Cart", "c")) == (False, False)
        Cart.signal.set()
        await call

    within(tmp_path, scene)


def test_an_object_can_be_aborted_by_hand(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Cart")
        await stub.add()
        assert w.engine.abort("Cart", "a", reason="by hand") is True
        assert (await failure(stub.add())).message == "by hand"
        assert await w.stub("Cart").add() == "1 2"

    within(tmp_path, scene)


def test_an_object_can_be_deleted_with_its_data(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Cart")
        await stub.add()
        await stub.arm(w.ms + 1_000)
        assert w.engine.delete("Cart", "a") is True
        assert w.engine.objects() == []
        assert w.engine.delete("Cart", "a") is False
        assert await w.stub("Cart").add() == "1 1"

    within(tmp_path, scene)


def test_objects_are_listed_awake_or_asleep(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Cart", "lobby").add()
        await w.stub("Cart", "lobby").arm(w.ms + 50_000)
        await w.advance(11)
        row = w.engine.objects("Cart")[0]
        assert (row.class_name, row.name, row.awake, row.sockets) == ("Cart", "lobby", False, 0)
        assert row.alarm == w.clock.now() + 39
        w.restart()
        assert w.engine.objects("Cart")[0] == row
        assert w.engine.panel().tables[0].rows[0][1:5] == ("Cart", row.id, "lobby", False)

    within(tmp_path, scene)


def test_an_unknown_class_is_named(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        with pytest.raises(EngineError, match="There is no Durable Object class Basket"):
            w.engine.abort("Basket", "a")

    within(tmp_path, scene)


# --- limits -------------------------------------------------------------------------------------------------------


class Hoard(DurableObject):
    async def put(self, size: int) -> None:
        await self.ctx.storage.put("k", "x" * size)


@pytest.mark.parametrize(("tool", "refused"), [({}, True), ({"limits": "warn"}, False)])
def test_a_project_may_lift_the_limits_of_storage(tmp_path: Path, tool: dict[str, Any], refused: bool) -> None:
    async def scene(w: World) -> None:
        w.tool = tool
        w.restart()
        call = w.stub("Hoard").put(3_000_000)
        if refused:
            await failure(call)
        else:
            await call

    play(tmp_path, [Hoard], scene)
