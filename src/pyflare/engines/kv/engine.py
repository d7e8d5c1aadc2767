"""The KV room: namespaces of all workers, each opened when it is first used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.kv import panel
from pyflare.engines.kv.binding import KvNamespace
from pyflare.engines.kv.config import KvBinding, KvConfig, parse
from pyflare.engines.kv.namespace import Namespace
from pyflare.engines.kv.store import open_namespace


class Kv(Engine):
    keys: ClassVar[Sequence[str]] = ("kv_namespaces",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> KvConfig:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, KvConfig], ctx: EngineContext) -> None:
        self._configs = configs
        self._ctx = ctx
        self._namespaces: dict[str, Namespace] = {}

    def namespace(self, namespace_id: str, enforce_limits: bool = True) -> Namespace:
        """The namespace of an id, whether or not a worker is bound to it."""
        namespace = self._namespaces.get(namespace_id)
        if namespace is None:
            store = open_namespace(self._ctx.storage, namespace_id)
            namespace = Namespace(store, self._ctx.clock.now, self._warn, enforce_limits)
            self._namespaces[namespace_id] = namespace
        return namespace

    @property
    def namespace_ids(self) -> Sequence[str]:
        """The ids that workers are bound to, in the order of the configuration."""
        found = (binding.namespace for config in self._configs.values() for binding in config.bindings)
        return list(dict.fromkeys(found))

    @property
    def titles(self) -> Mapping[str, str]:
        """Namespace id -> the name of its first binding."""
        found: dict[str, str] = {}
        for config in self._configs.values():
            for binding in config.bindings:
                found.setdefault(binding.namespace, binding.name)
        return found

    def bound(self, worker: str) -> Sequence[KvBinding]:
        return self._configs[worker].bindings

    def bindings(self, worker: str) -> Mapping[str, Any]:
        config = self._configs[worker]
        return {
            binding.name: KvNamespace.make(self.namespace(binding.namespace, config.enforce_limits))
            for binding in config.bindings
        }

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(binding.name, "KV Namespace", binding.namespace) for binding in self._configs[worker].bindings
        ]

    def panel(self) -> Panel:
        return panel.of(self, self._ctx.clock.now())

    def close(self) -> None:
        for namespace in self._namespaces.values():
            namespace.store.close()
        self._namespaces.clear()

    def _warn(self, text: str) -> None:
        self._ctx.log.once("warn", text, text)
