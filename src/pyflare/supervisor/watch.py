"""Watches a project's files from a thread and says through a pipe that something changed.

Folders are watched one by one, never recursively from the top: the state folder changes with every write of the worker,
and `node_modules` may hold tens of thousands of folders.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

IGNORED = frozenset((
    ".venv", "venv", "node_modules", ".git", ".wrangler", "__pycache__", ".hg", ".svn", ".tox", ".nox", ".idea",
    ".vscode", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "site-packages",
))  # fmt: skip
# Code, and what code reads while it is imported. Data that a worker may write itself (logs, databases, JSON) is absent:
# it would reload for ever.
SUFFIXES = (".py", ".html", ".htm", ".css", ".sql", ".jinja", ".jinja2", ".j2", ".tmpl", ".graphql")
SHALLOW = frozenset(("python_modules",))  # made anew as a whole: its first level tells

DEBOUNCE_MS = 400  # changes that go on for so long are reported in between
STEP_MS = 20  # without a change, until what came is reported
QUIET_MS = 5000
MOST_FOLDERS = 4096


@dataclass(frozen=True)
class Targets:
    """What to watch: absolute paths."""

    roots: Sequence[str] = ()  # folders of the workers: code below them
    files: Sequence[str] = ()  # configuration, .dev.vars, …, also those that do not exist yet
    folders: Sequence[str] = ()  # everything in them counts: assets, `build.watch_dir`
    globs: Sequence[str] = ()  # of `rules`, relative to any root

    def means(self, path: str) -> bool:
        """Whether a change of `path` means a reload."""
        if path in self.files:
            return True
        name = os.path.basename(path)
        if name.startswith(".#") or name.endswith(("~", ".swp", ".swx", ".pyc")):
            return False
        below = next((root for root in self.roots if path.startswith(root + os.sep)), None)
        if below is not None and not IGNORED.isdisjoint(os.path.relpath(path, below).split(os.sep)):
            return False
        if any(path.startswith(folder + os.sep) for folder in self.folders):
            return True
        if below is None:
            return False
        relative = os.path.relpath(path, below)
        return name.endswith(SUFFIXES) or any(_matches(relative, glob) for glob in self.globs)

    def directories(self) -> Iterator[str]:
        """Every folder to watch."""
        seen: set[str] = set()
        for top in (*self.roots, *self.folders, *(os.path.dirname(file) for file in self.files)):
            walk = _folders(top) if top in self.roots or top in self.folders else iter((top,))
            for folder in walk:
                if folder not in seen and os.path.isdir(folder):
                    seen.add(folder)
                    yield folder

    def snapshot(self) -> dict[str, int]:
        """The time of change of each file that counts, in nanoseconds."""
        found: dict[str, int] = {}
        for folder in self.directories():
            for entry in _entries(folder):
                if self.means(entry.path):
                    try:
                        found[entry.path] = entry.stat().st_mtime_ns
                    except OSError:
                        continue
        return found


def _folders(top: str) -> Iterator[str]:
    """`top` and the folders below it that are not ignored."""
    for count, (folder, names, _) in enumerate(os.walk(top)):
        if count >= MOST_FOLDERS:
            return
        yield folder
        shallow = os.path.basename(folder) in SHALLOW
        names[:] = [] if shallow else [name for name in names if name not in IGNORED]


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.is_file()]
    except OSError:
        return []


def _matches(relative: str, glob: str) -> bool:
    """`**/` also stands for no folder at all."""
    return fnmatch.fnmatch(relative, glob) or (glob.startswith("**/") and fnmatch.fnmatch(relative, glob[3:]))


class Watcher:
    """`fileno()` becomes readable when something changed; `take()` says what. `failure`: why it gave up."""

    def __init__(self) -> None:
        self.targets = Targets()
        self._pipe = os.pipe()
        os.set_blocking(self._pipe[0], False)
        self._changed: set[str] = set()
        self._lock = threading.Lock()
        self._restart = threading.Event()
        self._ended = False
        self.failure: str | None = None
        self._thread: threading.Thread | None = None

    def fileno(self) -> int:
        return self._pipe[0]

    def watch(self, targets: Targets, since_ns: int) -> None:
        """Watch `targets` from now on; files that changed after `since_ns` (of the first call) are told at once."""
        if self._thread is None:
            self.targets = targets
            self._thread = threading.Thread(target=self._run, args=(since_ns,), name="watch", daemon=True)
            self._thread.start()
        elif targets != self.targets:
            self.targets = targets
            self._restart.set()

    def take(self) -> set[str]:
        """The files that changed since the last call."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._pipe[0], 4096)
        with self._lock:
            changed, self._changed = self._changed, set()
        return changed

    def stop(self) -> None:
        self._ended = True
        self._restart.set()

    def _run(self, since_ns: int) -> None:
        known: dict[str, int] | None = None
        while not self._ended:
            self._restart.clear()
            targets = self.targets
            folders = set(targets.directories())
            try:
                with RustWatch(folders) as events:
                    # Armed first, compared then: no change falls between.
                    now = targets.snapshot()
                    if known is None:
                        self._report({path for path, changed in now.items() if changed > since_ns})
                    else:
                        self._report({path for path, changed in now.items() if known.get(path) != changed})
                    known = now
                    self._follow(events, targets, folders, known)
            except Exception as failed:
                self.failure = f"Files are not watched any more: {failed}"
                os.write(self._pipe[1], b".")
                return

    def _follow(self, events: RustWatch, targets: Targets, folders: set[str], known: dict[str, int]) -> None:
        """Report changes until the watching has to begin anew: other targets, or a new folder."""
        while not self._restart.is_set():
            paths = events.next(self._restart)
            self._report({path for path in paths if targets.means(path) and _is_news(path, known)})
            if any(os.path.isdir(path) for path in paths) and set(targets.directories()) != folders:
                return

    def _report(self, paths: set[str]) -> None:
        if paths:
            with self._lock:
                self._changed |= paths
            os.write(self._pipe[1], b".")


class RustWatch:
    """The operating system's notifications for some folders."""

    def __init__(self, folders: set[str]) -> None:
        from watchfiles._rust_notify import RustNotify  # noqa: PLC0415  (imports an event loop: after the first answer)

        self._notify = RustNotify(sorted(folders), False, False, 0, False, True)

    def __enter__(self) -> RustWatch:
        return self

    def __exit__(self, *raised: object) -> None:
        self._notify.close()

    def next(self, stop: threading.Event) -> set[str]:
        """What changed; empty after a while without changes."""
        changes = self._notify.watch(DEBOUNCE_MS, STEP_MS, QUIET_MS, stop)
        return set() if isinstance(changes, str) else {path for _, path in changes}


def _is_news(path: str, known: dict[str, int]) -> bool:
    """Whether a file's time differs from the known one, which it becomes: opening or chmod is no change."""
    try:
        changed = os.stat(path).st_mtime_ns
    except OSError:
        return known.pop(path, None) is not None
    if known.get(path) == changed:
        return False
    known[path] = changed
    return True
