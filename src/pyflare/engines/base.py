"""What a room is, as seen by the server.

An engine (a room) serves one or more Cloudflare products for all workers of a server. It is a folder under `engines`
with the role files `config`, `binding`, `engine`, `store` and `panel`, and one word in `ENGINES`. This module holds no
logic.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from pyflare.clock import Clock
    from pyflare.config.diagnostics import Diagnostics
    from pyflare.config.model import WorkerConfig
    from pyflare.config.options import DevOptions
    from pyflare.log import Log
    from pyflare.storage.layout import Layout
    from pyflare.worker.event import Event
    from pyflare.worker.worker import Worker


@dataclass(frozen=True)
class EngineContext:
    """What every room gets from the server."""

    clock: Clock
    storage: Layout
    log: Log
    dispatch: Callable[[str, Event], Coroutine[Any, Any, Any]]  # (worker name, event) -> what the handler gave
    spawn: Callable[[Coroutine[Any, Any, Any]], Any]  # run in the background; the server awaits it when it closes
    poke: Callable[[], None]  # a deadline changed: the scheduler asks `next_due` again
    new_id: Callable[[], str]  # 32 lower-case hex digits
    workers: Callable[[], Sequence[str]]  # the names of all workers of this server


@dataclass(frozen=True)
class BindingRow:
    """One line of the table of bindings in the banner."""

    name: str  # env.NAME
    kind: str  # "KV Namespace"
    resource: str = ""  # its id or name
    where: str = "local"


@dataclass(frozen=True)
class Action:
    """Something an operator may do: a button of the dashboard, a subcommand, a REST call."""

    name: str
    run: Callable[..., Any]
    fields: Sequence[str] = ()
    danger: bool = False  # destroys something: people are asked before


@dataclass(frozen=True)
class Table:
    """`keys` and `fixed` tell which fields of actions a row fills, for buttons on rows."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    keys: Sequence[str] = ()  # the columns that name a row, which are fields of actions
    fixed: Mapping[str, Any] = field(default_factory=dict)  # fields that are the same for every row


@dataclass(frozen=True)
class Panel:
    """What a room shows of itself, as data."""

    title: str
    tables: Sequence[Table] = ()
    actions: Mapping[str, Action] = field(default_factory=dict)


# method, path template, handler(json, parameters) -> (status, json)
Route = tuple[str, str, Callable[[Any, Mapping[str, str]], Awaitable[tuple[int, Any]]]]


class Engine(Protocol):
    """A room. `configs` maps a worker's name to what `parse` gave for it. What a room does not define is the default
    here: no bindings, nothing due, nothing to say."""

    keys: ClassVar[Sequence[str]]  # the wrangler keys that the room understands
    malformed: ClassVar[int] = 10001  # the code of a call of `routes` whose body is no JSON

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Any:
        """The room's own frozen configuration of one worker; faults go to `diagnostics`, with their path."""

    @staticmethod
    def agree(configs: Mapping[str, Any]) -> None:
        """Raises ConfigError for what only the configurations of all workers together show to be wrong."""
        return None

    def __init__(self, configs: Mapping[str, Any], ctx: EngineContext) -> None: ...

    def configure(self, options: DevOptions) -> None:
        """The command line, right after construction."""
        return None

    def join(self, workers: dict[str, Worker]) -> None:
        """The server's table of workers by name, for a room that adds some."""
        return None

    def imported(self, worker: Worker) -> None:
        """Right after the import of a worker, whose surroundings are in place; raises ConfigError or WorkerError."""
        return None

    def check(self, exports: Mapping[str, Mapping[str, type]]) -> None:
        """worker -> its exported classes, after the import; raises ConfigError or WorkerError."""
        return None

    # --- for workers ----------------------------------------------------------------------------------------------

    def bindings(self, worker: str) -> Mapping[str, Any]:
        """What lands in the worker's env: name -> JavaScript value."""
        return {}

    def exports(self, worker: Worker) -> Mapping[str, Any]:
        """What lands in the worker's `ctx.exports`: class name -> JavaScript value."""
        return {}

    def listeners(self) -> Mapping[str, Callable[[Any], None]]:
        """worker -> what is told the trace of each of its events."""
        return {}

    # --- time -----------------------------------------------------------------------------------------------------

    def next_due(self) -> float | None:
        """When the room wants `run_due` next; None: not before it pokes."""
        return None

    def run_due(self, now: float) -> None:
        """Start what is due; long work goes to `ctx.spawn`."""
        return None

    def busy(self) -> Sequence[str]:
        """Names of what is in flight; empty when the room is at rest."""
        return ()

    async def pause(self) -> None:
        """Stop accepting and firing; give leased work back uncounted (a reload or the end is near)."""
        return None

    def close(self) -> None:
        """Close the files."""
        return None

    # --- for people -----------------------------------------------------------------------------------------------

    def rows(self, worker: str) -> Sequence[BindingRow]:
        """The worker's lines of the banner."""
        return ()

    def panel(self) -> Panel: ...

    def routes(self) -> Sequence[Route]:
        """REST calls below the local API."""
        return ()

    def mounts(self) -> Mapping[str, Callable[[], Any]]:
        """path prefix -> what makes the ASGI app that answers below it."""
        return {}
