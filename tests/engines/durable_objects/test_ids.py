"""Names, ids and stubs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyflare.interop.convert import from_entries, to_js
from pyflare.interop.errors import JsException
from pyflare.storage.object_id import Namespace
from tests.engines.durable_objects.world import DurableObject, World, failure, play


class Room(DurableObject):
    async def who(self) -> Any:
        return self.ctx.id.name

    async def put(self) -> None:
        await self.ctx.storage.put("k", 1)


class Other(DurableObject):
    pass


def within(tmp_path: Path, scene: Any) -> Any:
    return play(tmp_path, [Room, Other], scene)


def refused(call: Any, *args: Any) -> str:
    with pytest.raises(JsException) as raised:
        call(*args)
    return str(raised.value)


@pytest.mark.cloudflare("workerd server/actor-id-impl.c++; the id is one that it made")
def test_ids_are_those_of_workerd() -> None:
    made = "0f6294e53db7e90163f778084a876b95446fac4d30f3646f5f4e5ab7d0e5824e"
    assert Namespace("state-sample-Room").from_name("lobby") == made
    assert Namespace("state-sample-Room").owns(made)
    assert not Namespace("state-sample-Hall").owns(made)


def test_ids_are_compared_by_value(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        room = w.namespace("Room")
        assert room.idFromName("a").equals(room.idFromName("a"))
        assert not room.idFromName("a").equals(room.idFromName("b"))

    within(tmp_path, scene)


def test_an_id_survives_its_text(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        room = w.namespace("Room")
        id = room.newUniqueId()
        assert room.idFromString(str(id)).equals(id)
        assert room.idFromString(str(id).upper()).equals(id)

    within(tmp_path, scene)


@pytest.mark.parametrize("text", ["", "lobby", "0" * 63, "g" * 64])
def test_text_that_is_no_id_is_refused(tmp_path: Path, text: str) -> None:
    async def scene(w: World) -> None:
        said = refused(w.namespace("Room").idFromString, text)
        assert said == "TypeError: Invalid Durable Object ID: must be 64 hex digits"

    within(tmp_path, scene)


def test_the_id_of_another_class_is_refused(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        said = refused(w.namespace("Room").idFromString, str(w.namespace("Other").idFromName("x")))
        assert said == "TypeError: Durable Object ID is not valid for this namespace."

    within(tmp_path, scene)


def test_names_are_made_text(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        assert w.namespace("Room").idFromName(5).name == "5"
        assert "parameter 1 is not of type 'string'" in refused(w.namespace("Room").idFromName)
        assert "parameter 1 is not of type 'DurableObjectId'" in refused(w.namespace("Room").get, "lobby")

    within(tmp_path, scene)


def test_fetch_on_an_id_says_what_is_missing(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        id = w.namespace("Room").idFromName("lobby")
        with pytest.raises(AttributeError, match=r"get a stub first.*\.fetch"):
            _ = id.fetch
        assert not hasattr(id, "fetch")

    within(tmp_path, scene)


def test_the_object_knows_its_name_also_when_it_is_reached_by_its_id(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        room = w.namespace("Room")
        assert await room.getByName("lobby").who() == "lobby"
        by_id = room.get(room.idFromString(str(room.idFromName("lobby"))))
        assert by_id.name is None
        assert await by_id.who() == "lobby"
        assert await room.get(room.newUniqueId()).who() is None
        w.restart()
        room = w.namespace("Room")
        assert await room.get(room.idFromString(str(room.idFromName("lobby")))).who() == "lobby"

    within(tmp_path, scene)


def test_a_location_hint_is_accepted_with_a_note(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        settings = to_js({"locationHint": "weur"}, dict_converter=from_entries)
        stub = w.namespace("Room").getByName("lobby", settings)
        assert await stub.who() == "lobby"
        w.namespace("Room").getByName("lobby", locationHint="weur")
        assert w.said.count("has no local effect") == 1
        unknown = to_js({"routingMode": "mars"}, dict_converter=from_entries)
        said = refused(w.namespace("Room").getByName, "lobby", unknown)
        assert said == "RangeError: unknown routingMode: mars"

    within(tmp_path, scene)


def test_a_jurisdiction_has_ids_of_its_own(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        room = w.namespace("Room")
        eu = room.jurisdiction("eu")
        here, there = room.idFromName("x"), eu.idFromName("x")
        assert not here.equals(there)
        assert there.jurisdiction == "eu"
        assert room.idFromString(str(there)).jurisdiction == "eu"
        assert "from a different jurisdiction" in refused(eu.get, here)
        assert room.newUniqueId(jurisdiction="eu").jurisdiction == "eu"
        assert "is no jurisdiction" in refused(room.jurisdiction, "moon")
        assert await eu.getByName("x").who() == "x"

    within(tmp_path, scene)


def test_get_existing_is_behind_its_flag(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        from pyflare.interop import scope

        worker = w.dispatcher._workers["w"]
        room = w.namespace("Room")
        assert hasattr(room, "getExisting")  # outside of any worker
        token = scope.current.set(scope.Scope(worker, w.clock, lambda work: None))
        assert not hasattr(room, "getExisting")
        scope.current.reset(token)

    within(tmp_path, scene)


def test_get_existing_reaches_only_what_is_there(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        room = w.namespace("Room")
        missing = room.getExisting(room.idFromName("x"))
        assert "does not exist" in str(await failure(missing.put()))
        await room.getByName("x").put()
        assert await room.getExisting(room.idFromName("x")).who() == "x"

    within(tmp_path, scene)


def test_a_class_of_a_worker_that_does_not_run_is_named(tmp_path: Path) -> None:
    sections = {"durable_objects": {"bindings": [{"name": "FAR", "class_name": "Far", "script_name": "elsewhere"}]}}

    async def scene(w: World) -> None:
        stub = w.engine.bindings("w")["FAR"].getByName("x")
        assert 'Worker "elsewhere" not found' in str(await failure(stub.hello()))
        assert w.engine.rows("w")[0].where == "local [not connected]"

    play(tmp_path, [Room], scene, sections)
