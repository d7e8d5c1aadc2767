"""What stands in env for a binding that only Cloudflare has."""

from __future__ import annotations

import importlib
from typing import Any, NoReturn

from pyflare.errors import WorkerError
from pyflare.interop.errors import JsException, error
from pyflare.interop.proxy import JsFunction, JsProxy
from pyflare.interop.rpc import Fetcher
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response


def needs_remote(name: str) -> JsException:
    return error(f"Binding {name} needs to be run remotely")


class RemoteFetcher(Fetcher):
    """A service of Cloudflare's."""

    js_name = "Fetcher"

    def __init__(self, name: str) -> None:
        self._name = name

    async def _js_fetch(self, request: Request) -> Response:
        raise needs_remote(self._name)

    async def _js_call(self, method: str, args: tuple[Any, ...]) -> Any:
        raise needs_remote(self._name)


class _RemoteObject(JsProxy):
    """A binding with methods of its own: each raises when it is called."""

    def __init__(self, name: str) -> None:
        self._name = name

    def js_properties(self) -> dict[str, Any]:
        return {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "then":
            raise AttributeError(name)

        def refuse(*_: Any) -> NoReturn:
            raise needs_remote(self._name)

        return JsFunction.make(refuse, name)


class Ai(_RemoteObject):
    js_name = "Ai"


class VectorizeIndexImpl(_RemoteObject):
    js_name = "VectorizeIndexImpl"


class DynamicDispatcher(_RemoteObject):
    js_name = "DynamicDispatcher"


CLASSES: dict[str, Any] = {made.js_name: made for made in (RemoteFetcher, Ai, VectorizeIndexImpl, DynamicDispatcher)}


class Fake:
    """An object of the user's, made within the worker when it is first used: attributes are its own."""

    def __init__(self, name: str, target: str) -> None:
        self._name = name
        self._target = target
        self._made: Any = None

    def __getattr__(self, attribute: str) -> Any:
        # The SDK looks at every binding for `constructor`, to tell JavaScript's from Python's objects.
        if attribute == "constructor" or (attribute.startswith("__") and attribute.endswith("__")):
            raise AttributeError(attribute)
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, attribute)

    def _make(self) -> Any:
        module, _, path = self._target.partition(":")
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        if found is None:
            raise WorkerError(f"[tool.pyflare.fakes] {self._name} = {self._target!r}: {module} has no {path}")
        return found()

    def __repr__(self) -> str:
        return f"<fake of {self._name}: {self._target}>"
