"""`ctx` of a Durable Object (workerd `api/actor-state.h`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from pyflare.engines.durable_objects.binding import DurableObjectId
from pyflare.engines.durable_objects.config import MAX_AUTO_RESPONSE_BYTES, MAX_EVENT_TIMEOUT_MS
from pyflare.engines.durable_objects.facets import DurableObjectFacets
from pyflare.engines.durable_objects.storage import DurableObjectStorage
from pyflare.interop.arguments import to_number, to_string
from pyflare.interop.containers import JsArray
from pyflare.interop.convert import unwrap
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import error, range_error, type_error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish, jsnull, options
from pyflare.interop.web.auto_response import WebSocketRequestResponsePair
from pyflare.interop.web.console import hint
from pyflare.interop.web.websocket import WebSocket
from pyflare.worker.context import as_awaitable

if TYPE_CHECKING:
    from pyflare.engines.durable_objects.instance import Instance

ACCEPTED_ALREADY = "Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`"
PAIR_USED = (
    "Cannot call `acceptWebSocket()` on this WebSocket because its pair has already been accepted or used in a "
    "Response."
)
NEGATIVE = "The value cannot be converted because it is negative and this API expects a positive number."
NO_TAGS = "you must call 'acceptWebSocket()' before attempting to access the tags of a WebSocket."


class DurableObjectState(JsProxy):
    js_name: ClassVar[str] = "DurableObjectState"

    def __init__(self, instance: Instance) -> None:
        actor = instance.actor
        self._instance = instance
        self._sockets = actor.sockets
        self.id = DurableObjectId.make(actor.id, actor.name)
        self.storage = DurableObjectStorage.make(instance.store, instance)
        self.props = JsObject.make()
        self.facets = DurableObjectFacets.make(instance)

    def js_properties(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("id", "storage", "props", "facets")}

    @property
    def exports(self) -> Any:
        return self._instance.exports()

    @property
    def container(self) -> Any:
        return None

    def waitUntil(self, work: Any = None) -> None:
        self._instance.wait_until(as_awaitable(work))

    def blockConcurrencyWhile(self, body: Any = None) -> JsPromise:
        return self._instance.block_concurrency(_function(body, "blockConcurrencyWhile"))

    @options
    def abort(self, reason: Any = None, settings: Any = None) -> None:
        self._instance.abort(None if is_nullish(reason) else to_string(reason), get(settings, "retryAlarm", True))

    # --- sockets --------------------------------------------------------------------------------------------------

    def acceptWebSocket(self, socket: Any = None, tags: Any = None) -> None:
        face = _socket(socket, "acceptWebSocket")
        if face.accepted:
            raise error(ACCEPTED_ALREADY)
        if self._sockets.of(face.channel) is not None:
            raise error(ACCEPTED_ALREADY)
        if self._sockets.of(face.channel.peer) is not None or face.coupled:
            raise error(PAIR_USED)
        if tags is not None and not isinstance(tags, JsArray):
            hint(
                "acceptWebSocket",
                'acceptWebSocket() takes tags as an array of JavaScript: acceptWebSocket(ws, to_js(["red"]))',
            )
            raise _parameter("acceptWebSocket", 2, "Array")
        self._sockets.accept(face.channel, [to_string(tag) for tag in tags._items] if tags is not None else [])
        self._instance.faces[face.channel] = face

    def getWebSockets(self, tag: Any = None) -> JsArray:
        sockets = self._sockets.listed(None if tag is None else to_string(tag))
        return JsArray.make([self._instance.face(socket.channel) for socket in sockets])

    def getTags(self, socket: Any = None) -> JsArray:
        found = self._sockets.of(_socket(socket, "getTags").channel)
        if found is None:
            raise error(NO_TAGS)
        return JsArray.make(list(found.tags))

    def setWebSocketAutoResponse(self, pair: Any = None) -> None:
        if is_nullish(pair):
            self._sockets.auto_response = None
            return
        if not isinstance(pair, WebSocketRequestResponsePair):
            raise _parameter("setWebSocketAutoResponse", 1, "WebSocketRequestResponsePair")
        for what, text in (("Request", pair.request), ("Response", pair.response)):
            size = len(text.encode("utf-8", "surrogatepass"))
            if size > MAX_AUTO_RESPONSE_BYTES:
                raise range_error(
                    f"{what} cannot be larger than {MAX_AUTO_RESPONSE_BYTES} bytes. "
                    f"A {what.lower()} of size {size} was provided."
                )
        self._sockets.auto_response = (pair.request, pair.response)

    def getWebSocketAutoResponse(self) -> Any:
        pair = self._sockets.auto_response
        return jsnull if pair is None else WebSocketRequestResponsePair.make(*pair)

    def getWebSocketAutoResponseTimestamp(self, socket: Any = None) -> Any:
        found = self._sockets.of(_socket(socket, "getWebSocketAutoResponseTimestamp").channel)
        at = found.auto_response_at if found is not None else None
        return jsnull if at is None else JsDate.make(float(int(at * 1000)))

    def setHibernatableWebSocketEventTimeout(self, timeout: Any = None) -> None:
        """Milliseconds; 0 and undefined unset it."""
        number = 0 if is_nullish(timeout) else to_number(timeout)
        if number < 0:
            raise type_error(NEGATIVE)
        if number > MAX_EVENT_TIMEOUT_MS:
            raise error(f"Event timeout should not exceed {MAX_EVENT_TIMEOUT_MS} ms.")
        self._sockets.event_timeout_ms = int(number) if number == number and int(number) else None

    def getHibernatableWebSocketEventTimeout(self) -> Any:
        timeout = self._sockets.event_timeout_ms
        return jsnull if timeout is None else timeout


def _socket(value: Any, method: str) -> WebSocket:
    if isinstance(value, WebSocket):
        return value
    raise _parameter(method, 1, "WebSocket")


def _function(value: Any, method: str) -> Callable[..., Any]:
    function = unwrap(value)
    if callable(function):
        found: Callable[..., Any] = function
        return found
    raise _parameter(method, 1, "function")


def _parameter(method: str, number: int, kind: str) -> Exception:
    return type_error(
        f"Failed to execute '{method}' on 'DurableObjectState': parameter {number} is not of type '{kind}'."
    )
