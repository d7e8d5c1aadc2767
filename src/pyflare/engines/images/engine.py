"""The room of images: it keeps nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.entries import single
from pyflare.config.model import WorkerConfig
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel
from pyflare.engines.images.binding import ImagesBindingImpl


class Images(Engine):
    keys: ClassVar[Sequence[str]] = ("images",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> str | None:
        """The name of the binding."""
        return single(config, "images", diagnostics)

    def __init__(self, configs: Mapping[str, str | None], ctx: EngineContext) -> None:
        self._names = configs

    def bindings(self, worker: str) -> Mapping[str, Any]:
        name = self._names.get(worker)
        return {} if name is None else {name: ImagesBindingImpl.make()}

    def rows(self, worker: str) -> Sequence[BindingRow]:
        name = self._names.get(worker)
        return () if name is None else (BindingRow(name, "Images"),)

    def panel(self) -> Panel:
        return Panel("Images")
