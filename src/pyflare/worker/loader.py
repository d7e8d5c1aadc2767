"""Imports the worker's main module and finds what it exports (workerd `python-entrypoint-helper.ts`).

The folder of `main` and `python_modules` are on the worker's path. Exported are the names of `__all__`, or all public
ones, that are subclasses of the SDK's WorkerEntrypoint, DurableObject or WorkflowEntrypoint.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pyflare.config.model import WorkerConfig
from pyflare.errors import ConfigError, WorkerError
from pyflare.interop import finder, traces
from pyflare.interop.modules.pyodide_code import positional_count
from pyflare.log import Log
from pyflare.worker.absent import absent
from pyflare.worker.declared import undeclared
from pyflare.worker.signature import STRICT, accepts, first_line
from pyflare.worker.source import import_from_source
from pyflare.worker.source_names import names_of
from pyflare.worker.worker import EVENTS, Sdk, Worker

LEGACY = ("on_fetch", "on_scheduled", "on_queue", "on_alarm", "on_trace", "on_pubsub", "on_email", "on_tail", "test")
INSTALLED = ("site-packages", "python_modules", "node_modules")  # folders of what somebody else wrote


def paths(worker: Worker) -> list[str]:
    """What stands before the process's own `sys.path`."""
    config = worker.config
    if config.main is None:
        return []
    found = [str(config.main.parent)]
    vendored = config.root / "python_modules"
    if vendored.is_dir() and not list(vendored.glob("**/*.so")):
        found.append(str(vendored))
    return [*found, *_project_packages(config.root)]


def _project_packages(root: Path) -> list[str]:
    """The site-packages of the project's `.venv`; another minor version of Python is an error."""
    libraries = sorted((root / ".venv" / "lib").glob("python3.*"))
    if not libraries:
        return []
    mine = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for library in libraries:
        if library.name == mine:
            return [str(library / "site-packages")]
    raise ConfigError(
        f"{root / '.venv'} is made for {libraries[0].name}, but pyflare runs on {mine}: "
        f"make it anew with `{mine} -m venv .venv`, or install pyflare on {libraries[0].name}"
    )


def load(worker: Worker, log: Log) -> None:
    """Import the SDK and the worker's main module; raises WorkerError with the traceback."""
    main = worker.config.main
    assert main is not None
    finder.install()
    import_from_source(main.parent)
    workers = importlib.import_module("workers")
    worker.sdk = Sdk(workers, importlib.import_module("workers.rpc"))
    module = _import(main, worker)
    _warn_of_uses(worker.config, main, log)
    worker.exports = exported_classes(module, worker.sdk)
    worker.handlers = module_handlers(module)
    _explain(worker, module, log)


def _warn_of_uses(config: WorkerConfig, main: Path, log: Log) -> None:
    """Of what the worker's own modules use here and will not find on Cloudflare."""
    used = {file: names_of(file) for file in own_files(main.parent)}
    for package, file in undeclared(config, used).items():
        text = f"{file} imports {package!r}, which neither pyproject.toml nor python_modules declares: "
        log.once("warn", f"undeclared {package}", text + "it will be missing on Cloudflare")
    for name, text in absent(config, used).items():
        log.once("warn", f"absent {name}", text)


def own_files(folder: Path) -> list[Path]:
    """The worker's own modules that are imported now; not those of a `.venv` or of `python_modules` in its folder."""
    inside = str(folder) + os.sep
    files = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
    return [Path(file) for file in files if file.startswith(inside) and _is_own(file.removeprefix(inside))]


def _is_own(path: str) -> bool:
    return not any(part.startswith(".") or part in INSTALLED for part in path.split(os.sep))


def _import(main: Path, worker: Worker) -> ModuleType:
    try:
        return importlib.import_module(main.stem)
    except BaseException as raised:
        if isinstance(raised, (KeyboardInterrupt, GeneratorExit)):
            raise
        _hint_import(raised, main)
        raise WorkerError(
            f"{main} cannot be imported: {type(raised).__name__}: {raised}", traces.render(raised)
        ) from raised


def _hint_import(raised: BaseException, main: Path) -> None:
    name = getattr(raised, "name", None)
    if isinstance(raised, ModuleNotFoundError) and name and name.split(".")[0] == main.parent.name:
        folder = main.parent.name
        raised.add_note(f"Imports begin in {folder!r}: write `import module`, not `import {folder}.module`")


def exported_classes(module: ModuleType, sdk: Sdk) -> dict[str, type]:
    """name -> class."""
    bases = (sdk.WorkerEntrypoint, sdk.DurableObject, sdk.WorkflowEntrypoint)
    public = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    found = [getattr(module, name, None) for name in public]
    return {
        value.__name__: value
        for value in found
        if isinstance(value, type) and issubclass(value, bases) and value not in bases
    }


def module_handlers(module: ModuleType) -> Mapping[str, Callable[..., Any]]:
    """Module-level functions that answer events: `on_fetch`, and `fetch` where it is the module's own."""
    found = {name: getattr(module, name) for name in LEGACY if callable(getattr(module, name, None))}
    for name in EVENTS:
        value = getattr(module, name, None)
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            found.setdefault(f"on_{name}" if name != "test" else name, value)
    return found


def _explain(worker: Worker, module: ModuleType, log: Log) -> None:
    """Say at start what would fail, or differ on Cloudflare."""
    main = worker.config.main
    modern = worker.compat.enabled("python_no_global_handlers")
    default = worker.exports.get("Default")
    if worker.handlers and default is not None and not modern:
        raise WorkerError(f"{main}: TypeError: Cannot define multiple default entrypoints")
    if worker.handlers and default is None and modern:
        names = sorted(name if hasattr(module, name) else name.removeprefix("on_") for name in worker.handlers)
        methods = sorted({name.removeprefix("on_") for name in worker.handlers})
        log.warn(
            f"{main}: {', '.join(names)} at module level works here; Cloudflare needs "
            f"`class Default(WorkerEntrypoint)` with {', '.join(methods)} as {'methods' if methods[1:] else 'a method'}"
        )
    if default is None and not worker.handlers and not worker.exports:
        near = difflib.get_close_matches("Default", dir(module), 1)
        hint = f" (is {near[0]!r} meant to be it?)" if near and near[0] != "Default" else ""
        raise WorkerError(f"{main}: no `class Default(WorkerEntrypoint)` is exported{hint}")
    entries = [name for name, cls in worker.exports.items() if issubclass(cls, worker.sdk.WorkerEntrypoint)]
    if default is None and not worker.handlers and any(hasattr(worker.exports[name], "fetch") for name in entries):
        called = " and ".join(entries)
        log.warn(f"{main}: no class is called `Default`: requests get 500, only other workers can call {called}")
    for name in STRICT:
        _check_signature(worker, default, name, log)
    for key, name in _wanted(worker.config.sections):
        if name not in worker.handler_names():
            other = next((one for one, cls in worker.exports.items() if hasattr(cls, name)), None)
            todo = f"name the class {other} `Default`" if other else f"add `{first_line(name)}`"
            log.warn(f"{key} is configured, but the worker has no {name} handler: {todo}")
    for name, cls in worker.exports.items():
        if not accepts(_constructor(cls), 3):
            log.warn(f"{main}: {name}.__init__ is called with two arguments: write `def __init__(self, ctx, env):`")


def _wanted(sections: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The keys of the configuration that call a handler, and its name."""
    consumers = (sections.get("queues") or {}).get("consumers") or ()
    if any(consumer.get("type", "worker") == "worker" for consumer in consumers):
        yield "queues.consumers", "queue"
    if (sections.get("triggers") or {}).get("crons"):
        yield "triggers.crons", "scheduled"


def _check_signature(worker: Worker, default: type | None, name: str, log: Log) -> None:
    handler = getattr(default, name, None)
    if not callable(handler):
        return
    takes = positional_count(handler, 5) - 1  # without self
    if takes != 3 and not accepts(handler, 4):
        line = first_line(name)
        log.warn(
            f"{worker.config.main}: Default.{name} takes {takes} argument{'s' * (takes != 1)}, Cloudflare calls it "
            f"with three: write `{line}` (env and ctx are None; use self.env)"
        )


def _constructor(cls: type) -> Callable[..., Any]:
    """The `__init__` that the class was written with; the SDK puts one of its own around it."""
    written: Callable[..., Any] = getattr(cls, "__init__")  # noqa: B009  (mypy refuses the attribute)
    if not inspect.isfunction(written):
        return written
    inner = inspect.getclosurevars(written).nonlocals.get("original_init")
    return inner if inspect.isfunction(inner) else written
