"""Lines on the terminal. One formatter; `--log-format json` gives one object a line instead.

Everything goes to the same `sys.stdout` that worker code prints to, so that the order is the order in which things
happened. Lines of requests are written together, a hundredth of a second later at most: a write for each would cost as
much as the rest of the front. A `Terminal` writes what waits before anything else.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

LEVELS = {"debug": 10, "info": 20, "log": 20, "warn": 30, "error": 40, "none": 100}
COLOURS = {"debug": "\x1b[2m", "info": "", "log": "", "warn": "\x1b[33m", "error": "\x1b[31m"}
BOLD, GREY, RESET = "\x1b[1m", "\x1b[90m", "\x1b[0m"
STATUS_COLOURS = {2: "\x1b[32m", 4: "\x1b[33m", 5: "\x1b[31m"}  # green, yellow, red; blue for the rest
OTHER_STATUS = "\x1b[34m"


class Log:
    """`log.info("GET / 200 OK")` prints `[wrangler:info] GET / 200 OK`; fields go to JSON lines only.

    `enabled(level)` is asked before a line is made on a hot path. `once(key, …)` says a thing a single time.
    `colour`: None means when the output is a terminal.
    """

    def __init__(
        self,
        level: str = "log",
        form: str = "text",
        out: TextIO | None = None,
        colour: bool | None = None,
        said: Iterable[str] = (),
    ) -> None:
        self._threshold = LEVELS[level]
        self._json = form == "json"
        self._out = out
        self._colour = colour
        self._waiting: list[str] = []
        self.defer: Callable[[Callable[[], None]], object] | None = None  # calls it shortly; None: write at once
        self.said = set(said)  # keys of what `once` has said, also in a life before this one

    @property
    def out(self) -> TextIO:
        return self._out or sys.stdout

    @property
    def coloured(self) -> bool:
        if self._colour is None:
            self._colour = not self._json and self.out.isatty()
        return self._colour

    def enabled(self, level: str) -> bool:
        return LEVELS[level] >= self._threshold

    def debug(self, text: str, **fields: Any) -> None:
        self.line("debug", text, **fields)

    def info(self, text: str, **fields: Any) -> None:
        self.line("info", text, **fields)

    def warn(self, text: str, **fields: Any) -> None:
        self.line("warn", text, **fields)

    def error(self, text: str, **fields: Any) -> None:
        self.line("error", text, **fields)

    def once(self, level: str, key: str, text: str) -> None:
        if key not in self.said:
            self.said.add(key)
            self.line(level, text)

    def line(self, level: str, text: str, **fields: Any) -> None:
        if not self.enabled(level):
            return
        if self._json:
            self._write(json.dumps({"level": level, "message": text, **fields}, default=str))
            return
        colour = COLOURS[level] if self.coloured else ""
        self._write(f"{colour}[wrangler:{level}] {text}{colour and RESET}")

    def takes_prints(self, out: TextIO) -> bool:
        """Whether what worker code prints becomes an object too; those lines and our own go to `out` then."""
        if self._json:
            self._out = out
        return self._json

    def spoken(self, level: str, text: str, stream: str) -> None:
        """A line that worker code printed, whatever the level is."""
        self._write(json.dumps({"level": level, "message": text, "stream": stream}))

    def plain(self, text: str) -> None:
        """Text for people: the banner, the table of bindings. Not in JSON lines."""
        if not self._json and self.enabled("info"):
            self._write(text)

    def request(self, method: str, path: str, status: int, reason: str, ms: float) -> None:
        """The line of an answered request."""
        if self._threshold > 20:
            return
        if self._json:
            message = f"{method} {path} {status} {reason}"
            self.line("info", message, method=method, path=path, status=status, ms=round(ms, 1))
            return
        if self.coloured:
            colour = STATUS_COLOURS.get(status // 100, OTHER_STATUS)
            shown = f"{BOLD}{method}{RESET} {path} {colour}{BOLD}{status} {reason}{RESET}"
            line = f"[wrangler:info] {shown} {GREY}({ms:.0f}ms){RESET}"
        else:
            line = f"[wrangler:info] {method} {path} {status} {reason} ({int(ms + 0.5)}ms)"
        self._waiting.append(line)
        if self.defer is None:
            self.flush()
        elif len(self._waiting) == 1:
            self.defer(self.flush)

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting:
            text = "\n".join(self._waiting) + "\n"
            self._waiting.clear()
            out = self.out
            out.write(text)
            out.flush()

    def _write(self, text: str) -> None:
        self._waiting.append(text)
        self.flush()


class Terminal(io.TextIOWrapper):
    """A standard stream, line by line, that lets `before` write what waits first.

    `unheard` is called when its reader has gone; what follows is dropped.
    """

    def __init__(self, fd: int, before: Callable[[], None], unheard: Callable[[], object]) -> None:
        super().__init__(
            io.BufferedWriter(io.FileIO(fd, "wb", closefd=False)),
            encoding="utf-8",
            errors="backslashreplace",
            line_buffering=True,
        )
        self._fd, self._before, self._unheard = fd, before, unheard

    def write(self, text: str) -> int:
        self._before()
        try:
            return super().write(text)
        except BrokenPipeError:
            self._hang_up()
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            self._hang_up()

    def _hang_up(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._fd)
        os.close(nowhere)
        self._unheard()


class Spoken(io.TextIOBase):
    """A standard stream of `--log-format json`: each line that is printed becomes an object."""

    encoding = "utf-8"

    def __init__(self, log: Log, beneath: Terminal, stream: str) -> None:
        self._log, self._terminal, self._stream = log, beneath, stream
        self._rest = ""

    @property
    def buffer(self) -> Any:
        return self._terminal.buffer

    def fileno(self) -> int:
        return self._terminal.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self.say("log", line)
        return len(text)

    def say(self, level: str, text: str) -> None:
        self._log.spoken(level, text, self._stream)


def take_terminal(log: Log, unheard: Callable[[], object]) -> None:
    """From now on `print` and `log` share one order, and nothing waits in a buffer after its line. `unheard` is called
    once, when nobody reads them any more."""
    heard = True

    def hung_up() -> None:
        nonlocal heard
        if heard:
            heard = False
            unheard()

    out, err = Terminal(1, log.flush, hung_up), Terminal(2, log.flush, hung_up)
    if log.takes_prints(out):
        sys.stdout, sys.stderr = Spoken(log, out, "stdout"), Spoken(log, out, "stderr")
    else:
        sys.stdout, sys.stderr = out, err
