"""What a worker uses of Python's own library that is missing, or does nothing, in the Python of Cloudflare.

developers.cloudflare.com/workers/languages/python/stdlib and pyodide.org/en/stable/usage/wasm-constraints.html
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyflare.config.model import WorkerConfig
from pyflare.worker.declared import is_own
from pyflare.worker.source_names import Names

# pty and tty are there, but import termios.
MISSING = frozenset(
    (
        "curses", "dbm", "ensurepip", "fcntl", "grp", "idlelib", "lib2to3", "msvcrt", "pty", "pwd", "resource",
        "syslog", "termios", "tkinter", "tty", "turtle", "turtledemo", "venv", "winreg", "winsound",
    )
)  # fmt: skip

_THREADS = "no thread can be started"
_PROCESSES = "no process can be started"
# module -> names whose call fails, and why. Locks, `threading.local` and `asyncio.to_thread` are fine, and sockets are
# not among them: Python Workers can open TCP connections.
_FAILING: Mapping[str, tuple[str, str]] = {
    "_thread": ("start_new_thread", _THREADS),
    "threading": ("Thread Timer", _THREADS),
    "concurrent.futures": ("ThreadPoolExecutor", _THREADS),
    "concurrent.futures.thread": ("ThreadPoolExecutor", _THREADS),
    "multiprocessing.pool": ("Pool ThreadPool", _THREADS),
    "concurrent.futures.process": ("ProcessPoolExecutor", _PROCESSES),
    "multiprocessing": ("Manager Pool Process", _PROCESSES),
    "subprocess": ("Popen call check_call check_output getoutput getstatusoutput run", _PROCESSES),
    "asyncio": ("create_subprocess_exec create_subprocess_shell", _PROCESSES),
    "os": ("fork forkpty popen posix_spawn posix_spawnp system", _PROCESSES),
}
FAILING: Mapping[str, str] = {
    "concurrent.futures.ProcessPoolExecutor": _PROCESSES,
    **{f"{module}.{name}": why for module, (names, why) in _FAILING.items() for name in names.split()},
}


def absent(config: WorkerConfig, used: Mapping[Path, Names]) -> dict[str, str]:
    """What is used -> a sentence on it, with the file."""
    found: dict[str, str] = {}
    for file, names in used.items():
        for name in names.imports:
            if name in MISSING and not is_own(name, config):
                found.setdefault(name, f"{file} imports {name!r}, which Python on Cloudflare does not have")
        for name in names.calls:
            if name in FAILING and not _is_inline(name, names) and not is_own(name.partition(".")[0], config):
                found.setdefault(name, f"{file} uses {name}, which fails on Cloudflare: {FAILING[name]} there")
    return found


def _is_inline(name: str, names: Names) -> bool:
    """An executor for `run_in_executor`, which starts no thread there: it runs the function at once."""
    return name.endswith(".ThreadPoolExecutor") and ".run_in_executor" in names.calls
