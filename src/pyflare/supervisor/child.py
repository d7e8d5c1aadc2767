"""A runtime process, as the supervisor sees it."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, field

from pyflare.config.surroundings import ENVIRONMENT
from pyflare.supervisor.line import Line, Message

# What CPython itself wants from the environment before the runtime takes the rest away. PYTHONDONTWRITEBYTECODE is not
# among them: it is obeyed for the worker's modules, while pyflare's own bytecode halves the time of the next start.
PYTHON_NEEDS = (
    "PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONDEVMODE", "PYTHONWARNINGS",
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT",
)  # fmt: skip


@dataclass
class Child:
    """A runtime process, and how far it has come."""

    pid: int
    line: Line
    life: int  # closing it tells the runtime that we are gone
    phase: str = "new"  # new, configured, prepared, serving, stopping, dead
    deadline: float | None = None
    served_at: float = 0.0
    crash: str | None = None  # it only tells why there is no other
    trace: str = ""  # what it died of, where it could still say so
    summary: Message = field(default_factory=dict)

    @classmethod
    def start(cls, crash: str | None) -> Child:
        """It waits for the message `start`."""
        line, theirs = Line.pair()
        life, kept = os.pipe()
        inherited = (theirs.fileno(), life)
        for fd in inherited:
            os.set_inheritable(fd, True)
        command = [sys.executable, "-P", "-m", "pyflare.supervisor.runtime", *map(str, inherited)]
        needed = {name: os.environ[name] for name in PYTHON_NEEDS if name in os.environ}
        pid = os.posix_spawn(sys.executable, command, {**needed, **ENVIRONMENT})
        theirs.close()
        os.close(life)
        return cls(pid, line, kept, crash=crash)

    def why_it_ended(self, status: int) -> str:
        text = f"The worker's process {how_it_ended(status)}"
        return f"{text}\n{self.trace}" if self.trace else text


def how_it_ended(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
