"""Makes the faces importable: `js`, `pyodide`, `_pyodide_entrypoint_helper`, `_cloudflare_compat_flags`, …

A meta-path finder, first in line so that packages of these names which happen to be installed (`pyodide-py`) do not
shadow them. It is put in by `install()` only in a process that runs a worker or its tests. Faces that depend on the
worker ask `scope.current`, so one module object serves all workers.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

FACES = {
    "js": "pyflare.interop.modules.js",
    "pyodide": "pyflare.interop.modules.pyodide",
    "pyodide.ffi": "pyflare.interop.modules.pyodide_ffi",
    "pyodide.ffi.wrappers": "pyflare.interop.modules.pyodide_wrappers",
    "pyodide.http": "pyflare.interop.modules.pyodide_http",
    "pyodide.webloop": "pyflare.interop.modules.pyodide_webloop",
    "pyodide.code": "pyflare.interop.modules.pyodide_code",
    "pyodide_js": "pyflare.interop.modules.pyodide_js",
    "_pyodide_entrypoint_helper": "pyflare.interop.modules.entrypoint_helper",
    "_cloudflare_compat_flags": "pyflare.interop.modules.compat_flags",
}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the faces; an `import js` gives the one module object of this process."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in FACES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name in ("pyodide", "pyodide.ffi"))

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(FACES[spec.name])
        module.__name__ = spec.name  # in messages, as Cloudflare words them: 'js' (unknown location)
        module.__file__ = None
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The face is complete when it is created."""


def install() -> None:
    """Put the finder in, once."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
