"""What an object needs of where it lives: its namespace, or the object that it is a facet of."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from pyflare.clock import Clock
    from pyflare.engines.durable_objects.actor import Actor
    from pyflare.engines.durable_objects.alarms import AlarmIndex
    from pyflare.engines.durable_objects.deadlines import Deadlines
    from pyflare.engines.durable_objects.ledger import Ledger
    from pyflare.engines.durable_objects.store import ObjectStore
    from pyflare.log import Log
    from pyflare.worker.event import Event


class Place(Protocol):
    worker: str
    class_name: str
    unique_key: str
    log: Log
    clock: Clock
    deadlines: Deadlines
    ledger: Ledger
    threads: ThreadPoolExecutor | None  # for commits that wait for the disk; None: they do not
    spawn: Callable[[Coroutine[Any, Any, Any]], Any]
    dispatch: Callable[[str, Event], Coroutine[Any, Any, Any]]

    @property
    def alarms(self) -> AlarmIndex | None:
        """None: its objects have no alarms."""
        ...

    def path(self, actor: Actor) -> Path:
        """The file of an object."""
        ...

    def store(self, actor: Actor) -> ObjectStore:
        """That file, to be opened when it is needed."""
        ...

    def opened(self, path: Path, sqlite: bool) -> ObjectStore:
        """Any file with the settings of here; not `sqlite`: without `storage.sql`."""
        ...

    def wakes(self, actor: Actor) -> None:
        """It has something to do."""
        ...

    def rests(self, actor: Actor) -> None:
        """It has nothing to do, from now on."""
        ...

    def sleeps(self, actor: Actor) -> None:
        """Its instance is gone."""
        ...

    def forget(self, actor: Actor) -> None:
        """It broke."""
        ...

    def alarm_changed(self) -> None: ...
