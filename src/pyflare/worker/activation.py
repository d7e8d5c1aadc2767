"""Makes the process look like the worker's while its code runs, and gives it back afterwards.

In a process of its own with one worker there is nothing to swap: the process *is* the worker's. With several workers,
and in tests, each step of worker code swaps `sys.modules` (both workers may have `entry.py`), `sys.path`, `os.environ`,
the working directory, the zone and the clock.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from pyflare.clock import Clock, SystemClock
from pyflare.config.surroundings import ENVIRONMENT
from pyflare.worker.time_seam import TimeSeam
from pyflare.worker.trace import Tee
from pyflare.worker.worker import Worker


class Activation:
    """`enter(worker)` and `leave()` bracket every step of worker code."""

    def __init__(self, workers: list[Worker], clock: Clock, dedicated: bool) -> None:
        self._lone = dedicated and len(workers) == 1
        self._faces = {id(worker): _Surroundings(worker, clock, dedicated) for worker in workers}
        self._active: _Surroundings | None = None
        if self._lone:
            self._faces[id(workers[0])].swap_in()

    @property
    def hooks(self) -> tuple[Callable[[Any], None], Callable[[], None]]:
        """What the portal calls around a step."""
        return (_nothing_to_enter, _nothing_to_leave) if self._lone else (self.enter, self.leave)

    def enter(self, worker: Worker | None) -> None:
        if worker is not None and not self._lone:
            self._active = self._faces[id(worker.host or worker)]
            self._active.swap_in()

    def leave(self) -> None:
        if self._active is not None:
            self._active.swap_out()
            self._active = None


def _nothing_to_enter(worker: Any) -> None:
    return


def _nothing_to_leave() -> None:
    return


class _Surroundings:
    def __init__(self, worker: Worker, clock: Clock, dedicated: bool) -> None:
        self._worker = worker
        self._roots = tuple(str(Path(path)) + os.sep for path in worker.path)
        self._environ = dict(ENVIRONMENT)
        for name, value in worker.config.vars.items():
            if isinstance(value, str) and worker.compat.enabled("nodejs_compat_populate_process_env"):
                self._environ[name] = value
        self._cwd = str(worker.config.main.parent) if worker.config.main else None
        self._seam = None if isinstance(clock, SystemClock) else TimeSeam(clock)
        self._swap_environ = not dedicated
        self._saved: tuple[Any, ...] = ()
        self._streams: tuple[Any, Any] | None = None
        self._known = 0

    def swap_in(self) -> None:
        self._saved = (sys.path[:], os.environ, os.getcwd())
        sys.path[:0] = self._worker.path
        sys.modules.update(self._worker.modules)
        self._known = len(sys.modules)
        if self._swap_environ:
            os.environ = self._environ  # type: ignore[assignment]  # noqa: B003
        if self._cwd is not None and self._saved[2] != self._cwd:
            os.chdir(self._cwd)
        if self._worker.tail is not None:
            self._streams = sys.stdout, sys.stderr
            # The levels are those of Pyodide's streams.
            sys.stdout, sys.stderr = Tee(sys.stdout, "log"), Tee(sys.stderr, "warn")
        if self._seam is not None:
            self._seam.swap_in()

    def swap_out(self) -> None:
        if self._streams is not None:
            sys.stdout, sys.stderr = self._streams
            self._streams = None
        if self._seam is not None:
            self._seam.swap_out()
        path, environ, cwd = self._saved
        if len(sys.modules) != self._known:
            self._adopt()
        for name in self._worker.modules:
            sys.modules.pop(name, None)
        sys.path[:] = path
        os.environ = environ  # noqa: B003  (the whole object is swapped)
        if self._cwd is not None and cwd != self._cwd:
            os.chdir(cwd)

    def _adopt(self) -> None:
        """Modules that were imported meanwhile and lie in the worker's own folders become its own."""
        for name, module in list(sys.modules.items()):
            if name not in self._worker.modules and _file(module).startswith(self._roots[:1]):
                self._worker.modules[name] = module


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or ""
