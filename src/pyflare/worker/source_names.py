"""Which modules a file of the worker imports, and what of them it calls: read from its text, never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

_CAUGHT = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
_CONDITIONS = frozenset(("TYPE_CHECKING", "__name__", "platform"))  # `if sys.platform != "emscripten":`


@dataclass
class Names:
    """In the order of the text. `calls` are dotted from the module, `concurrent.futures.ThreadPoolExecutor`; those of
    methods of anything else have only their own name, `.submit`."""

    imports: dict[str, None] = field(default_factory=dict)  # top-level names of absolute imports
    calls: dict[str, None] = field(default_factory=dict)


def names_of(file: Path) -> Names:
    """Nothing for what cannot be parsed, and nothing of what may stay out: what stands in a `try` that catches
    ImportError, or under a condition on TYPE_CHECKING, `__name__` or the platform."""
    found = Names()
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return found
    nodes = list(_certain(tree))
    bound: dict[str, str] = {}  # name in the file -> what it stands for
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found.imports[top] = None
                bound[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.imports[node.module.partition(".")[0]] = None
            bound.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    for node in nodes:
        if isinstance(node, ast.Call):
            if called := _dotted(node.func, bound):
                found.calls[called] = None
            elif isinstance(node.func, ast.Attribute):
                found.calls[f".{node.func.attr}"] = None
    return found


def _certain(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, in the order of the text, but for what may stay out."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _mentions(node.test, _CONDITIONS):
            continue
        yield node
        children = list(ast.iter_child_nodes(node))
        if _may_fail(node):
            children = [child for child in children if child not in node.body]
        waiting += reversed(children)


def _may_fail(node: ast.AST) -> TypeGuard[ast.Try | ast.With]:
    if isinstance(node, ast.Try):
        return any(_catches(handler) for handler in node.handlers)
    return isinstance(node, ast.With) and any(_suppresses(item.context_expr) for item in node.items)


def _catches(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or _mentions(handler.type, _CAUGHT)


def _suppresses(context: ast.expr) -> bool:
    return _mentions(context, frozenset(("suppress",))) and _mentions(context, _CAUGHT)


def _mentions(node: ast.AST, names: frozenset[str]) -> bool:
    return any(
        (isinstance(part, ast.Name) and part.id in names) or (isinstance(part, ast.Attribute) and part.attr in names)
        for part in ast.walk(node)
    )


def _dotted(node: ast.expr, bound: Mapping[str, str]) -> str | None:
    """`threading.Thread` for `t.Thread` after `import threading as t`; None for what is of no import."""
    if isinstance(node, ast.Name):
        return bound.get(node.id)
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value, bound)
        return f"{inner}.{node.attr}" if inner else None
    return None
