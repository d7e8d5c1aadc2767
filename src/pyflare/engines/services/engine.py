"""Looks up services by name at call time; keeps no state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel, Table
from pyflare.engines.services import config
from pyflare.engines.services.binding import ServiceBinding
from pyflare.engines.services.config import Service
from pyflare.worker.worker import Worker


class Services(Engine):
    keys: ClassVar[Sequence[str]] = ("services",)
    parse = staticmethod(config.parse)

    def __init__(self, configs: Mapping[str, tuple[Service, ...]], ctx: EngineContext) -> None:
        self._configs = {worker: services or () for worker, services in configs.items()}
        self._ctx = ctx

    def bindings(self, worker: str) -> Mapping[str, ServiceBinding]:
        return {service.binding: ServiceBinding.make(service, self._ctx) for service in self._configs[worker]}

    def exports(self, worker: Worker) -> Mapping[str, ServiceBinding]:
        """For `ctx.exports`: a loopback binding to each entrypoint class."""
        base = worker.sdk.WorkerEntrypoint
        return {
            name: ServiceBinding.make(Service(name, worker.name, name), self._ctx)
            for name, cls in worker.exports.items()
            if issubclass(cls, base)
        }

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(service.binding, "Worker", _target(service), self._connected(service))
            for service in self._configs[worker]
        ]

    def _connected(self, service: Service) -> str:
        return "local [connected]" if service.service in self._ctx.workers() else "local [not connected]"

    def panel(self) -> Panel:
        rows = [
            (worker, service.binding, _target(service), self._connected(service))
            for worker, services in self._configs.items()
            for service in services
        ]
        return Panel("Services", [Table("Bindings", ("Worker", "Binding", "Service", "State"), rows)])


def _target(service: Service) -> str:
    return f"{service.service}#{service.entrypoint}" if service.entrypoint else service.service
