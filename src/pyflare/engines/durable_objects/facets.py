"""`ctx.facets`: objects within an object, each with a file of its own beside the root's (workerd `api/actor-state.h`).

A facet is started by the callback that `get` was given, which names its class: one of `ctx.exports`. It lives and
sleeps with its parent. Left out: alarms of facets, and the index file in which workerd numbers them (ours is in the
ledger).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from contextvars import Context
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyflare.engines.durable_objects.binding import DurableObjectId, DurableObjectNamespace
from pyflare.engines.durable_objects.config import MAX_FACET_DEPTH, MAX_FACET_NAME_CHARACTERS
from pyflare.engines.durable_objects.handlers import call_fetch, call_method
from pyflare.interop.arguments import to_string
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import JsException, error, type_error
from pyflare.interop.promise import JsPromise, start
from pyflare.interop.proxy import JsProxy, get, is_nullish
from pyflare.interop.rpc import Fetcher, remote
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.storage.database import Database
from pyflare.worker.event import Fetch, Rpc

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.actor import Actor
    from pyflare.engines.durable_objects.instance import Instance
    from pyflare.engines.durable_objects.store import ObjectStore

SEPARATOR = "\x1f"  # between the names of nested facets
ABORTED = "Application called abort() to reset Durable Object."
DELETED = "Facet was deleted."


class DurableObjectClass(JsProxy):
    """A class of `ctx.exports` that has no namespace: good for facets only."""

    js_name: ClassVar[str] = "DurableObjectClass"

    def __init__(self, worker: str, class_name: str) -> None:
        self._worker, self._class_name = worker, class_name

    def js_properties(self) -> dict[str, Any]:
        return {}


class DurableObjectFacets(JsProxy):
    js_name: ClassVar[str] = "DurableObjectFacets"

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def js_properties(self) -> dict[str, Any]:
        return {}

    def get(self, name: Any = None, startup: Any = None) -> FacetStub:
        function = unwrap(startup)
        if not callable(function):
            raise type_error("Failed to execute 'get' on 'DurableObjectFacets': parameter 2 is not of type 'function'.")
        return FacetStub.make(self._instance, _name(name), function)

    def abort(self, name: Any = None, reason: Any = None) -> None:
        facet = self._instance.facets.pop(_name(name), None)
        if facet is not None:
            facet.break_(reason if isinstance(reason, JsException) else _reason(reason))

    def delete(self, name: Any = None) -> None:
        text = _name(name)
        facet = self._instance.facets.pop(text, None)
        if facet is not None:
            facet.break_(error(DELETED))
        Files(self._instance.actor).delete(text)

    def clone(self, source: Any = None, target: Any = None) -> None:
        """Copy the storage of one facet to another, which must not run."""
        running = self._instance.facets.get(_name(source))
        if running is not None and running.instance is not None:
            running.instance.commit()
        Files(self._instance.actor).clone(_name(source), _name(target))


class FacetStub(Fetcher):
    """Starts its facet with the first call, and is tied to it from then on: when that breaks, the stub stays broken."""

    js_name: ClassVar[str] = "Fetcher"

    def __init__(self, instance: Instance, name: str, startup: Callable[[], Any]) -> None:
        self._js_instance, self._js_facet, self._js_startup = instance, name, startup
        self._js_actor: Actor | None = None

    async def _js_target(self) -> Actor:
        if self._js_actor is None:
            self._js_actor = await self._js_started()
        return self._js_actor

    async def _js_started(self) -> Actor:
        instance = self._js_instance
        found = instance.facets.get(self._js_facet)
        if found is None:
            try:
                started = self._js_startup()
                started = await started if inspect.isawaitable(started) else started
            except Exception as raised:
                raise remote(raised) from None
            found = instance.facets.get(self._js_facet) or self._js_begin(started)
        return found

    def _js_begin(self, started: Any) -> Actor:
        cls = get(started, "class", get(started, "class_"))
        if isinstance(cls, DurableObjectNamespace):
            worker, class_name = cls._namespace.worker, cls._namespace.class_name
        elif isinstance(cls, DurableObjectClass):
            worker, class_name = cls._worker, cls._class_name
        else:
            raise type_error("The facet's startup callback must give {class: a Durable Object class of ctx.exports}")
        parent, id = self._js_instance.actor, get(started, "id")
        hex_id = parent.id if is_nullish(id) else id._hex if isinstance(id, DurableObjectId) else to_string(id)
        facet_path = (*parent.facet_path, self._js_facet)
        if len(facet_path) >= MAX_FACET_DEPTH:
            raise error(f"Facets are nested too deeply (max depth {MAX_FACET_DEPTH}).")
        place = FacetPlace(self._js_instance, worker, class_name, Files(parent).path(self._js_facet))
        actor = type(parent)(place, hex_id, None, facet_path)
        self._js_instance.facets[self._js_facet] = actor
        return actor

    async def _js_fetch(self, request: Request) -> Response:
        target = await self._js_target()
        response: Response = await _outside(target.run(call_fetch(request), "fetch", Fetch(request)))
        return response

    async def _js_call(self, method: str, args: tuple[Any, ...]) -> Any:
        target = await self._js_target()
        return await _outside(target.run(call_method(method, args), method, Rpc(method, ())))


class FacetPlace:
    """Where a facet lives (see `place.Place`): it keeps its parent awake and is dropped with it."""

    def __init__(self, parent: Instance, worker: str, class_name: str, file: Path) -> None:
        above = parent.actor.place
        self.worker, self.class_name, self.unique_key = worker, class_name, above.unique_key
        self.log, self.clock = above.log, above.clock
        self.deadlines, self.ledger, self.alarms = above.deadlines, above.ledger, None
        self.spawn, self.dispatch, self.threads = above.spawn, above.dispatch, above.threads
        self._parent, self._file = parent, file

    def path(self, actor: Actor) -> Path:
        return self._file

    def store(self, actor: Actor) -> ObjectStore:
        return self.opened(self._file, True)

    def opened(self, path: Path, sqlite: bool) -> ObjectStore:
        return self._parent.actor.place.opened(path, sqlite)

    def wakes(self, actor: Actor) -> None:
        self._parent.actor.place.wakes(self._parent.actor)

    def rests(self, actor: Actor) -> None:
        self._parent.rest()

    def sleeps(self, actor: Actor) -> None:
        return

    def forget(self, actor: Actor) -> None:
        for name, facet in list(self._parent.facets.items()):
            if facet is actor:
                del self._parent.facets[name]

    def alarm_changed(self) -> None:
        return


class Files:
    """The files of the facets of one object: `<root id>.<number>.sqlite`, numbered in the ledger."""

    def __init__(self, parent: Actor) -> None:
        self._place, self._above = parent.place, parent.facet_path
        self._file = parent.place.path(parent)
        self._root = self._file.name.partition(".")[0]

    def path(self, name: str) -> Path:
        key, numbers = self._key(name), self._numbers()
        number = numbers.get(key)
        if number is None:
            number = max(numbers.values(), default=0) + 1
            self._place.ledger.set_facet(self._place.unique_key, self._root, key, number)
        return self._numbered(number)

    def delete(self, name: str) -> None:
        """With the facets inside of it."""
        key = self._key(name)
        for path, number in self._numbers().items():
            if path == key or path.startswith(f"{key}{SEPARATOR}"):
                for file in self._file.parent.glob(f"{self._numbered(number).name}*"):
                    file.unlink(missing_ok=True)
                self._place.ledger.drop_facet(self._place.unique_key, self._root, path)

    def clone(self, source: str, target: str) -> None:
        self.delete(target)
        found = self.path(source)
        if found.exists():
            database = Database(found)
            database.execute("VACUUM INTO ?", (str(self.path(target)),))
            database.close()

    def _key(self, name: str) -> str:
        return SEPARATOR.join((*self._above, name))

    def _numbers(self) -> dict[str, int]:
        return self._place.ledger.facets(self._place.unique_key, self._root)

    def _numbered(self, number: int) -> Path:
        return self._file.with_name(f"{self._root}.{number}.sqlite")


def _outside(work: Coroutine[Any, Any, Any]) -> JsPromise:
    """The facet's own events belong to none of its parent's."""
    return start(work, Context())


def _name(value: Any) -> str:
    text = to_string(value)
    if len(text) > MAX_FACET_NAME_CHARACTERS:
        raise type_error(f"Facet name is too long (max {MAX_FACET_NAME_CHARACTERS} characters).")
    return text


def _reason(reason: Any) -> JsException:
    return error(ABORTED if is_nullish(reason) else to_string(reason))
