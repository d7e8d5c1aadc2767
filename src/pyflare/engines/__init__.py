"""The rooms. A new one is a folder here and one line in `ENGINES`: its name and the wrangler keys that wake it.

A room whose keys no configuration has is not imported until it is asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyflare.config.diagnostics import Diagnostics
    from pyflare.config.model import WorkerConfig

ENGINES: dict[str, tuple[str, ...]] = {
    "analytics": ("analytics_engine_datasets",),
    "assets": ("assets",),
    "cache": (),
    "cron": ("triggers",),
    "d1": ("d1_databases",),
    "durable_objects": ("durable_objects", "migrations", "exports"),
    "email": ("send_email",),
    "hyperdrive": ("hyperdrive",),
    "images": ("images",),
    "kv": ("kv_namespaces",),
    "loaders": ("worker_loaders",),
    "pipelines": ("pipelines",),
    "queues": ("queues",),
    "r2": ("r2_buckets",),
    "ratelimit": ("ratelimits",),
    "remote": (
        "agent_memory",
        "ai",
        "ai_search",
        "ai_search_namespaces",
        "artifacts",
        "browser",
        "dispatch_namespaces",
        "flagship",
        "media",
        "mtls_certificates",
        "stream",
        "tool.pyflare.fakes",
        "vectorize",
        "vpc_networks",
        "vpc_services",
        "websearch",
    ),
    "secrets": ("secrets_store_secrets",),
    "services": ("services",),
    "tails": ("streaming_tail_consumers", "tail_consumers"),
    "version_metadata": ("version_metadata",),
    "workflows": ("workflows",),
}


def load(name: str) -> Any:
    """The engine class of a room."""
    return importlib.import_module(f"pyflare.engines.{name}").ENGINE


def awake(sections: Iterable[str]) -> list[str]:
    """The rooms that these keys of the configurations need, in the order of the table."""
    present = set(sections)
    return [name for name, keys in ENGINES.items() if present.intersection(keys)]


def sections(config: WorkerConfig) -> list[str]:
    """The keys of a configuration that have a value, with those of pyproject.toml as `tool.pyflare.key`."""
    own = [f"tool.pyflare.{key}" for key, value in config.tool.items() if value]
    return [key for key, value in config.sections.items() if value] + own


def examine(config: WorkerConfig, diagnostics: Diagnostics) -> None:
    """Let each room look at its sections; those with a wrong type are left out, for that has been told."""
    for name in awake(sections(config)):
        engine = load(name)
        if not diagnostics.faulty(engine.keys):
            engine.parse(config, diagnostics)
