"""Which packages a worker imports without declaring them: green here, dead after the deploy otherwise.

On Cloudflare there is what `pyproject.toml` declares and what lies in `python_modules`; here every package of the
interpreter can be imported.
"""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from pyflare.config.model import WorkerConfig
from pyflare.interop.finder import FACES

OF_THE_RUNTIME = frozenset(("workers", "asgi", "pyflare", *(name.partition(".")[0] for name in FACES)))


def undeclared(config: WorkerConfig, files: Iterable[Path]) -> dict[str, Path]:
    """package -> the file of the worker that imports it, for every installed package that nothing declares."""
    assert config.main is not None
    vendored = config.root / "python_modules"
    found: dict[str, Path] = {}
    for file in files:
        for name in _imported(file):
            if not _is_local(name, config.main.parent) and not _is_local(name, vendored):
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


def normalise(name: str) -> str:
    """The name of a distribution in its one spelling (packaging.python.org, "Name normalization")."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _imported(file: Path) -> Iterator[str]:
    """Top-level names of absolute imports that are neither Python's nor the runtime's."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            modules = [node.module]
        for module in modules:
            name = module.partition(".")[0]
            if name not in sys.stdlib_module_names and name not in OF_THE_RUNTIME:
                yield name


def _is_local(name: str, folder: Path) -> bool:
    return (folder / name).is_dir() or (folder / f"{name}.py").is_file()
