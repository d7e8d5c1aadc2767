"""A file that no row names any more, to be written over in the place of a new one.

Where every write replaces a value, making one file and removing another is most of the work: file systems are slow to
find an inode among many that were just freed (ext4 without a journal looks at each of them), and new pages cost more
than old ones. A file may still be open somewhere, here or in another program that shares the folder. So it is only
used when Linux grants a lease on it, which it does when nobody else has it open; elsewhere nothing is kept.
"""

from __future__ import annotations

import fcntl
import os
import signal
from contextlib import suppress

HAS_LEASES = hasattr(fcntl, "F_SETLEASE")
MAX_BYTES = 1024 * 1024  # a larger file is not kept around


class Spare:
    """At most one file of a folder; a process that is killed leaves it there."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._size = 0

    def offer(self, path: str) -> bool:
        """Keep the file for later; False: its place is taken, or it cannot be used."""
        if not HAS_LEASES or self._path is not None:
            return False
        try:
            size = os.stat(path).st_size
        except OSError:
            return False
        if size > MAX_BYTES:
            return False
        self._path, self._size = path, size
        return True

    def take(self, path: str) -> tuple[int, int] | None:
        """The file under a new name, open for writing, and the length that it still has; None: there is none."""
        if self._path is None:
            return None
        old, self._path = self._path, None
        try:
            os.rename(old, path)
            descriptor = os.open(path, os.O_WRONLY)
        except OSError:
            return None
        if _is_open_elsewhere(descriptor):
            os.close(descriptor)
            os.unlink(path)
            return None
        return descriptor, self._size

    def drop(self) -> None:
        path, self._path = self._path, None
        if path is not None:
            with suppress(OSError):
                os.unlink(path)


def _is_open_elsewhere(descriptor: int) -> bool:
    """Nobody can open it from now on: its new name is not known to anybody yet."""
    try:
        # Should somebody search the folder just now: SIGIO, the default, would end this process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return True
    return False
