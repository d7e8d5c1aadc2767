"""Who holds a state folder: an operating system's lock on `v3/pyflare/lock`, and `server.json` beside it for people and
tools. The lock goes with the processes that hold the open file, so that a killed server leaves nothing behind.

A server of several configurations keeps the data of all in the state folder of the first. In the folders that the
others would have alone, its guests, it leaves the path of that one, `v3/pyflare/host`, which counts while the server
there names them.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pyflare.errors import ConfigError, StateInUse

ORPHAN_SECONDS = 3.0  # how long a runtime whose supervisor was killed may take to close the state
ORPHAN_PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class Holder:
    """`server.json`: how to reach the server that holds the folder. `token` authorises pyflare's own commands."""

    pid: int
    port: int | None = None
    url: str | None = None
    token: str | None = None
    guests: list[str] = field(default_factory=list)  # absolute paths of state folders


class StateLock:
    """Held from `take` until `release`, or until no process has its descriptor any more."""

    def __init__(self, folder: Path, fd: int) -> None:
        self.folder, self.fd = folder, fd

    @classmethod
    def take(cls, state: Path) -> StateLock:
        """Lock the state folder `…/v3`; raises `StateInUse` with who has it, `ConfigError` where none can be made."""
        folder = state / "pyflare"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as raised:
            raise ConfigError(f"Cannot keep state in {state}: {raised.strerror}; give another --persist-to") from None
        if not _lock(fd, state, fcntl.LOCK_EX):
            os.close(fd)
            holder = read_holder(state)
            pid, port = (holder.pid, holder.port) if holder else (None, None)
            raise StateInUse(state, pid, port) from None
        return cls(folder, fd)

    def announce(self, holder: Holder) -> None:
        """Write `server.json`, for its owner only: it holds the token. Its guests are told where to look."""
        fd = os.open(self.folder / "server.json.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w") as file:
            json.dump(asdict(holder), file)
        os.replace(self.folder / "server.json.new", self.folder / "server.json")
        for guest in holder.guests:
            with contextlib.suppress(OSError):
                Path(guest, "pyflare").mkdir(parents=True, exist_ok=True)
                Path(guest, "pyflare", "host").write_text(str(self.folder.parent.resolve()))

    def release(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.folder / "server.json")
        os.close(self.fd)


def _lock(fd: int, state: Path, kind: int) -> bool:
    """Whether the lock could be had. What a killed server has left running is waited for: it is about to end."""
    for left in range(round(ORPHAN_SECONDS / ORPHAN_PAUSE_SECONDS), -1, -1):
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if not left or not _is_gone(read_holder(state)):
                return False
            select.select((), (), (), ORPHAN_PAUSE_SECONDS)
        else:
            return True
    return False


def _is_gone(holder: Holder | None) -> bool:
    """Whether the process that announced itself has ended."""
    if holder is None:
        return False
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return _is_zombie(holder.pid)


def _is_zombie(pid: int) -> bool:
    """Whether the process has ended and its parent has not asked how; told by Linux only."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


def read_holder(state: Path) -> Holder | None:
    """Who says to hold the folder; None when nobody does. It may be a server that was killed: see `is_locked`."""
    try:
        return Holder(**json.loads((state / "pyflare" / "server.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def data_of(state: Path) -> Path:
    """The state folder in which the workers of this one have their data now: another's while they are guests there."""
    try:
        host = Path((state / "pyflare" / "host").read_text())
    except (OSError, ValueError):
        return state
    holder = None if is_locked(state) else read_holder(host)
    hosted = holder is not None and str(state.resolve()) in holder.guests and is_locked(host)
    return host if hosted else state


def is_locked(state: Path) -> bool:
    """Whether a server holds the folder now."""
    try:
        fd = os.open(state / "pyflare" / "lock", os.O_RDWR)
    except OSError:
        return False
    try:
        return not _lock(fd, state, fcntl.LOCK_SH)
    finally:
        os.close(fd)
