"""One worker's configuration, frozen. Engines parse their own `sections`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyflare.config.compat import enabled


@dataclass(frozen=True)
class DevSettings:
    """`dev` of the configuration; for the primary worker the command line has been applied."""

    ip: str = "localhost"
    port: int | None = None  # None: 8787, or the next free one; 0: any
    local_protocol: str = "http"
    upstream_protocol: str = "http"
    host: str | None = None  # what `request.url` shows; without `dev.host` that of the first route


@dataclass(frozen=True)
class Rule:
    """`rules[]`: files that become modules of another kind."""

    type: str  # "Text" | "Data" | …
    globs: Sequence[str]
    fallthrough: bool = True


@dataclass(frozen=True)
class Build:
    """`build`: a command to run before serving and on change."""

    command: str | None = None
    cwd: Path | None = None
    watch_dir: Sequence[Path] = ()


@dataclass(frozen=True)
class Compat:
    """The compatibility date and flags of a worker."""

    date: str
    flags: frozenset[str] = frozenset()

    def enabled(self, flag: str) -> bool:
        return enabled(self.date, self.flags, flag)


@dataclass(frozen=True)
class WorkerConfig:
    """What one configuration file says of one worker, for one environment."""

    name: str
    root: Path  # the folder of the configuration file
    path: Path | None = None  # the configuration file; None for a lone .py
    home: Path | None = None  # the project's folder, where a tool made the configuration file elsewhere
    main: Path | None = None  # the entry module; None: assets only
    module_root: Path | None = None  # what its imports start from: the folder of `main`, or `base_dir`
    compat: Compat = Compat("2026-08-01")
    strict: bool = False  # whether what Cloudflare would refuse is a fault here
    vars: Mapping[str, Any] = field(default_factory=dict)  # with secrets; str or JSON
    secrets: frozenset[str] = frozenset()  # names in `vars` whose values are not shown
    environment: str | None = None
    sections: Mapping[str, Any] = field(default_factory=dict)  # every key, after the environment was applied
    dev: DevSettings = DevSettings()
    rules: Sequence[Rule] = ()
    build: Build = Build()
    project: Path | None = None  # the folder of the project's pyproject.toml
    tool: Mapping[str, Any] = field(default_factory=dict)  # [tool.pyflare] of it
    dependencies: frozenset[str] | None = None  # normalised names that pyproject.toml declares; None: no such file
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()  # what the terminal says at start: which files the secrets come from
    watched: Sequence[Path] = ()  # files whose change means a reload: config, .dev.vars, .env, pyproject.toml
