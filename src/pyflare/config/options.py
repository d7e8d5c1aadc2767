"""What the command line of `pyflare dev` says, as data that a child process can be given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class DevOptions:
    """The flags of `pyflare dev`. None means that the flag was not given and the configuration decides.

    Relative paths are relative to `cwd`, those of `env_files` to the folder of the configuration, as in wrangler.
    """

    configs: Sequence[Path] = ()  # -c, in order; the first is the primary worker
    script: Path | None = None  # a configuration of any name, a folder, or a .py file
    env: str | None = None  # --env; without it CLOUDFLARE_ENV decides
    env_files: Sequence[Path] = ()
    vars: Mapping[str, str] = field(default_factory=dict)  # --var NAME:VALUE
    cwd: Path = field(default_factory=Path.cwd)
    ip: str | None = None
    port: int | None = None  # 0: any
    host: str | None = None  # what `request.url` shows
    persist_to: Path | None = None
    compatibility_date: str | None = None
    compatibility_flags: Sequence[str] = ()  # when given, in place of the configured ones
    name: str | None = None
    assets: Path | None = None
    local_protocol: str | None = None  # "http" | "https"
    https_key_path: Path | None = None
    https_cert_path: Path | None = None
    upstream_protocol: str | None = None  # "http" | "https": the protocol that `request.url` shows
    test_scheduled: bool = True  # whether /__scheduled answers
    cron: bool = False  # whether cron triggers fire by the clock
    reload: bool = True  # False: one process, for debuggers and profilers
    evict_after: float = 10.0  # seconds until an idle Durable Object is dropped; 0: never
    durability: str = "normal"  # "normal" | "full": the latter syncs each commit
    log_level: str = "log"
    log_format: str = "text"  # "text" | "json"
    allow_hosts: Sequence[str] = ()  # further Host names that may use the control paths
    live_reload: bool = False
    explorer: bool = True  # whether the explorer answers
    color: bool | None = None  # None: when the output is a terminal

    def to_json(self) -> str:
        """For `from_json` in another process."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> DevOptions:
        return cls(**{name: _restored(name, value) for name, value in json.loads(text).items()})


_PATHS = frozenset({"script", "cwd", "persist_to", "assets", "https_key_path", "https_cert_path"})
_PATH_LISTS = frozenset({"configs", "env_files"})


def _restored(name: str, value: Any) -> Any:
    if name in _PATH_LISTS:
        return tuple(map(Path, value))
    if name in _PATHS and value is not None:
        return Path(value)
    return tuple(value) if isinstance(value, list) else value
