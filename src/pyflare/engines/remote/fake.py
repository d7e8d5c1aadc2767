"""An object of the user's in the place of a binding."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyflare.engines.remote.config import TABLE
from pyflare.errors import ConfigError, WorkerError
from pyflare.interop import traces
from pyflare.worker.loader import INSTALLED

if TYPE_CHECKING:
    from pyflare.worker.worker import Worker


class Fake:
    """Made within the worker when it is first used: attributes are its own. `target`: "module:Class"."""

    def __init__(self, name: str, target: str) -> None:
        self._name = name
        self._target = target
        self._made: Any = None

    def __getattr__(self, attribute: str) -> Any:
        # The SDK looks at every binding for `constructor`, to tell JavaScript's from Python's objects.
        if attribute == "constructor" or (attribute.startswith("__") and attribute.endswith("__")):
            raise AttributeError(attribute)
        if self._made is None:
            self._made = class_of(self._name, self._target)()
        return getattr(self._made, attribute)

    def __repr__(self) -> str:
        return f"<fake of {self._name}: {self._target}>"


def class_of(name: str, target: str) -> Any:
    """The class that `name = target` means; ConfigError when there is none, WorkerError when its module fails."""
    module, _, path = target.partition(":")
    where = f"pyproject.toml: {TABLE}.{name} = {target!r}"
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as raised:
        if raised.name is None or not f"{module}.".startswith(f"{raised.name}."):
            raise _broken(where, raised) from raised
        raise ConfigError(
            f"{where}: there is no module {module} beside main or pyproject.toml. "
            'Write "tests.fakes:Ai" for the class Ai of tests/fakes.py'
        ) from None
    except Exception as raised:
        raise _broken(where, raised) from raised
    for part in path.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise ConfigError(f"{where}: {module} has no class {path}")
    return found


def _broken(where: str, raised: Exception) -> WorkerError:
    return WorkerError(f"{where}: {type(raised).__name__}: {raised}", traces.render(raised))


@contextmanager
def importable(worker: Worker) -> Iterator[None]:
    """The project's folder on the path behind the worker's own; what is imported from it becomes the worker's."""
    project = worker.config.project
    if project is None:
        yield
        return
    known = set(sys.modules)
    sys.path.insert(len(worker.path), str(project))
    try:
        yield
    finally:
        sys.path.remove(str(project))
        worker.modules |= {
            name: module
            for name, module in list(sys.modules.items())
            if name not in known and _lies_in(project, getattr(module, "__file__", None) or "")
        }


def _lies_in(project: Path, file: str) -> bool:
    return Path(file).is_relative_to(project) and set(INSTALLED).isdisjoint(Path(file).parts)
