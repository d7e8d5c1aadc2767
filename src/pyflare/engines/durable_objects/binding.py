"""What lands in env: `DurableObjectNamespace`, its ids and stubs (workerd `api/actor.h`)."""

from __future__ import annotations

import string
from collections.abc import Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, Any, ClassVar

from pyflare.engines.durable_objects.config import JURISDICTIONS, LOCATION_HINTS
from pyflare.engines.durable_objects.handlers import call_fetch, call_method
from pyflare.interop import scope
from pyflare.interop.arguments import to_string
from pyflare.interop.errors import error, range_error, type_error
from pyflare.interop.promise import JsPromise, after, start
from pyflare.interop.proxy import JsProxy, get, is_nullish, options
from pyflare.interop.rpc import Fetcher
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.worker.event import Fetch, Rpc

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.actor import Actor
    from pyflare.engines.durable_objects.namespace import Namespace

HEX_DIGITS = frozenset(string.hexdigits)


class DurableObjectId(JsProxy):
    js_name: ClassVar[str] = "DurableObjectId"

    def __init__(self, hex_id: str, name: str | None = None, jurisdiction: str | None = None) -> None:
        self._hex = hex_id
        self.name = name
        self.jurisdiction = jurisdiction

    def toString(self) -> str:
        return self._hex

    def equals(self, other: Any = None) -> bool:
        if not isinstance(other, DurableObjectId):
            raise type_error(
                "Failed to execute 'equals' on 'DurableObjectId': parameter 1 is not of type 'DurableObjectId'."
            )
        return self._hex == other._hex

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            f"an id has no '{name}': get a stub first, namespace.get(namespace.idFromName(...)).{name}(...), "
            f"or namespace.getByName(...)"
        )


class DurableObjectNamespace(JsProxy):
    js_name: ClassVar[str] = "DurableObjectNamespace"

    def __init__(self, namespace: Namespace, jurisdiction: str | None = None) -> None:
        self._namespace = namespace
        self._jurisdiction = jurisdiction

    def js_properties(self) -> dict[str, Any]:
        return {}

    @options
    def newUniqueId(self, settings: Any = None) -> DurableObjectId:
        wanted = get(settings, "jurisdiction")
        jurisdiction = self._jurisdiction if is_nullish(wanted) else _jurisdiction(wanted)
        return DurableObjectId.make(self._namespace.ids(jurisdiction).unique(), None, jurisdiction)

    def idFromName(self, name: Any = None) -> DurableObjectId:
        text = _text(name, "idFromName")
        return DurableObjectId.make(self._namespace.id_of(text, self._jurisdiction), text, self._jurisdiction)

    def idFromString(self, text: Any = None) -> DurableObjectId:
        hex_id = _text(text, "idFromString").lower()
        if len(hex_id) != 64 or not HEX_DIGITS.issuperset(hex_id):
            raise type_error("Invalid Durable Object ID: must be 64 hex digits")
        jurisdictions = (None, *JURISDICTIONS) if self._jurisdiction is None else (self._jurisdiction,)
        for jurisdiction in jurisdictions:
            if self._namespace.ids(jurisdiction).owns(hex_id):
                return DurableObjectId.make(hex_id, None, jurisdiction)
        raise type_error("Durable Object ID is not valid for this namespace.")

    @options
    def get(self, id: Any = None, settings: Any = None) -> DurableObjectStub:
        return self._stub(id, settings, "get")

    @options
    def getByName(self, name: Any = None, settings: Any = None) -> DurableObjectStub:
        text = _text(name, "getByName")
        id = DurableObjectId.make(self._namespace.id_of(text, self._jurisdiction), text, self._jurisdiction)
        return self._stub(id, settings, "getByName")

    def jurisdiction(self, name: Any = None) -> DurableObjectNamespace:
        wanted = None if is_nullish(name) else _jurisdiction(name)
        return DurableObjectNamespace.make(self._namespace, wanted)

    def __getattr__(self, name: str) -> Any:
        if name == "getExisting" and scope.enabled("durable_object_get_existing"):
            return self._get_existing
        raise AttributeError(name)

    def _get_existing(self, id: Any = None, settings: Any = None) -> DurableObjectStub:
        stub = self._stub(id, settings, "getExisting")
        stub._js_existing = True
        return stub

    def _stub(self, id: Any, settings: Any, method: str) -> DurableObjectStub:
        if not isinstance(id, DurableObjectId):
            raise type_error(
                f"Failed to execute '{method}' on 'DurableObjectNamespace': "
                "parameter 1 is not of type 'DurableObjectId'."
            )
        if self._jurisdiction is not None and id.jurisdiction != self._jurisdiction:
            raise type_error(f"{method} called on jurisdictional subnamespace with an ID from a different jurisdiction")
        if settings is not None:
            self._check_options(settings)
        return DurableObjectStub.make(self._namespace, id)

    def _check_options(self, settings: Any) -> None:
        hint, routing = get(settings, "locationHint"), get(settings, "routingMode")
        if not is_nullish(routing) and routing != "primary-only":
            raise range_error(f"unknown routingMode: {to_string(routing)}")
        if not is_nullish(hint):
            known = "has no local effect" if hint in LOCATION_HINTS else "is unknown to Cloudflare"
            self._namespace.log.once("info", f"locationHint {hint}", f"locationHint {to_string(hint)!r} {known}")


class DurableObjectStub(Fetcher):
    """Reaches one object. The first call ties it to the object as it is: when that breaks, the stub stays broken."""

    js_name: ClassVar[str] = "DurableObject"

    def __init__(self, namespace: Namespace, id: DurableObjectId) -> None:
        self.id = id
        self.name = id.name
        self._js_namespace = namespace
        self._js_actor: Actor | None = None
        self._js_existing = False

    def _js_target(self) -> Actor:
        actor = self._js_actor
        if actor is None or actor.retired:
            namespace = self._js_namespace
            if self._js_existing and not namespace.exists(self.id._hex):
                raise error("The Durable Object does not exist.")
            actor = self._js_actor = namespace.actor(self.id._hex, self.name)
        return actor

    async def _js_fetch(self, request: Request) -> Response:
        response: Response = await self._js_target().run(call_fetch(request), "fetch", Fetch(request))
        return response

    async def _js_call(self, method: str, args: tuple[Any, ...]) -> Any:
        return await self._js_target().run(call_method(method, args), method, Rpc(method, ()))

    def _js_start(self, work: Coroutine[Any, Any, Any]) -> JsPromise:
        # A task of no event: what runs there is another object, which the gate of the caller must not hold up.
        running = scope.current.get()
        pending = running.gate.unconfirmed() if running is not None and running.gate is not None else None
        actor = self._js_actor or self._js_namespace.actors.get(self.id._hex)
        if actor is not None:
            actor.coming += 1
        return start(work if pending is None else after(pending, work), Context())


def _text(value: Any, method: str) -> str:
    if value is None:
        raise type_error(
            f"Failed to execute '{method}' on 'DurableObjectNamespace': parameter 1 is not of type 'string'."
        )
    return to_string(value)


def _jurisdiction(value: Any) -> str:
    if value not in JURISDICTIONS:
        raise type_error(f"{to_string(value)!r} is no jurisdiction; there are {', '.join(JURISDICTIONS)}")
    return str(value)
