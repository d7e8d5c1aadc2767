from __future__ import annotations

import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyflare.supervisor.watch import Targets, Watcher


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "entry.py").write_text("1")
    (tmp_path / "node_modules" / "deep").mkdir(parents=True)
    (tmp_path / ".wrangler").mkdir()
    return tmp_path


@pytest.fixture
def watcher() -> Iterator[Watcher]:
    made = Watcher()
    yield made
    made.stop()


def targets(project: Path) -> Targets:
    files = (str(project / "wrangler.jsonc"), str(project / ".dev.vars"))
    return Targets((str(project),), files, (str(project / "public"),), ("**/*.txt",))


def changed(watcher: Watcher) -> set[str]:
    assert select.select([watcher], [], [], 5)[0], "no change was told"
    return {Path(path).name for path in watcher.take()}


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("src/entry.py", True),
        ("src/page.html", True),
        ("wrangler.jsonc", True),
        (".dev.vars", True),
        ("public/app.js", True),
        ("notes.txt", True),
        ("deep/notes.txt", True),
        ("worker.log", False),
        ("data.json", False),
        (".venv/lib/x.py", False),
        ("node_modules/x.py", False),
        (".wrangler/tmp/x.py", False),
        ("src/__pycache__/entry.py", False),
        ("src/.#entry.py", False),
        ("../elsewhere/x.py", False),
    ],
)
def test_what_counts_as_a_change(project: Path, path: str, counts: bool) -> None:
    assert targets(project).means(str((project / path).resolve())) is counts


def test_ignored_folders_are_not_watched(project: Path) -> None:
    assert {Path(folder).name for folder in targets(project).directories()} == {project.name, "src"}


def test_a_saved_file_is_told(project: Path, watcher: Watcher) -> None:
    newest = max(targets(project).snapshot().values())
    watcher.watch(targets(project), newest - 1)
    assert changed(watcher) == {"entry.py"}  # it changed after `since`: and now the watching has begun
    (project / "src" / "entry.py").write_text("2")
    assert changed(watcher) == {"entry.py"}


def test_a_file_that_appears_is_told(project: Path, watcher: Watcher) -> None:
    newest = max(targets(project).snapshot().values())
    watcher.watch(targets(project), newest - 1)
    changed(watcher)
    (project / ".dev.vars").write_text("A=1")
    assert changed(watcher) == {".dev.vars"}


def test_a_new_folder_is_watched_with_what_is_in_it(project: Path, watcher: Watcher) -> None:
    newest = max(targets(project).snapshot().values())
    watcher.watch(targets(project), newest - 1)
    changed(watcher)
    (project / "src" / "deep").mkdir()
    (project / "src" / "deep" / "utils.py").write_text("1")
    assert changed(watcher) == {"utils.py"}


def test_other_targets_take_the_place_of_the_first(project: Path, watcher: Watcher) -> None:
    newest = max(targets(project).snapshot().values())
    watcher.watch(targets(project), newest - 1)
    changed(watcher)
    (project / "more").mkdir()
    (project / "more" / "lib.bin").write_text("1")
    watcher.watch(Targets((str(project),), (), (str(project / "more"),)), 0)
    assert changed(watcher) == {"lib.bin"}
