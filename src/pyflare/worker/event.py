"""What can happen to a worker. An event is data; `worker.dispatch` turns it into a call of the user's handler.

Values inside events and their results are JavaScript values of the layer; exceptions are what the handler raised.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyflare.interop.scope import Gate


@dataclass(frozen=True, slots=True)
class Event:
    """The root of all events."""


@dataclass(frozen=True, slots=True)
class Fetch(Event):
    """A request; gives a `web.response.Response`. Work given to waitUntil goes on after the answer."""

    request: Any
    entrypoint: str | None = None
    props: Any = None


@dataclass(frozen=True, slots=True)
class Scheduled(Event):
    """A cron trigger; gives None after the handler and its waitUntil work, or raises what either raised."""

    controller: Any


@dataclass(frozen=True, slots=True)
class Queue(Event):
    """A batch of a queue; as `Scheduled`."""

    batch: Any


@dataclass(frozen=True, slots=True)
class Handler(Event):
    """Any other handler that takes one argument: `email`, `tail`; as `Scheduled`."""

    name: str
    argument: Any


@dataclass(frozen=True, slots=True)
class Rpc(Event):
    """A method of an entrypoint class, called by a service binding; gives the cloned result."""

    method: str
    args: tuple[Any, ...]
    entrypoint: str | None = None
    props: Any = None


@dataclass(frozen=True, slots=True)
class Enter(Event):
    """Run `enter(cls)` as the worker's code, with `cls` the exported class: Durable Objects and workflows do all of
    their constructing and calling through it. An awaitable result is awaited, within the same scope."""

    class_name: str
    enter: Callable[[type], Any]
    gate: Gate | None = None
    label: str = ""
    background: Callable[[Awaitable[Any]], None] | None = None  # where waitUntil goes; None: this event keeps it
    counts: bool = True  # False: the room itself says when this event is busy
    about: Event | None = None  # what those who tail the worker are told of it; None: nothing
