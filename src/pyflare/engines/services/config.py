"""`services[]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.model import WorkerConfig


@dataclass(frozen=True)
class Service:
    """One binding; `props` is JSON."""

    binding: str
    service: str
    entrypoint: str | None = None
    props: Any = None


def parse(config: WorkerConfig, diagnostics: Diagnostics) -> tuple[Service, ...]:
    found = []
    for at, entry in enumerate(config.sections.get("services") or ()):
        path = f"services[{at}]"
        if not isinstance(entry, dict):
            diagnostics.fault(path, f"expected an object with binding and service, got {entry!r}")
            continue
        for key in ("binding", "service"):
            if not isinstance(entry.get(key), str) or not entry[key]:
                diagnostics.fault(f"{path}.{key}", f"expected a string, got {entry.get(key)!r}")
        if isinstance(entry.get("binding"), str) and isinstance(entry.get("service"), str):
            found.append(Service(entry["binding"], entry["service"], entry.get("entrypoint"), entry.get("props")))
    return tuple(found)
