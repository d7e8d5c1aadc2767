"""One class of Durable Objects: its ids, its folder, its alarms and the objects that are awake or hold sockets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyflare.engines.base import EngineContext
from pyflare.engines.durable_objects.actor import Actor
from pyflare.engines.durable_objects.alarms import AlarmIndex
from pyflare.engines.durable_objects.config import EVICT_AFTER_SECONDS
from pyflare.engines.durable_objects.deadlines import Deadlines
from pyflare.engines.durable_objects.ledger import Ledger
from pyflare.engines.durable_objects.migrations import ObjectClass
from pyflare.engines.durable_objects.store import MAX_OBJECT_BYTES, ObjectStore
from pyflare.interop.errors import error
from pyflare.storage.object_id import Namespace as Ids
from pyflare.worker.event import Event

MAX_REMEMBERED_IDS = 10_000  # of names; an id costs two hashes
FILE = re.compile(r"[0-9a-f]{64}")


class Namespace:
    """`resting` maps the objects that have nothing to do to the time since when, oldest first; it is the engine's."""

    def __init__(
        self,
        worker: str,
        definition: ObjectClass,
        ctx: EngineContext,
        ledger: Ledger,
        deadlines: Deadlines,
        resting: dict[Actor, float],
    ) -> None:
        self.worker = worker
        self.class_name = definition.name
        self.unique_key = definition.unique_key
        self.sqlite = definition.sqlite
        self.log = ctx.log
        self.clock = ctx.clock
        self.spawn = ctx.spawn
        self.durability = ctx.storage.durability
        # An event has a task of its own already: where the dispatcher can, it runs in there.
        dispatch = getattr(ctx.dispatch, "serve", ctx.dispatch)
        self.dispatch = dispatch if worker in ctx.workers() else self._not_found
        self.ledger = ledger
        self.deadlines = deadlines
        self._resting = resting
        self.evict_after = EVICT_AFTER_SECONDS
        self.threads: ThreadPoolExecutor | None = None
        self.enforce_limits = True
        self.max_bytes = MAX_OBJECT_BYTES
        self.actors: dict[str, Actor] = {}
        self.alarms = AlarmIndex(self._made_folder, self.durability, ledger, self.unique_key)
        self._ids: dict[str | None, Ids] = {}
        self._ids_of: dict[str, str] = {}
        self._named: set[str] = set()
        self._folder = ctx.storage.root / "do" / self.unique_key
        self.alarms.load(self._folder / "metadata.sqlite")

    # --- ids ------------------------------------------------------------------------------------------------------

    def ids(self, jurisdiction: str | None) -> Ids:
        found = self._ids.get(jurisdiction)
        if found is None:
            key = self.unique_key if jurisdiction is None else f"{self.unique_key}\0{jurisdiction}"
            found = self._ids[jurisdiction] = Ids(key)
        return found

    def id_of(self, name: str, jurisdiction: str | None) -> str:
        if jurisdiction is not None:
            return self.ids(jurisdiction).from_name(name)
        found = self._ids_of.get(name)
        if found is None:
            if len(self._ids_of) >= MAX_REMEMBERED_IDS:
                self._ids_of.clear()
            found = self._ids_of[name] = self.ids(None).from_name(name)
        return found

    # --- objects --------------------------------------------------------------------------------------------------

    def actor(self, id: str, name: str | None) -> Actor:
        """The object of that id; an object that broke is forgotten, so this may be a new one."""
        found = self.actors.get(id)
        if found is None:
            found = self.actors[id] = Actor(self, id, self._name(id, name))
        elif name is not None and found.name is None:
            found.name = self._name(id, name)
        return found

    def _name(self, id: str, name: str | None) -> str | None:
        if name is None:
            return self.alarms.names.get(id) or self.ledger.name(self.unique_key, id)
        if id not in self._named:
            self._named.add(id)
            self.ledger.set_name(self.unique_key, id, name)
        return name

    def forget(self, actor: Actor) -> None:
        self._resting.pop(actor, None)
        if self.actors.get(actor.id) is actor:
            del self.actors[actor.id]

    def sleeps(self, actor: Actor) -> None:
        """Without sockets nothing is left of it but its file."""
        self._resting.pop(actor, None)
        if not len(actor.sockets) and self.actors.get(actor.id) is actor:
            actor.retired = True
            del self.actors[actor.id]

    def wakes(self, actor: Actor) -> None:
        self._resting.pop(actor, None)

    def rests(self, actor: Actor) -> None:
        now = self._resting[actor] = self.clock.now()
        if self.evict_after:
            self.deadlines.sooner(now + self.evict_after)

    def alarm_changed(self) -> None:
        due = self.alarms.next_due()
        if due is not None:
            self.deadlines.sooner(due)

    async def _not_found(self, worker: str, event: Event) -> Any:
        raise error(f'Worker "{worker}" not found. Make sure it is running locally.')

    # --- files ----------------------------------------------------------------------------------------------------

    def path(self, actor: Actor) -> Path:
        return self._folder / f"{actor.id}.sqlite"

    def store(self, actor: Actor) -> ObjectStore:
        return self.opened(self.path(actor), self.sqlite)

    def opened(self, path: Path, sqlite: bool) -> ObjectStore:
        return ObjectStore(
            path,
            sqlite=sqlite,
            durability=self.durability,
            max_bytes=self.max_bytes,
            enforce_limits=self.enforce_limits,
        )

    def exists(self, id: str) -> bool:
        return id in self.actors or (self._folder / f"{id}.sqlite").exists()

    def delete(self, id: str) -> None:
        """Remove what an object has stored; nobody may be using it."""
        self.alarms.remove(id)
        self.ledger.forget_one(self.unique_key, id)
        self._named.discard(id)
        for path in self._folder.glob(f"{id}*.sqlite*"):
            path.unlink(missing_ok=True)

    def stored(self) -> Iterator[str]:
        """The ids of objects that have a file."""
        if self._folder.is_dir():
            yield from sorted(path.stem for path in self._folder.glob("*.sqlite") if FILE.fullmatch(path.stem))

    def known(self) -> list[str]:
        """The ids of all objects, stored or awake."""
        return sorted({*self.stored(), *self.actors})

    def name_of(self, id: str) -> str | None:
        actor = self.actors.get(id)
        return actor.name if actor is not None else self._name(id, None)

    def close(self) -> None:
        self.alarms.close()

    def _made_folder(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder
