"""For the tests of the web platform: run a coroutine, read an error, be inside of a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from pyflare.clock import FakeClock
from pyflare.interop import scope
from pyflare.interop.convert import to_js
from pyflare.interop.errors import JsException

NOTHING: dict[str, Any] = {}  # `NOTHING["x"]` raises in a lambda


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(_await(work))


async def _await(work: Callable[[], Awaitable[Any]]) -> Any:
    return await work()


def thrown(call: Callable[[], Any]) -> str:
    """The text of the JavaScript error that `call` raises: "Name: message"."""
    with pytest.raises(JsException) as raised:
        call()
    return str(raised.value)


async def rejection(promise: Awaitable[Any]) -> str:
    """The text of the JavaScript error that a promise is rejected with."""
    with pytest.raises(JsException) as raised:
        await promise
    return str(raised.value)


def pairs(iterable: Any) -> list[list[Any]]:
    return [list(pair) for pair in iterable]


class Bag:
    """An object with the given attributes, as user code makes one for `create_proxy`."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Gate:
    """A Durable Object's gate that a test opens by hand."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] = []
        self.kept: list[Any] = []
        self.dirty = True

    def waits(self) -> None:
        return None

    def unconfirmed(self) -> None:
        return None

    def hold(self, action: Callable[[], None]) -> bool:
        if self.dirty:
            self.held.append(action)
        return self.dirty

    def began(self, task: Any) -> None:
        pass

    def keep(self, channel: Any) -> None:
        self.kept.append(channel)

    def commit(self) -> None:
        self.dirty = False
        for action in self.held:
            action()


@contextmanager
def inside_worker(
    without: Collection[str] = (), gate: Gate | None = None, console: list[tuple[str, str]] | None = None
) -> Iterator[scope.Scope]:
    """As code of a worker whose compatibility flags are all on but `without`."""
    worker = SimpleNamespace(name="shop", compat=SimpleNamespace(enabled=lambda flag: flag not in without), portal=None)
    if console is not None:
        worker.on_console = lambda level, text: console.append((level, text))
    running = scope.Scope(worker, FakeClock(), lambda work: None, gate)
    token = scope.current.set(running)
    try:
        yield running
    finally:
        scope.current.reset(token)


def js(value: Any) -> Any:
    return to_js(value)
