"""Who may import whom: the flow is front → worker → engine → store → storage, and rooms do not know each other."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import pyflare
from pyflare import engines

SOURCE = Path(pyflare.__file__).parent

# part of the tree -> the parts it may import besides itself; parts are named by their first folder or module, and those
# of the supervisor, which belong to several processes, one by one
ALLOWED = {
    "clock": set(),
    "errors": set(),
    "log": {"clock"},
    "config": {"clock", "errors", "log"},
    "storage": {"clock", "errors"},
    "interop": {"clock", "errors", "config", "worker"},  # `worker`: only the faces, see below
    "worker": {"clock", "config", "errors", "interop", "log"},
    "engines": {"clock", "config", "errors", "interop", "log", "storage", "worker"},
    "scheduler": {"clock", "engines", "log"},
    "front": {"clock", "config", "dashboard", "engines", "errors", "interop", "log", "server", "storage", "worker"},
    "dashboard": {"clock", "engines", "errors", "interop", "log"},
    "server": {"clock", "config", "engines", "errors", "interop", "log", "scheduler", "storage", "worker"},
    "testing": {"clock", "config", "engines", "errors", "front", "interop", "log", "server", "storage", "worker"},
    "pytest_plugin": {"errors", "front", "interop", "testing"},
    "rehearsal": {"clock", "config", "errors", "interop", "log", "server"},
    "supervisor": set(),
    "supervisor/line": set(),
    "supervisor/build": {"log"},
    "supervisor/child": {"config", "supervisor/line"},
    "supervisor/stranded": set(),
    "supervisor/warm": set(),
    "supervisor/watch": {"clock"},
    "supervisor/runtime": {
        "clock", "config", "dashboard", "engines", "errors", "front", "interop", "log", "server", "storage",
        "supervisor/line", "supervisor/warm", "worker",
    },
    "supervisor/supervisor": {
        "clock", "config", "errors", "front", "log", "storage",
        "supervisor/alone", "supervisor/build", "supervisor/child", "supervisor/line", "supervisor/stranded",
        "supervisor/watch",
    },
    "supervisor/alone": {
        "clock", "config", "errors", "front", "log", "server", "storage", "supervisor/build", "supervisor/runtime",
        "worker",
    },
    "cli": {
        "clock", "config", "engines", "errors", "interop", "log", "rehearsal", "storage", "supervisor/supervisor",
    },
}  # fmt: skip

FACES = "interop/modules/"


def modules() -> list[Path]:
    return sorted(
        path for path in SOURCE.rglob("*.py") if path.name not in ("__main__.py",) and path != SOURCE / "__init__.py"
    )


def part_of(path: Path) -> str:
    return part_named([name.removesuffix(".py") for name in path.relative_to(SOURCE).parts])


def part_named(names: Sequence[str]) -> str:
    return "/".join(names[:2]) if names[0] == "supervisor" and names[1:] != ["__init__"] else names[0]


def imports(path: Path) -> Iterator[list[str]]:
    """The names below `pyflare` that a module imports, `if TYPE_CHECKING` left out."""
    tree = ast.parse(path.read_text())
    for node in _runtime_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[1:] for name in node.names if name.name.startswith("pyflare."))
        elif isinstance(node, ast.ImportFrom) and node.module == "pyflare":
            yield from (
                [name.name]
                for name in node.names
                if (SOURCE / name.name).exists() or (SOURCE / f"{name.name}.py").exists()
            )
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyflare."):
            yield (node.module or "").split(".")[1:]


def _runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        yield from _runtime_nodes(node)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_its_part_may(path: Path) -> None:
    part = part_of(path)
    for names in imports(path):
        assert part_named(names) in {part, *ALLOWED[part]}, f"{part} may not import {'.'.join(names)}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_below_the_worker_only_the_faces_know_it(path: Path) -> None:
    if part_of(path) != "interop" or FACES in str(path):
        return
    assert not [names for names in imports(path) if names[0] == "worker"]


def test_rooms_do_not_import_rooms() -> None:
    for path in modules():
        if part_of(path) != "engines" or len(path.relative_to(SOURCE).parts) < 3:
            continue
        room = path.relative_to(SOURCE).parts[1]
        others = [
            names for names in imports(path) if names[:1] == ["engines"] and names[1:2] not in ([], ["base"], [room])
        ]
        assert not others, f"{path} imports {others}"


def test_only_a_store_speaks_sql() -> None:
    for path in modules():
        if part_of(path) == "engines" and path.name == "engine.py":
            text = path.read_text()
            assert "SELECT " not in text and "INSERT INTO" not in text, f"{path} contains SQL"


@pytest.mark.parametrize("name", engines.ENGINES)
def test_a_room_names_the_keys_that_wake_it(name: str) -> None:
    assert set(engines.load(name).keys) == set(engines.ENGINES[name])
