"""The room of what only Cloudflare has."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.remote.binding import CLASSES
from pyflare.engines.remote.config import PRODUCTS, TABLE, RemoteBinding, RemoteConfig, advice, parse
from pyflare.engines.remote.fake import Fake, class_of, importable
from pyflare.interop.errors import JsException, error

if TYPE_CHECKING:
    from pyflare.worker.worker import Worker


class Remote(Engine):
    keys: ClassVar[Sequence[str]] = (*PRODUCTS, TABLE)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> RemoteConfig:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, RemoteConfig], ctx: EngineContext) -> None:
        self._configs = configs
        self._ctx = ctx
        self._warn_of_strangers()

    def _warn_of_strangers(self) -> None:
        """Of fakes that nothing needs; no fault, for a pyproject.toml may serve several workers and environments."""
        names = {binding.name for config in self._configs.values() for binding in config.bindings}
        for name in dict.fromkeys(name for config in self._configs.values() for name in config.fakes):
            if name not in names:
                there = ", ".join(sorted(names)) or "none"
                text = f"pyproject.toml: {TABLE}.{name}: no binding of that name needs a fake; those that do: {there}"
                self._ctx.log.once("warn", text, text)

    def bindings(self, worker: str) -> Mapping[str, Any]:
        return {binding.name: self._binding(binding) for binding in self._configs[worker].bindings}

    def _binding(self, binding: RemoteBinding) -> Any:
        if binding.fake is not None:
            return Fake(binding.name, binding.fake)
        return CLASSES[binding.product.js_name].make(functools.partial(self._refusal, binding.name))

    def _refusal(self, name: str) -> JsException:
        self._ctx.log.once("warn", f"remote {name}", f"env.{name} is only on Cloudflare. {advice(name)}")
        return error(f"Binding {name} needs to be run remotely")

    def imported(self, worker: Worker) -> None:
        """Find the classes of fakes now, so that the start tells what is wrong with them."""
        fakes = [(one.name, one.fake) for one in self._configs[worker.name].bindings if one.fake is not None]
        if fakes:
            with importable(worker):
                for name, fake in fakes:
                    class_of(name, fake)

    def rows(self, worker: str) -> Sequence[BindingRow]:
        return [
            BindingRow(
                binding.name,
                binding.product.title,
                binding.fake or "",
                "not supported" if binding.fake is None else "fake",
            )
            for binding in self._configs[worker].bindings
        ]

    def panel(self) -> Panel:
        return Panel("Remote only")
