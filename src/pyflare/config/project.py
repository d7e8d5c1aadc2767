"""What the project's `pyproject.toml` says: `[tool.pyflare]`, and which packages are deployed with the worker."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.read import parse_toml, read_text
from pyflare.config.shapes import Shape, check_fields, flag, mapping, number, one_of
from pyflare.errors import ConfigError

_REQUIREMENT = r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
_SEPARATORS = r"[-_.]+"

SETTINGS: Mapping[str, Shape] = {
    "strict": flag,  # refuse handlers that Cloudflare would not find
    "limits": one_of("error", "warn"),  # "warn" lets a worker pass production's limits
    "fakes": mapping,  # read by the room of what only Cloudflare has
    "evict_after": number,  # read by the room of Durable Objects
    "queues": mapping,  # read by the room of queues
}


@dataclass(frozen=True)
class Project:
    """Without a `pyproject.toml`: no path, and dependencies None."""

    path: Path | None = None
    tool: Mapping[str, Any] = field(default_factory=dict)
    dependencies: frozenset[str] | None = None


def read_project(root: Path, diagnostics: Diagnostics) -> Project:
    """The nearest `pyproject.toml` from `root` up, not above the repository."""
    path = _nearest(root)
    if path is None:
        return Project()
    try:
        data = parse_toml(read_text(path, path), path)
    except ConfigError as error:
        diagnostics.fault("", str(error))
        return Project(path)
    tool = _table(_table(data, "tool"), "pyflare")
    own = Diagnostics()
    check_fields(tool, SETTINGS, "", "[tool.pyflare] of pyproject.toml", own)
    for fault in own.faults:
        diagnostics.fault("", f"pyproject.toml: tool.pyflare.{fault}")
    for warning in own.warnings:
        diagnostics.warn(warning)
    return Project(path, tool, _dependencies(_table(data, "project")))


def normalised(name: str) -> str:
    """A package's name as PyPI compares it."""
    return re.sub(_SEPARATORS, "-", name).lower()


def _nearest(root: Path) -> Path | None:
    for folder in (root, *root.parents):
        if (folder / "pyproject.toml").is_file():
            return folder / "pyproject.toml"
        if (folder / ".git").exists():
            return None
    return None


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _dependencies(project: Mapping[str, Any]) -> frozenset[str]:
    """Only `project.dependencies` are deployed; groups and extras are for the developer."""
    listed = project.get("dependencies")
    matches = (
        [re.match(_REQUIREMENT, item) for item in listed if isinstance(item, str)] if isinstance(listed, list) else []
    )
    return frozenset(normalised(match[1]) for match in matches if match)
