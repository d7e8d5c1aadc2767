"""Lines on the terminal. One formatter; `--log-format json` gives one object a line instead."""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO

LEVELS = {"debug": 10, "info": 20, "log": 20, "warn": 30, "error": 40, "none": 100}
COLOURS = {"debug": "\x1b[2m", "info": "", "log": "", "warn": "\x1b[33m", "error": "\x1b[31m"}


class Log:
    """`log.info("GET / 200 OK")` prints `[wrangler:info] GET / 200 OK`; fields go to JSON lines only.

    `enabled(level)` is asked before a line is made on a hot path. `once(key, …)` says a thing a single time.
    """

    def __init__(self, level: str = "log", form: str = "text", out: TextIO | None = None) -> None:
        self._threshold = LEVELS[level]
        self._json = form == "json"
        self._out = out
        self._said: set[str] = set()

    @property
    def out(self) -> TextIO:
        return self._out or sys.stdout

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
        if key not in self._said:
            self._said.add(key)
            self.line(level, text)

    def line(self, level: str, text: str, **fields: Any) -> None:
        if not self.enabled(level):
            return
        out = self.out
        if self._json:
            out.write(json.dumps({"level": level, "message": text, **fields}, default=str) + "\n")
        else:
            colour = COLOURS[level] if out.isatty() else ""
            out.write(f"{colour}[wrangler:{level}] {text}{colour and chr(27) + '[0m'}\n")
        out.flush()
