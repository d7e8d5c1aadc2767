"""`assets` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig
from pyflare.engines.assets.folder import Folder
from pyflare.engines.assets.pages import HTML_HANDLING, NOT_FOUND_HANDLING
from pyflare.engines.assets.routing import Routing, parse_routing

NO_WORKER = (
    "Cannot set run_worker_first without a Worker script.\n"
    "Please remove run_worker_first from your configuration file, or provide a Worker script in your configuration "
    "file (`main`)."
)


@dataclass(frozen=True)
class AssetsConfig:
    directory: Path
    has_worker: bool
    binding: str | None = None
    html_handling: str = "auto-trailing-slash"
    not_found_handling: str = "none"
    worker_first: bool = False  # run_worker_first: true
    routing: Routing | None = None  # run_worker_first: [...]
    navigation_prefers_assets: bool = False  # the compatibility flag


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> AssetsConfig | None:
    section = config.sections.get("assets")
    if section is None:
        return None
    if not isinstance(section, dict):
        diagnostics.fault("assets", f"expected an object, got {section!r}")
        return None
    directory = _directory(section, config, diagnostics)
    if directory is None:
        return None
    has_worker = config.main is not None or diagnostics.faulty(["main"])  # what is wrong with `main` has been told
    binding = section.get("binding")
    if binding is not None and not has_worker:
        diagnostics.fault(
            "assets.binding",
            "Cannot use assets with a binding in an assets-only Worker. Please remove the asset binding from your "
            "configuration file, or provide a Worker script in your configuration file (`main`).",
        )
    first = section.get("run_worker_first", False)
    if config.strict:
        for fault in Folder(directory, HTML_HANDLING[0]).check():
            diagnostics.fault("assets.directory", fault)
    return AssetsConfig(
        directory=directory,
        has_worker=has_worker,
        binding=binding if isinstance(binding, str) else None,
        html_handling=_choice(section, "html_handling", HTML_HANDLING, diagnostics),
        not_found_handling=_choice(section, "not_found_handling", NOT_FOUND_HANDLING, diagnostics),
        worker_first=first is True,
        routing=_routing(first, has_worker, diagnostics),
        navigation_prefers_assets=config.compat.enabled("assets_navigation_prefers_asset_serving"),
    )


def _directory(section: dict[str, Any], config: WorkerConfig, diagnostics: Diagnostics) -> Path | None:
    given = section.get("directory")
    if given is None:
        diagnostics.fault(
            "assets", "The `assets` property in your configuration is missing the required `directory` property."
        )
        return None
    if not isinstance(given, str):
        diagnostics.fault("assets.directory", f"expected text, got {given!r}")
        return None
    if not given:
        diagnostics.fault("assets.directory", "The assets directory cannot be an empty string.")
        return None
    directory = config.root / given
    source = '"assets.directory" field in your configuration file'
    if not directory.exists():
        diagnostics.fault("assets.directory", f"The directory specified by the {source} does not exist:\n{directory}")
        return None
    if not directory.is_dir():
        diagnostics.fault(
            "assets.directory", f"The path specified by the {source} doesn't point to a directory:\n{directory}"
        )
        return None
    return directory.resolve()


def _choice(section: dict[str, Any], key: str, choices: Any, diagnostics: Diagnostics) -> str:
    value = section.get(key, choices[0])
    if value not in choices:
        allowed = ", ".join(f'"{choice}"' for choice in choices)
        diagnostics.fault(f"assets.{key}", f"expected one of {allowed}, got {value!r}")
        return str(choices[0])
    return str(value)


def _routing(rules: Any, has_worker: bool, diagnostics: Diagnostics) -> Routing | None:
    if rules and not has_worker:
        diagnostics.fault("assets.run_worker_first", NO_WORKER)
    if isinstance(rules, bool):
        return None
    if not isinstance(rules, list):
        diagnostics.fault("assets.run_worker_first", f"expected true, false or a list of rules, got {rules!r}")
        return None
    if not all(isinstance(rule, str) for rule in rules):
        diagnostics.fault("assets.run_worker_first", "expected a list of texts")
        return None
    routing, fault = parse_routing(rules)
    if fault is not None:
        diagnostics.fault("assets.run_worker_first", fault)
    return routing
