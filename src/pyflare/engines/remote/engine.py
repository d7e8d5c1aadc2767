"""The room of what only Cloudflare has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.remote.binding import CLASSES, Fake
from pyflare.engines.remote.config import PRODUCTS, RemoteBinding, parse


class Remote(Engine):
    keys: ClassVar[Sequence[str]] = tuple(PRODUCTS)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[RemoteBinding]:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, Sequence[RemoteBinding]], ctx: EngineContext) -> None:
        self._configs = configs

    def bindings(self, worker: str) -> Mapping[str, Any]:
        return {
            binding.name: CLASSES[binding.product.js_name].make(binding.name)
            if binding.fake is None
            else Fake(binding.name, binding.fake)
            for binding in self._configs[worker]
        }

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(
                binding.name,
                binding.product.title,
                binding.fake or "",
                "not supported" if binding.fake is None else "fake",
            )
            for binding in self._configs[worker]
        ]

    def panel(self) -> Panel:
        return Panel("Remote only")
