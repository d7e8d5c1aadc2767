"""What migrations do to data, once; and whether the classes are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyflare.errors import WorkerError
from tests.engines.durable_objects.world import DurableObject, World, play


class Room(DurableObject):
    async def put(self) -> None:
        await self.ctx.storage.put("k", 1)

    async def get(self) -> Any:
        return await self.ctx.storage.get("k")


class Hall(Room):
    """Room, renamed."""


class NoObject:
    """Does not derive from DurableObject."""


V1 = {"tag": "v1", "new_sqlite_classes": ["Room"]}


def sections(bound: str, *migrations: Any) -> dict[str, Any]:
    return {
        "durable_objects": {"bindings": [{"name": bound.upper(), "class_name": bound}]},
        "migrations": [V1, *migrations],
    }


def test_a_renamed_class_finds_its_data_and_says_so_once(tmp_path: Path) -> None:
    renamed = {"tag": "v2", "renamed_classes": [{"from": "Room", "to": "Hall"}]}

    async def scene(w: World) -> None:
        await w.stub("Room").put()
        id = str(w.namespace("Room").idFromName("a"))
        w.sections = sections("Hall", renamed)
        w.restart()
        assert await w.stub("Hall").get() == 1
        assert str(w.namespace("Hall").idFromName("a")) == id
        assert "Room is now Hall; ids and data stay in w-Room (wrangler's local mode would start empty)" in w.said
        said = len(w.said)
        w.restart()
        assert len(w.said) == said

    play(tmp_path, [Room, Hall], scene, sections("Room"))


def test_a_deleted_class_loses_its_data_once_after_a_clear_line(tmp_path: Path) -> None:
    gone, again = {"tag": "v2", "deleted_classes": ["Room"]}, {"tag": "v3", "new_sqlite_classes": ["Room"]}

    async def scene(w: World) -> None:
        await w.stub("Room", "a").put()
        await w.stub("Room", "b").put()
        w.sections = sections("Room", gone, again)
        w.restart()
        assert 'Migration "v2" of w deletes the class Room: 2 objects with all data' in w.said
        assert await w.stub("Room", "a").get() is None
        await w.stub("Room", "a").put()
        w.restart()
        assert await w.stub("Room", "a").get() == 1

    play(tmp_path, [Room], scene, sections("Room"))


def test_a_class_deleted_and_made_again_before_pyflare_came_keeps_its_data(tmp_path: Path) -> None:
    gone, again = {"tag": "v2", "deleted_classes": ["Room"]}, {"tag": "v3", "new_sqlite_classes": ["Room"]}

    async def scene(w: World) -> None:
        await w.stub("Room", "a").put()
        w.engine.close()
        for path in (tmp_path / "v3" / "pyflare").iterdir():  # as wrangler leaves a folder
            path.unlink()
        w.sections = sections("Room", gone, again)
        w.open()
        assert "which a later one makes again" in w.said and "with all data" not in w.said
        assert await w.stub("Room", "a").get() == 1

    play(tmp_path, [Room], scene, sections("Room"))


def test_other_migrations_need_no_file_of_their_own(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        assert not (tmp_path / "v3").exists()

    play(tmp_path, [Room], scene, sections("Room"))


def test_a_class_that_is_not_there_is_named_with_a_near_name(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        said = r"binding ROOM: .*has no `class Room\(DurableObject\)`; did you mean Rooms\?"
        with pytest.raises(WorkerError, match=said):
            w.engine.check({"w": {"Rooms": Room, "Default": object}})

    play(tmp_path, [Room], scene, sections("Room"))


def test_a_class_that_is_no_durable_object_is_named(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        with pytest.raises(WorkerError, match=r"class Room .* does not derive from DurableObject"):
            w.engine.check({"w": {"Room": NoObject}})

    play(tmp_path, [Room], scene, sections("Room"))


def test_a_class_that_only_a_migration_names_is_a_line(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        w.engine.check({"w": {"Hall": Hall}})
        assert "the migrations: the entry module has no `class Room(DurableObject)`" in w.said

    play(tmp_path, [Hall], scene, {**sections("Hall", {"tag": "v2", "new_sqlite_classes": ["Hall"]})})


def test_classes_that_are_there_pass(tmp_path: Path) -> None:
    async def scene(w: World) -> None:
        w.engine.check({"w": {"Room": Room}})

    play(tmp_path, [Room], scene, sections("Room"))
