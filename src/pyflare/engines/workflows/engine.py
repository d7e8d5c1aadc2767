"""The workflows room: puts together rows, instances in memory and what may be done to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.workflows import panel
from pyflare.engines.workflows.actions import actions
from pyflare.engines.workflows.awake import Awake
from pyflare.engines.workflows.binding import WorkflowImpl
from pyflare.engines.workflows.config import Workflow, WorkflowsConfig, parse
from pyflare.engines.workflows.history import History, history
from pyflare.engines.workflows.operations import Operations
from pyflare.engines.workflows.rest import Route, routes
from pyflare.engines.workflows.store import Store
from pyflare.errors import ConfigError


class Workflows(Engine):
    keys: ClassVar[Sequence[str]] = ("workflows",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> WorkflowsConfig:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, WorkflowsConfig], ctx: EngineContext) -> None:
        self._configs = configs
        self._ctx = ctx
        self.definitions = _definitions(configs)
        self._store = Store(ctx.storage.own("workflows"), ctx.storage.durability)
        self._awake = Awake(self._store, ctx, self.definitions)
        self._awake.enforce_limits = all(config.enforce_limits for config in configs.values())
        self.operations = Operations(self._awake)

    @property
    def strict(self) -> bool:
        """Whether a replay that differs from what was recorded ends the instance; in tests it does."""
        return self._awake.strict

    @strict.setter
    def strict(self, strict: bool) -> None:
        self._awake.strict = strict

    def check(self, exports: Mapping[str, Mapping[str, type]]) -> None:
        """Every class that the configuration names must be there."""
        faults = [
            f'Workflow "{name}": {worker} has no class {workflow.class_name!r} (it has {", ".join(exports[worker])})'
            for name, (worker, workflow) in self.definitions.items()
            if worker in exports and exports[worker] and workflow.class_name not in exports[worker]
        ]
        if faults:
            raise ConfigError(*faults)

    def bound(self, worker: str) -> Sequence[Workflow]:
        return self._configs[worker].workflows

    def bindings(self, worker: str) -> Mapping[str, Any]:
        return {
            workflow.binding: WorkflowImpl.make(self.operations, workflow.name)
            for workflow in self._configs[worker].workflows
        }

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(workflow.binding, "Workflow", f"{workflow.class_name} ({workflow.name})")
            for workflow in self._configs[worker].workflows
        ]

    def history(self, workflow: str, name: str) -> History:
        return history(self.operations, workflow, name)

    def next_due(self) -> float | None:
        return self._awake.next_due()

    def run_due(self, now: float) -> None:
        self._awake.run_due(now)

    def busy(self) -> Sequence[str]:
        return self._awake.busy()

    def panel(self) -> Panel:
        return panel.of(self.operations, self.definitions, actions(self))

    def routes(self) -> Sequence[Route]:
        """(method, path below the explorer's API, handler)."""
        return routes(self)

    async def pause(self) -> None:
        await self._awake.pause()

    def close(self) -> None:
        self._store.close()


def _definitions(configs: Mapping[str, WorkflowsConfig]) -> dict[str, tuple[str, Workflow]]:
    """workflow -> (the worker that has its class, what that worker says of it); bindings to another worker's follow
    that worker's word."""
    found: dict[str, tuple[str, Workflow]] = {}
    for worker, config in configs.items():
        for workflow in config.workflows:
            if workflow.script_name is None:
                if workflow.name in found:
                    raise ConfigError(
                        f'Workers {found[workflow.name][0]} and {worker} both have a workflow "{workflow.name}"'
                    )
                found[workflow.name] = (worker, workflow)
    for config in configs.values():
        for workflow in config.workflows:
            if workflow.script_name is not None and workflow.script_name in configs:
                found.setdefault(workflow.name, (workflow.script_name, workflow))
    return found
