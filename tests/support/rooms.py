"""What an engine's test needs around the engine: a context with a fake clock, and promises that are settled."""

from __future__ import annotations

import asyncio
import io
import itertools
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from pyflare.clock import FakeClock
from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import Compat, WorkerConfig
from pyflare.engines.base import EngineContext
from pyflare.interop.convert import from_entries, to_js
from pyflare.interop.errors import JsException
from pyflare.log import Log
from pyflare.storage.layout import Layout
from pyflare.worker.event import Event

NOW = 1_700_000_000.0

Room = TypeVar("Room", covariant=True)
Parsed = TypeVar("Parsed")


class RoomClass(Protocol[Room]):
    """The part of an engine's class that `Bench.open` uses."""

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Any: ...

    def __call__(self, configs: Mapping[str, Any], ctx: EngineContext) -> Room: ...


@dataclass
class Bench:
    """A folder, a clock and a terminal for one engine."""

    folder: Path
    clock: FakeClock = field(default_factory=lambda: FakeClock(NOW))
    terminal: io.StringIO = field(default_factory=io.StringIO)
    dispatched: list[tuple[str, Event]] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    workers: list[str] = field(default_factory=lambda: ["w"])
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))  # ids go on when a room is opened again

    @property
    def context(self) -> EngineContext:
        async def dispatch(worker: str, event: Event) -> Any:
            self.dispatched.append((worker, event))
            answer = self.answers.get(worker)
            return await answer(event) if callable(answer) else answer

        return EngineContext(
            clock=self.clock,
            storage=Layout(self.folder / "v3"),
            log=Log(out=self.terminal),
            dispatch=dispatch,
            spawn=lambda work: asyncio.get_running_loop().create_task(work),
            poke=lambda: None,
            new_id=lambda: f"{next(self.numbers):032x}",
            workers=lambda: self.workers,
        )

    def config(self, sections: Mapping[str, Any], **fields: Any) -> WorkerConfig:
        settings: dict[str, Any] = {"main": self.folder / "entry.py", "compat": Compat("2026-08-01"), **fields}
        return WorkerConfig(name="w", root=self.folder, sections=sections, **settings)

    def open(self, room: RoomClass[Room], sections: Mapping[str, Any], **fields: Any) -> Room:
        """The engine, for one worker named w with these sections."""
        diagnostics = Diagnostics()
        parsed = room.parse(self.config(sections, **fields), diagnostics)
        diagnostics.check()
        return room({"w": parsed}, self.context)


def faults(room: RoomClass[Any], config: WorkerConfig) -> Diagnostics:
    """What the engine says of a configuration."""
    diagnostics = Diagnostics()
    room.parse(config, diagnostics)
    return diagnostics


def js(value: Any) -> Any:
    """A JavaScript value, as the SDK makes it of a Python one."""
    return to_js(value, dict_converter=from_entries)


def run(work: Coroutine[Any, Any, Parsed]) -> Parsed:
    return asyncio.run(work)


def settle(promise: Any) -> Any:
    """The value of a promise that needs no loop; raises its reason."""
    assert promise.settled
    return promise.result()


def refusal(promise: Any) -> str:
    """The error that such a promise is rejected with."""
    with pytest.raises(JsException) as raised:
        settle(promise)
    return str(raised.value)
