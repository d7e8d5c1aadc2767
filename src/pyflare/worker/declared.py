"""Which packages a worker imports without declaring them: green here, dead after the deploy otherwise.

On Cloudflare there is what `pyproject.toml` declares and what lies in `python_modules`; here every package of the
interpreter can be imported.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pyflare.config.model import WorkerConfig
from pyflare.interop.finder import FACES
from pyflare.worker.source_names import Names

OF_THE_RUNTIME = frozenset(("workers", "asgi", "pyflare", *(name.partition(".")[0] for name in FACES)))


def undeclared(config: WorkerConfig, used: Mapping[Path, Names]) -> dict[str, Path]:
    """package -> the file of the worker that imports it, for every installed package that nothing declares."""
    found: dict[str, Path] = {}
    for file, names in used.items():
        for name in names.imports:
            if name not in sys.stdlib_module_names and name not in OF_THE_RUNTIME and not is_own(name, config):
                found.setdefault(name, file)
    if not found:
        return {}
    providers = importlib.metadata.packages_distributions()
    declared = config.dependencies or frozenset()
    return {
        name: file
        for name, file in found.items()
        if name in providers and not declared.intersection(map(normalise, providers[name]))
    }


def is_own(name: str, config: WorkerConfig) -> bool:
    """Whether the worker itself has a module of this name, beside `main` or in `python_modules`."""
    assert config.main is not None
    folders = (config.main.parent, config.root / "python_modules")
    return any((folder / name).is_dir() or (folder / f"{name}.py").is_file() for folder in folders)


def normalise(name: str) -> str:
    """The name of a distribution in its one spelling (packaging.python.org, "Name normalization")."""
    return re.sub(r"[-_.]+", "-", name).lower()
