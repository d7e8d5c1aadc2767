"""Lists of bindings in a configuration: `kv_namespaces`, `r2_buckets` and the like, all of one shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig

KINDS: dict[type, str] = {str: "string", int: "number", bool: "boolean", list: "array", dict: "object"}


def entries(
    config: WorkerConfig,
    key: str,
    diagnostics: Diagnostics,
    *,
    required: Mapping[str, type],
    optional: Mapping[str, type] | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The entries of the list `key`, each with its path; one that is not well formed is a fault and left out.

    `required` and `optional` say which fields have a meaning here and of which type. Of other names the schema warns.
    """
    section = config.sections.get(key)
    if section is None:
        return
    if not isinstance(section, list):
        diagnostics.fault(key, f"The field should be an array but got {_shown(section)}.")
        return
    for at, entry in enumerate(section):
        path = f"{key}[{at}]"
        if not isinstance(entry, dict):
            diagnostics.fault(path, f"bindings should be objects, but got {_shown(entry)}")
        elif check(path, entry, diagnostics, required=required, optional=optional or {}):
            yield path, entry


def single(config: WorkerConfig, key: str, diagnostics: Diagnostics) -> str | None:
    """The name of the one binding that the object `key` declares, such as `version_metadata`."""
    entry = config.sections.get(key)
    if entry is None:
        return None
    if not isinstance(entry, dict):
        diagnostics.fault(key, f"The field should be an object but got {_shown(entry)}.")
        return None
    return str(entry["binding"]) if check(key, entry, diagnostics, required={"binding": str}, optional={}) else None


def check(
    path: str,
    entry: dict[str, Any],
    diagnostics: Diagnostics,
    *,
    required: Mapping[str, type],
    optional: Mapping[str, type],
) -> bool:
    good = True
    for name, kind in required.items():
        if not _is(entry.get(name), kind) or entry.get(name) == "":
            diagnostics.fault(path, f'bindings should have a {KINDS[kind]} "{name}" field but got {_shown(entry)}.')
            good = False
    for name, kind in optional.items():
        if entry.get(name) is not None and not _is(entry[name], kind):
            diagnostics.fault(
                path, f'bindings should, optionally, have a {KINDS[kind]} "{name}" field but got {_shown(entry)}.'
            )
            good = False
    return good


def enforces_limits(config: WorkerConfig) -> bool:
    """Whether production's limits are errors: unless `limits = "warn"` under `[tool.pyflare]`."""
    return config.tool.get("limits") != "warn"


def _is(value: Any, kind: type) -> bool:
    if kind is int:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
