"""Objects within an object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyflare.engines.durable_objects.facets import DurableObjectClass
from pyflare.interop.convert import from_entries, to_js
from tests.engines.durable_objects.world import DurableObject, World, failure, play


class Child(DurableObject):
    built = 0

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)
        Child.built += 1

    async def add(self) -> Any:
        count = (await self.ctx.storage.get("count") or 0) + 1
        await self.ctx.storage.put("count", count)
        return count

    async def who(self) -> str:
        return str(self.ctx.id)

    async def deeper(self) -> Any:
        return await facet(self.ctx, "inner").add()

    async def deepest(self) -> Any:
        return await facet(self.ctx, "inner").deepest()

    async def arm(self) -> None:
        await self.ctx.storage.setAlarm(1_800_000_000_000)

    async def alarm(self) -> None:
        """Never runs."""


def facet(ctx: Any, name: str, **options: Any) -> Any:
    started = {"class": DurableObjectClass.make("w", "Child"), **options}
    return ctx.facets.get(name, lambda: to_js(started, dict_converter=from_entries))


class Parent(DurableObject):
    async def add(self, name: str) -> Any:
        return await facet(self.ctx, name).add()

    async def call(self, name: str, method: str) -> Any:
        return await getattr(facet(self.ctx, name), method)()

    async def who(self) -> str:
        return f"{await facet(self.ctx, 'a').who() == str(self.ctx.id)} {await facet(self.ctx, 'b', id='other').who()}"

    async def delete(self, name: str) -> None:
        self.ctx.facets.delete(name)

    async def abort(self, name: str) -> Any:
        stub = facet(self.ctx, name)
        await stub.add()
        self.ctx.facets.abort(name, "enough")
        return f"{(await failure(stub.add())).message} {await facet(self.ctx, name).add()}"

    async def clone(self, source: str, target: str) -> None:
        self.ctx.facets.clone(source, target)

    async def wrong(self) -> Any:
        return await self.ctx.facets.get("x", lambda: None).add()


def within(tmp_path: Path, scene: Any) -> Any:
    async def prepared(w: World) -> Any:
        Child.built = 0
        return await scene(w)

    return play(tmp_path, [Parent, Child], prepared)


def test_a_facet_has_storage_of_its_own_that_lasts(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Parent")
        assert [await stub.add("a"), await stub.add("a"), await stub.add("b")] == [1, 2, 1]
        w.restart()
        assert await w.stub("Parent").add("a") == 3
        files = sorted(path.name.partition(".")[2] for path in (tmp_path / "v3/do/w-Parent").glob("*.sqlite"))
        assert files == ["1.sqlite", "2.sqlite"]

    within(tmp_path, scene)


def test_a_facet_has_the_id_of_its_parent_or_the_one_it_is_given(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        assert await w.stub("Parent").who() == "True other"

    within(tmp_path, scene)


def test_a_facet_sleeps_with_its_parent(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        await w.stub("Parent").add("a")
        await w.advance(11)
        assert not w.awake("Parent")
        await w.stub("Parent").add("a")
        assert Child.built == 2

    within(tmp_path, scene)


def test_a_facet_can_be_deleted(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Parent")
        await stub.add("a")
        await stub.call("a", "deeper")
        await stub.delete("a")
        assert await stub.add("a") == 1
        assert await stub.call("a", "deeper") == 1

    within(tmp_path, scene)


@pytest.mark.cloudflare("workerd, by hand: the stub that was used throws the reason, another one starts it again")
def test_a_facet_can_be_aborted_and_starts_again(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        assert await w.stub("Parent").abort("a") == "enough 2"
        assert Child.built == 2

    within(tmp_path, scene)


def test_a_facet_can_be_cloned(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Parent")
        await stub.add("a")
        await stub.clone("a", "b")
        assert [await stub.add("b"), await stub.add("a")] == [2, 2]

    within(tmp_path, scene)


@pytest.mark.cloudflare("workerd api/actor-state.h: names of 256 characters, 4 levels")
def test_facets_have_limits(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        stub = w.stub("Parent")
        assert "max 256 characters" in (await failure(stub.add("x" * 257))).message
        assert "nested too deeply" in (await failure(stub.call("a", "deepest"))).message

    within(tmp_path, scene)


def test_a_startup_callback_must_name_a_class(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        assert "must give {class:" in (await failure(w.stub("Parent").wrong())).message

    within(tmp_path, scene)


def test_a_facet_has_no_alarm(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        assert "A facet has no alarm." in (await failure(w.stub("Parent").call("a", "arm"))).message

    within(tmp_path, scene)
