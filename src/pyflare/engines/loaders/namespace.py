"""Modules out of source text that see each other, and that nobody else sees."""

from __future__ import annotations

import builtins
import importlib.util
import linecache
from collections.abc import Mapping
from types import ModuleType
from typing import Any


class Namespace:
    """`load(name)` runs a module when it is first asked for; what is not ours is imported as usual."""

    def __init__(self, label: str, sources: Mapping[str, str]) -> None:
        self._label, self._sources = label, sources
        self._packages = {name.rpartition(".")[0] for name in sources} - {""}
        self._modules: dict[str, ModuleType] = {}

    def load(self, name: str) -> ModuleType:
        if name in self._modules:
            return self._modules[name]
        parent, _, last = name.rpartition(".")
        above = self.load(parent) if parent else None
        module = self._modules[name] = ModuleType(name)
        is_package = name in self._packages
        module.__package__ = name if is_package else parent
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        if is_package:
            module.__path__ = []
        try:
            self._run(module)
        except BaseException:
            del self._modules[name]
            raise
        if above is not None:
            setattr(above, last, module)
        return module

    def _run(self, module: ModuleType) -> None:
        source = self._sources.get(module.__name__, "")
        file = module.__file__ = f"{self._label}/{module.__name__.replace('.', '/')}.py"
        # Tracebacks find the lines there.
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec"), module.__dict__)

    def _is_ours(self, name: str) -> bool:
        return name in self._sources or name in self._packages

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: tuple[str, ...] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level:
            name = importlib.util.resolve_name("." * level + name, (globals or {}).get("__package__"))
        if not self._is_ours(name):
            return builtins.__import__(name, globals, locals, fromlist or (), 0)
        module = self.load(name)
        if not fromlist:
            return self._modules[name.partition(".")[0]]
        for wanted in fromlist:
            if not hasattr(module, wanted) and self._is_ours(f"{name}.{wanted}"):
                self.load(f"{name}.{wanted}")
        return module
