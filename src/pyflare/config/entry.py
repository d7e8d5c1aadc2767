"""The entry module of a worker: is it there, is it Python, would Cloudflare find its handlers?"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyflare.config.diagnostics import Diagnostics
from pyflare.config.find import SCRIPT_SUFFIXES, python_files
from pyflare.config.model import Compat

_EVENTS = ("fetch", "scheduled", "queue", "email", "tail", "trace", "alarm", "pubsub")
_PLAIN_HANDLERS = frozenset(_EVENTS)
_OLD_HANDLERS = frozenset(f"on_{event}" for event in _EVENTS)


def find_main(sections: Mapping[str, Any], root: Path, diagnostics: Diagnostics) -> Path | None:
    """The file that `main` names; None for a worker of assets only, and when there is a fault."""
    main = sections.get("main")
    if main is None and isinstance(sections.get("assets"), dict):
        return None
    problem = _problem(main, root)
    if problem is None:
        return (root / str(main)).resolve()
    if main is None or isinstance(main, str):  # else the schema has told
        diagnostics.fault("main", problem)
    return None


def check_handlers(main: Path, compat: Compat, diagnostics: Diagnostics) -> None:
    """A fault for each handler outside a class, which pyflare serves and Cloudflare does not find."""
    for name, line in _module_handlers(main):
        if name in _OLD_HANDLERS and not compat.enabled("python_no_global_handlers"):
            continue
        method = name.removeprefix("on_")
        diagnostics.fault(
            "main",
            f"{main.name}:{line}: `{name}` stands outside a class, where Cloudflare does not find it; "
            f"write `class Default(WorkerEntrypoint):` with a method `{method}`",
        )


def _module_handlers(main: Path) -> Iterator[tuple[str, int]]:
    """Functions of the module that would be handlers; none when the module has a `Default`, or cannot be parsed."""
    try:
        body = ast.parse(main.read_bytes()).body
    except (SyntaxError, ValueError):
        return
    if any("Default" in _bound_names(node) for node in body):
        return
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in _PLAIN_HANDLERS | _OLD_HANDLERS:
            yield node.name, node.lineno


def _bound_names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    return set()


def _problem(main: Any, root: Path) -> str | None:
    if not isinstance(main, str):
        return f"is missing; name the worker's entry module{_candidates(root)}"
    path = root / main
    if path.suffix in SCRIPT_SUFFIXES:
        return f'"{main}": pyflare runs Python Workers; `main` has to be a .py file'
    if path.is_dir():
        return f'"{main}" is a folder; name the .py file in it{_candidates(root)}'
    if not path.is_file():
        return f'"{main}" does not exist{_candidates(root)}'
    if path.suffix != ".py":
        return f'"{main}" is no .py file; pyflare runs Python Workers'
    return None


def _candidates(root: Path) -> str:
    files = python_files(root)
    return f". The .py files here: {', '.join(files)}" if files else f". There are no .py files in {root}"
