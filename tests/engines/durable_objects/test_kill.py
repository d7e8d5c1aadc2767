"""SIGKILL at any moment: nothing acknowledged is missing, no alarm is lost, the two places of an alarm agree."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from pyflare.engines.durable_objects.store import ObjectStore
from tests.engines.durable_objects.world import DurableObject, World, play

ROUNDS = int(os.environ.get("PYFLARE_KILL_ROUNDS", "20"))
OBJECTS = "abc"


class Ledger(DurableObject):
    """Each step counts in both kinds of storage and moves the alarm, now earlier and now later."""

    async def step(self) -> Any:
        count = (await self.ctx.storage.get("count") or 0) + 1
        await self.ctx.storage.put("count", count)
        self.ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS log (n INTEGER)")
        self.ctx.storage.sql.exec("INSERT INTO log VALUES (?)", count)
        if count % 7 == 0:
            await self.ctx.storage.deleteAlarm()
        else:
            await self.ctx.storage.setAlarm(1_800_000_000_000 + (count * 7919) % 100_000)
        return count

    async def count(self) -> str:
        logged = self.ctx.storage.sql.exec("SELECT count(*) AS n FROM log").one().n
        return f"{await self.ctx.storage.get('count')} {int(logged)}"

    async def alarm(self) -> None:
        """Not before the test is over."""


def victim(folder: Path, pipe: int) -> None:
    """Steps all objects at once, for ever, and writes each acknowledged count into the pipe."""

    async def scene(w: World) -> None:
        async def client(name: str) -> None:
            stub = w.stub("Ledger", name)
            while True:
                count = await stub.step()
                os.write(pipe, f"{name} {count}\n".encode())

        await asyncio.gather(*[client(name) for name in OBJECTS])

    play(folder, [Ledger], scene)


def killed(run: Callable[[int], None], after_lines: int) -> dict[str, int]:
    """Run in a child that is killed after so many lines; the highest count that was acknowledged, by name."""
    read, write = os.pipe()
    child = multiprocessing.get_context("fork").Process(target=run, args=(write,))
    child.start()
    os.close(write)
    text = b""
    while text.count(b"\n") < after_lines and (part := os.read(read, 4096)):
        text += part
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    while part := os.read(read, 4096):
        text += part
    os.close(read)
    child.join()
    seen: dict[str, int] = {}
    for line in text.decode().splitlines():
        name, count = line.split()
        seen[name] = int(count)
    return seen


def alarms(folder: Path) -> list[tuple[int | None, int | None]]:
    """Of each object the time in its own file and the one in the index."""
    place = folder / "v3" / "do" / "w-Ledger"
    index = apsw.Connection(str(place / "metadata.sqlite"))
    indexed = dict(index.execute("SELECT actor_id, scheduled_time FROM _cf_ALARM"))
    index.close()
    pairs = []
    for path in sorted(place.glob("*.sqlite")):
        if path.name != "metadata.sqlite":
            store = ObjectStore(path)
            pairs.append((store.get_alarm(), indexed.get(path.stem)))
            store.close()
    return pairs


def agree(pairs: list[tuple[int | None, int | None]]) -> bool:
    """The index may be early, never late or missing."""
    return all(own is None or (index is not None and index <= own) for own, index in pairs)


def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    chance = random.Random(11)
    acknowledged = dict.fromkeys(OBJECTS, 0)

    async def look(w: World) -> None:
        for name in OBJECTS:
            stored, logged = map(int, (await w.stub("Ledger", name).count()).split())
            assert stored == logged
            assert acknowledged[name] <= stored <= acknowledged[name] + 1
            acknowledged[name] = stored

    for _ in range(ROUNDS):
        acknowledged.update(killed(lambda pipe: victim(tmp_path, pipe), chance.randrange(1, 120)))
        assert agree(alarms(tmp_path))
        play(tmp_path, [Ledger], look)


@pytest.mark.parametrize("moment", ["before the commit", "after the commit"])
def test_a_kill_between_the_two_places_of_an_alarm_is_harmless(tmp_path: Path, moment: str) -> None:
    class Armed(Ledger):
        async def arm(self, ms: int) -> None:
            await self.ctx.storage.setAlarm(ms)

    Armed.__qualname__ = "Ledger"

    def run(times: list[int], pipe: int) -> None:
        async def scene(w: World) -> None:
            stub = w.stub("Ledger")
            await stub.arm(times[0])
            instance = w.actor("Ledger").instance
            assert instance is not None
            commit = instance.store.commit

            def kill() -> None:
                if moment == "after the commit":
                    commit()
                os.kill(os.getpid(), signal.SIGKILL)

            instance.store.commit = kill  # type: ignore[method-assign]
            await stub.arm(times[1])

        play(tmp_path, [Armed], scene)

    for times in ([1_800_000_050_000, 1_800_000_001_000], [1_800_000_001_000, 1_800_000_050_000]):
        killed(lambda pipe, times=times: run(times, pipe), 10**9)  # type: ignore[misc]
        assert agree(alarms(tmp_path))
