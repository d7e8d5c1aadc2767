"""The sections of bindings that cannot be local, and `[tool.pyflare.fakes]`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig


@dataclass(frozen=True)
class Product:
    """A kind of binding: what people call it, and the name of its class in JavaScript."""

    title: str
    js_name: str = "Fetcher"


PRODUCTS: Mapping[str, Product] = {
    "agent_memory": Product("Agent Memory"),
    "ai": Product("AI", "Ai"),
    "ai_search": Product("AI Search"),
    "ai_search_namespaces": Product("AI Search Namespace"),
    "artifacts": Product("Artifacts"),
    "browser": Product("Browser"),
    "dispatch_namespaces": Product("Dispatch Namespace", "DynamicDispatcher"),
    "flagship": Product("Flagship"),
    "media": Product("Media"),
    "mtls_certificates": Product("mTLS Certificate"),
    "stream": Product("Stream"),
    "vectorize": Product("Vectorize Index", "VectorizeIndexImpl"),
    "vpc_networks": Product("VPC Network"),
    "vpc_services": Product("VPC Service"),
    "websearch": Product("Web Search"),
}

FAKE = re.compile(r"[\w.]+:[\w.]+")


@dataclass(frozen=True)
class RemoteBinding:
    name: str
    product: Product
    fake: str | None = None  # "module:Class"


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> Sequence[RemoteBinding]:
    fakes = _fakes(config.tool.get("fakes"), diagnostics)
    bindings = []
    for key, product in PRODUCTS.items():
        section = config.sections.get(key)
        for path, entry in _entries(key, section):
            name = entry.get("binding") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not name:
                diagnostics.fault(path, f'bindings should have a string "binding" field but got {entry!r}.')
                continue
            bindings.append(RemoteBinding(name, product, fakes.get(name)))
    for product in dict.fromkeys(binding.product for binding in bindings if binding.fake is None):
        diagnostics.warn(
            f"{product.title} bindings do not support local development, and so parts of your Worker may not work "
            "correctly. Name a class of your own under [tool.pyflare.fakes] in pyproject.toml to take its place."
        )
    return bindings


def _entries(key: str, section: Any) -> Sequence[tuple[str, Any]]:
    if section is None:
        return ()
    if isinstance(section, list):
        return [(f"{key}[{at}]", entry) for at, entry in enumerate(section)]
    return [(key, section)]


def _fakes(section: Any, diagnostics: Diagnostics) -> dict[str, str]:
    if section is None:
        return {}
    if not isinstance(section, dict):
        diagnostics.fault("tool.pyflare.fakes", f"must be a table, not {section!r}")
        return {}
    for name, target in section.items():
        if not isinstance(target, str) or not FAKE.fullmatch(target):
            diagnostics.fault(f"tool.pyflare.fakes.{name}", f'must be "module:Class", not {target!r}')
    return {name: target for name, target in section.items() if isinstance(target, str)}
