"""The assets room: one site per worker that has a folder of assets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.find import shown
from pyflare.config.model import WorkerConfig
from pyflare.config.options import DevOptions
from pyflare.engines.assets.binding import AssetsFetcher
from pyflare.engines.assets.config import AssetsConfig, parse
from pyflare.engines.assets.folder import Stamp
from pyflare.engines.assets.rules import HeaderRules, Redirects, invalid, valid
from pyflare.engines.assets.site import Site
from pyflare.engines.base import BindingRow, Engine, EngineContext, Panel, Table
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response


class Assets(Engine):
    keys: ClassVar[Sequence[str]] = ("assets",)

    @staticmethod
    def parse(config: WorkerConfig, diagnostics: Diagnostics) -> AssetsConfig | None:
        return parse(config, diagnostics)

    def __init__(self, configs: Mapping[str, AssetsConfig | None], ctx: EngineContext) -> None:
        self._ctx = ctx
        self._configs = {worker: config for worker, config in configs.items() if config is not None}
        self._sites = {worker: Site(config, self._heard) for worker, config in self._configs.items()}
        self._cwd = Path()
        for site in self._sites.values():
            for fault in site.folder.check():
                ctx.log.once("warn", fault, fault)

    def configure(self, options: DevOptions) -> None:
        self._cwd = options.cwd
        for site in self._sites.values():
            site.folder.read_rules()

    async def route(self, worker: str, request: Request) -> Response | None:
        """The answer to a request from outside; None: it goes to the worker. The request stays untouched."""
        site = self._sites.get(worker)
        return None if site is None else site.route(request)

    def bindings(self, worker: str) -> Mapping[str, Any]:
        config = self._configs.get(worker)
        if config is None or config.binding is None:
            return {}
        return {config.binding: AssetsFetcher.make(self._sites[worker])}

    def rows(self, worker: str) -> Sequence[BindingRow]:
        config = self._configs.get(worker)
        if config is None or config.binding is None:
            return ()
        return [BindingRow(config.binding, "Assets", str(config.directory))]

    def panel(self) -> Panel:
        rows = [
            [worker, str(config.directory), config.html_handling, config.not_found_handling]
            for worker, config in self._configs.items()
        ]
        return Panel("Assets", [Table("Sites", ("worker", "directory", "html_handling", "not_found_handling"), rows)])

    def _heard(self, path: Path, stamp: Stamp, rules: HeaderRules | Redirects) -> None:
        """Say what is in a file of rules, a single time for each state of the file."""
        self._ctx.log.once("info", f"valid {path} {stamp}", valid(rules))
        faults = invalid(rules, str(shown(path, self._cwd)))
        if faults is not None:
            self._ctx.log.once("warn", f"invalid {path} {stamp}", faults)
