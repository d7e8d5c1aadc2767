"""One worker, loaded: its configuration, its env and what its main module exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pyflare.interop.proxy import JsObject

if TYPE_CHECKING:
    from pyflare.clock import Clock
    from pyflare.config.model import Compat, WorkerConfig
    from pyflare.worker.trace import Trace


class Sdk:
    """The names of the SDK that the runtime needs; the SDK is the one that the worker imports."""

    def __init__(self, workers: ModuleType, rpc: ModuleType) -> None:
        self.Request = workers.Request
        self.Response = workers.Response
        self.WorkerEntrypoint = workers.WorkerEntrypoint
        self.DurableObject = workers.DurableObject
        self.WorkflowEntrypoint = workers.WorkflowEntrypoint
        self.python_from_rpc: Callable[[Any], Any] = rpc.python_from_rpc
        self.python_to_rpc: Callable[[Any], Any] = rpc.python_to_rpc
        self.wrap_env: Callable[[Any], Any] = rpc._EnvWrapper


@dataclass
class Worker:
    """`exports` maps the names of exported classes to them; `handlers` those of module-level functions."""

    config: WorkerConfig
    clock: Clock
    env: Any = field(default_factory=JsObject.make)
    sdk: Any = None
    exports: Mapping[str, type] = field(default_factory=dict)
    handlers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    modules: dict[str, ModuleType] = field(default_factory=dict)  # the worker's own, for activation
    path: list[str] = field(default_factory=list)  # what precedes the process's sys.path
    host: Worker | None = None  # whose surroundings this one shares, when another worker loaded it
    outbound: Any = None  # where `fetch` goes: None to the network, null nowhere, else a Fetcher
    portal: Any = None  # the `portal.Portal` that its tasks run in
    caches_of: Callable[[], Any] | None = None
    loopback_of: Callable[[], Any] | None = None
    arities: dict[tuple[Any, str], int] = field(default_factory=dict)
    hints: set[str] = field(default_factory=set)  # what the worker's author was told once
    tail: Callable[[Trace], None] | None = None  # hears of each event that has ended; None: nobody tails the worker

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def compat(self) -> Compat:
        return self.config.compat

    @property
    def caches(self) -> Any:
        return self.caches_of() if self.caches_of else None

    def loopback(self) -> Any:
        """`ctx.exports`."""
        return self.loopback_of() if self.loopback_of else JsObject.make()

    def handler_names(self) -> set[str]:
        """The events that the default entrypoint answers."""
        default = self.exports.get("Default")
        own = {name for name in EVENTS if default is not None and callable(getattr(default, name, None))}
        return own | {name.removeprefix("on_") for name in self.handlers}


EVENTS = ("fetch", "queue", "scheduled", "email", "tail", "test")
