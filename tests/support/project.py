"""A worker's folder under construction, for tests of the configuration and of the command line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyflare.config.load import load_workers
from pyflare.config.model import WorkerConfig
from pyflare.config.options import DevOptions
from pyflare.errors import ConfigError

COMPLETE: Mapping[str, Any] = {
    "name": "shop",
    "main": "src/entry.py",
    "compatibility_date": "2026-08-01",
    "compatibility_flags": ["python_workers"],
}
ENTRY = "from workers import WorkerEntrypoint\n\n\nclass Default(WorkerEntrypoint):\n    pass\n"


class Project:
    """`project.configure(vars={…})` writes a configuration without faults, and these keys in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("src/entry.py", ENTRY)
        self.write(".git", "")  # no pyproject.toml above is ours

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def configure(self, file: str = "wrangler.jsonc", **keys: Any) -> Path:
        """Keys that are None are left out."""
        data = {key: value for key, value in {**COMPLETE, **keys}.items() if value is not None}
        return self.write(file, json.dumps(data, ensure_ascii=False))

    def load(self, environ: Mapping[str, str] | None = None, **options: Any) -> WorkerConfig:
        """The primary worker, as `pyflare dev` in this folder sees it."""
        return load_workers(DevOptions(cwd=self.root, **options), environ or {})[0]

    def faults(self, environ: Mapping[str, str] | None = None, **options: Any) -> list[str]:
        with pytest.raises(ConfigError) as raised:
            self.load(environ, **options)
        return list(raised.value.faults)

    def warnings(self, **options: Any) -> list[str]:
        return list(self.load(**options).warnings)
