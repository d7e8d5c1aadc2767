"""Imports a worker's own modules from their source, never from bytecode.

Python believes a `.pyc` whose source has the same size and the same time in whole seconds: two saves within a second
would serve the first one for ever. It would also leave `__pycache__` folders in the worker.
"""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path
from typing import Any, NoReturn


class FromSource(SourceFileLoader):
    def path_stats(self, path: Any) -> NoReturn:
        """Without a time and a size of the source, `importlib` neither reads nor writes bytecode."""
        raise OSError("bytecode is not kept")


class Hook:
    """An entry of `sys.path_hooks` for folders of workers; installed packages keep their bytecode."""

    def __init__(self) -> None:
        self.roots: set[Path] = set()

    def __call__(self, folder: str) -> FileFinder:
        path = Path(folder)
        if "site-packages" in path.parts or not any(path.is_relative_to(root) for root in self.roots):
            raise ImportError(f"{folder} is not a worker's")
        return FileFinder(folder, (ExtensionFileLoader, EXTENSION_SUFFIXES), (FromSource, [".py"]))


def import_from_source(root: Path) -> None:
    """From now on, modules below `root` come from their source."""
    hook = next((one for one in sys.path_hooks if isinstance(one, Hook)), None)
    if hook is None:
        hook = Hook()
        sys.path_hooks.insert(0, hook)
    hook.roots.add(root)
    for folder in list(sys.path_importer_cache):
        if Path(folder).is_relative_to(root):
            del sys.path_importer_cache[folder]
