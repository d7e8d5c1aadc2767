"""The sections of bindings that cannot be local, and `[tool.pyflare.fakes]`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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

TABLE = "tool.pyflare.fakes"
FAKE = re.compile(r"[\w.]+:[\w.]+")


@dataclass(frozen=True)
class RemoteBinding:
    name: str
    product: Product
    fake: str | None = None  # "module:Class"


@dataclass(frozen=True)
class RemoteConfig:
    bindings: Sequence[RemoteBinding] = ()
    fakes: Mapping[str, str] = field(default_factory=dict)  # binding -> "module:Class"


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> RemoteConfig:
    fakes = _fakes(config.tool.get("fakes"), diagnostics)
    bindings: list[RemoteBinding] = []
    for key, product in PRODUCTS.items():
        section = config.sections.get(key)
        for path, entry in _entries(key, section):
            name = entry.get("binding") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not name:
                diagnostics.fault(path, f'bindings should have a string "binding" field but got {entry!r}.')
                continue
            bindings.append(RemoteBinding(name, product, fakes.get(name)))
    unfaked = [binding for binding in bindings if binding.fake is None]
    for product in dict.fromkeys(binding.product for binding in unfaked):
        first = next(binding.name for binding in unfaked if binding.product is product)
        diagnostics.warn(
            f"{product.title} bindings do not support local development, and so parts of your Worker may not work "
            f"correctly. {advice(first)}"
        )
    return RemoteConfig(bindings, fakes)


def advice(name: str) -> str:
    """How to put something in the place of a binding."""
    made = name.title().replace("_", "")
    return (
        "To go on without it, name a class of your own in pyproject.toml:\n"
        f'    [{TABLE}]\n    {name} = "tests.fakes:{made}"  # the class {made} of tests/fakes.py'
    )


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
        return {}  # which was told where pyproject.toml was read
    for name, target in section.items():
        if not isinstance(target, str) or not FAKE.fullmatch(target):
            diagnostics.fault("", f'pyproject.toml: {TABLE}.{name}: must be "module:Class", not {target!r}')
    return {name: target for name, target in section.items() if isinstance(target, str)}
