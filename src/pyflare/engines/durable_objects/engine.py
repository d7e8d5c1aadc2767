"""All Durable Objects of a server: which class lies where, when alarms fire, when objects fall asleep."""

from __future__ import annotations

import asyncio
import difflib
import shutil
import types
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.durable_objects import config, panel, query
from pyflare.engines.durable_objects.actor import Actor
from pyflare.engines.durable_objects.binding import DurableObjectNamespace
from pyflare.engines.durable_objects.config import EVICT_AFTER_SECONDS, Binding, ObjectsConfig
from pyflare.engines.durable_objects.deadlines import Deadlines
from pyflare.engines.durable_objects.facets import DurableObjectClass
from pyflare.engines.durable_objects.firing import Firing
from pyflare.engines.durable_objects.ledger import Ledger
from pyflare.engines.durable_objects.migrations import ObjectClass, Step
from pyflare.engines.durable_objects.namespace import Namespace
from pyflare.engines.durable_objects.panel import ObjectRow
from pyflare.errors import EngineError, WorkerError
from pyflare.interop.errors import error
from pyflare.interop.proxy import JsProxy

if TYPE_CHECKING:
    from pyflare.worker.worker import Worker

SYNC_THREADS = 16  # commits of different objects that wait for the disk together: it syncs them in one go
EVICT_WAIT_TURNS = 1_000  # of the loop


class DurableObjects(Engine):
    """`random` makes the jitter of retries; a test puts in its own."""

    keys: ClassVar[Sequence[str]] = ("durable_objects", "migrations", "exports")
    parse = staticmethod(config.parse)

    def __init__(self, configs: Mapping[str, ObjectsConfig | None], ctx: EngineContext) -> None:
        self._configs = {worker: found or ObjectsConfig(worker) for worker, found in configs.items()}
        self._ctx = ctx
        self.random = Random()
        self._threads = ThreadPoolExecutor(SYNC_THREADS, "commit") if ctx.storage.durability == "full" else None
        self.ledger = Ledger(ctx.storage)
        self.deadlines = Deadlines(ctx.clock, ctx.poke)
        self._resting: dict[Actor, float] = {}
        self._namespaces: dict[tuple[str, str], Namespace] = {}
        self._by_key: dict[str, Namespace] = {}
        for parsed in self._configs.values():
            self._migrate(parsed)
        for parsed in self._configs.values():
            for definition in parsed.classes.values():
                self._open(parsed.worker, definition)
        self.firing = Firing(self)
        self.evict_after = next(
            (found.evict_after for found in self._configs.values() if found.evict_after is not None),
            EVICT_AFTER_SECONDS,
        )

    def configure(self, options: Any) -> None:
        """`--evict-after`, which has precedence when it is not the default."""
        if options.evict_after != EVICT_AFTER_SECONDS:
            self.evict_after = options.evict_after

    @property
    def evict_after(self) -> float:
        """Seconds until an idle object is dropped; 0: never."""
        return self._evict_after

    @evict_after.setter
    def evict_after(self, seconds: float) -> None:
        self._evict_after = seconds
        for namespace in self._by_key.values():
            namespace.evict_after = seconds

    # --- classes --------------------------------------------------------------------------------------------------

    def _open(self, worker: str, definition: ObjectClass) -> Namespace:
        found = self._by_key.get(definition.unique_key)
        if found is None:
            found = Namespace(worker, definition, self._ctx, self.ledger, self.deadlines, self._resting)
            found.evict_after = getattr(self, "_evict_after", EVICT_AFTER_SECONDS)
            found.enforce_limits = self._configs[worker].enforce_limits if worker in self._configs else True
            found.threads = self._threads
            self._by_key[definition.unique_key] = found
        self._namespaces[worker, definition.name] = found
        return found

    def namespace(self, worker: str, class_name: str) -> Namespace:
        """The class of a worker; one that no configuration declares gets the obvious key."""
        found = self._namespaces.get((worker, class_name))
        return found or self._open(worker, ObjectClass(class_name, f"{worker}-{class_name}"))

    @property
    def namespaces(self) -> Sequence[Namespace]:
        return list(self._by_key.values())

    def _migrate(self, parsed: ObjectsConfig) -> None:
        """Do, once, what the migrations say of data; the applied tags are remembered beside it."""
        steps = [step for step in parsed.steps if step.deleted or step.renamed]
        applied = self.ledger.applied(parsed.worker) if steps else frozenset()
        for step in steps:
            if step.tag not in applied:
                self._apply(parsed, step, first=not applied)
                self.ledger.set_applied(parsed.worker, step.tag)
        for step in parsed.steps:
            if step not in steps:
                self.ledger.see(parsed.worker, step.tag)

    def _apply(self, parsed: ObjectsConfig, step: Step, first: bool) -> None:
        """`first`: no tag of this worker is known here, so what lies here is wrangler's, who has no record of tags."""
        log, root, worker = self._ctx.log, self._ctx.storage.root / "do", parsed.worker
        alive = {one.unique_key for one in parsed.classes.values()}
        for renamed in step.renamed:
            if (root / renamed.unique_key).is_dir():
                log.info(
                    f'Migration "{step.tag}" of {worker}: {renamed.old} is now {renamed.new}; ids and data stay in '
                    f"{renamed.unique_key} (wrangler's local mode would start empty)"
                )
        for gone in step.deleted:
            folder = root / gone.unique_key
            if first and gone.unique_key in alive and folder.is_dir():
                log.warn(
                    f'Migration "{step.tag}" of {worker} deletes the class {gone.name}, which a later one makes again: '
                    f"what is in {gone.unique_key} is taken for the new one's and kept"
                )
                continue
            count = len(list(folder.glob("*.sqlite"))) - (folder / "metadata.sqlite").exists()
            if folder.is_dir():
                objects = f"{count} object{'s' * (count != 1)}"
                log.warn(f'Migration "{step.tag}" of {worker} deletes the class {gone.name}: {objects} with all data')
                shutil.rmtree(folder)
            self.ledger.forget(gone.unique_key)

    def check(self, exports: Mapping[str, Mapping[str, Any]]) -> None:
        """After import: every class that a configuration binds is exported and derives from DurableObject; of one that
        only its migrations name a line is enough."""
        faults = []
        for parsed in self._configs.values():
            bound = {binding.class_name for binding in parsed.bindings}
            for class_name in parsed.classes:
                fault = self._fault(parsed, class_name, exports.get(parsed.worker, {}))
                if fault is not None and class_name in bound:
                    faults.append(fault)
                elif fault is not None:
                    self._ctx.log.warn(fault)
        if faults:
            raise WorkerError("\n".join(faults))

    def _fault(self, parsed: ObjectsConfig, class_name: str, exported: Mapping[str, Any]) -> str | None:
        bound = [binding.name for binding in parsed.bindings if binding.class_name == class_name]
        where = f"durable_objects binding {bound[0]}" if bound else "the migrations"
        entry = parsed.entry or "the entry module"
        cls = exported.get(class_name)
        if cls is None:
            near = difflib.get_close_matches(class_name, list(exported), 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            return f"{where}: {entry} has no `class {class_name}(DurableObject)`{hint}"
        if not any(base.__name__ == "DurableObject" for base in cls.__mro__[1:]):
            return (
                f"{where}: class {class_name} of {entry} does not derive from DurableObject: "
                f"write `class {class_name}(DurableObject)` with `from workers import DurableObject`"
            )
        return None

    # --- for the server -------------------------------------------------------------------------------------------

    def bound(self, worker: str) -> Sequence[Binding]:
        return self._configs[worker].bindings

    def bindings(self, worker: str) -> Mapping[str, DurableObjectNamespace]:
        return {
            binding.name: DurableObjectNamespace.make(self.namespace(binding.script_name or worker, binding.class_name))
            for binding in self._configs[worker].bindings
        }

    def exports(self, worker: Worker) -> Mapping[str, JsProxy]:
        """For `ctx.exports`: a namespace for each configured class, of all others what a facet needs."""
        classes = self._configs[worker.name].classes
        found: dict[str, JsProxy] = {
            name: DurableObjectClass.make(worker.name, name)
            for name, cls in worker.exports.items()
            if issubclass(cls, worker.sdk.DurableObject)
        }
        for name in classes:
            found[name] = DurableObjectNamespace.make(self.namespace(worker.name, name))
        return found

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(
                binding.name,
                "Durable Object",
                binding.class_name if binding.script_name is None else f"{binding.class_name} of {binding.script_name}",
                self._where(binding.script_name),
            )
            for binding in self._configs[worker].bindings
        ]

    def _where(self, script: str | None) -> str:
        if script is None:
            return "local"
        return "local [connected]" if script in self._ctx.workers() else "local [not connected]"

    def next_due(self) -> float | None:
        dues = [self.deadlines.soonest(), self.firing.next_due()]
        if self._resting and self._evict_after:
            dues.append(next(iter(self._resting.values())) + self._evict_after)
        self.deadlines.announced = min((due for due in dues if due is not None), default=None)
        return self.deadlines.announced

    def run_due(self, now: float) -> None:
        self.deadlines.run_due(now)
        self.firing.run_due(now)
        while self._evict_after and self._resting:
            actor, since = next(iter(self._resting.items()))
            if since + self._evict_after > now:
                break
            del self._resting[actor]
            if not actor.sleep() and actor.instance is not None and not actor.instance.events:
                self._resting[actor] = now  # a task or an open socket keeps it awake: ask again later

    def busy(self) -> Sequence[str]:
        names = [
            f"{actor.label}.{what}"
            for namespace in self._by_key.values()
            for actor in namespace.actors.values()
            if actor.instance is not None
            for what in (*actor.instance.events.values(), *["waitUntil"] * len(actor.instance.background))
        ]
        return names + [f"alarm of {id[:8]}" for id in self.firing.running]

    def panel(self) -> Panel:
        return panel.panel(self)

    async def pause(self) -> None:
        """Alarms in flight are given back: they fire again at the next start, uncounted."""
        await self.firing.pause()

    def close(self) -> None:
        for namespace in self._by_key.values():
            for actor in list(namespace.actors.values()):
                if actor.instance is not None:
                    actor.instance.commit()
                if actor.instance is not None:
                    actor.instance.end(error("The server is stopping."))
            namespace.close()
        self.ledger.close()
        if self._threads is not None:
            self._threads.shutdown()

    # --- hooks, for tests and operators ---------------------------------------------------------------------------

    def find(self, class_name: str, object: str, worker: str | None = None) -> tuple[Namespace, str]:
        """The namespace and the hex id of an object, which may be given by its id or its name. Raises `EngineError`."""
        found = [
            namespace
            for (owner, name), namespace in self._namespaces.items()
            if class_name in (name, namespace.unique_key) and worker in (None, owner)
        ]
        if not found:
            raise EngineError(f"There is no Durable Object class {class_name}")
        is_id = len(object) == 64 and all(letter in "0123456789abcdef" for letter in object)
        return found[0], object if is_id else found[0].id_of(object, None)

    def objects(self, class_name: str | None = None) -> Sequence[ObjectRow]:
        """Every object that is stored or awake."""
        return [row for row in panel.objects(self.namespaces) if class_name in (None, row.class_name)]

    async def evict(self, class_name: str, object: str, worker: str | None = None, force: bool = False) -> bool:
        """Drop the instance now, keep its sockets; waits until it is idle. False when it is not awake."""
        namespace, id = self.find(class_name, object, worker)
        actor = namespace.actors.get(id)
        if actor is None or actor.instance is None:
            return False
        for _ in range(EVICT_WAIT_TURNS):
            if actor.sleep(force):
                return True
            await _turn()
        raise EngineError("Timed out waiting to evict Durable Object: it still has active references.")

    async def evict_all(self, force: bool = False) -> int:
        """How many there were. Raises `EngineError` when one of them is at work, after all others."""
        awake = [
            (namespace.class_name, actor.id, namespace.worker)
            for namespace in self.namespaces
            for actor in namespace.actors.values()
            if actor.instance is not None
        ]
        evicted, at_work = 0, None
        for which in awake:
            try:
                evicted += await self.evict(*which, force)
            except EngineError as raised:
                at_work = raised
        if at_work is not None:
            raise at_work
        return evicted

    def abort(self, class_name: str, object: str, worker: str | None = None, reason: str = "") -> bool:
        """Reset an object as `ctx.abort()` does. False when it is not there."""
        namespace, id = self.find(class_name, object, worker)
        actor = namespace.actors.get(id)
        if actor is None:
            return False
        actor.break_(error(reason or "Aborted by the operator."))
        return True

    def delete(self, class_name: str, object: str, worker: str | None = None) -> bool:
        """Reset an object and remove its data."""
        namespace, id = self.find(class_name, object, worker)
        existed = namespace.exists(id)
        actor = namespace.actors.get(id)
        if actor is not None:
            actor.break_(error("The object was deleted by the operator."))
        namespace.delete(id)
        return existed

    def fire(self, class_name: str, object: str, worker: str | None = None) -> bool:
        """Run the alarm of an object now, whenever it is due. False when it has none."""
        namespace, id = self.find(class_name, object, worker)
        if namespace.alarms.scheduled(id) is None:
            return False
        self.firing.start(namespace, id, early=True)
        return True

    async def run_alarm(self, class_name: str, object: str, worker: str | None = None) -> bool:
        """`fire`, and wait for the end of the handler."""
        if not self.fire(class_name, object, worker):
            return False
        _, id = self.find(class_name, object, worker)
        await asyncio.wait([self.firing.running[id]])
        return True

    async def query(
        self, class_name: str, object: str, queries: Sequence[query.Query], worker: str | None = None
    ) -> Sequence[query.Found]:
        """Run SQL within an object that has stored something. Raises `EngineError`."""
        namespace, id = self.find(class_name, object, worker)
        if not namespace.exists(id):
            raise EngineError(f"{namespace.class_name} {object} has stored nothing")
        return await query.run(namespace.actor(id, None), queries)


@types.coroutine
def _turn() -> Generator[None, None, None]:
    """Give the loop one turn."""
    yield
