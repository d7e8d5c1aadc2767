"""What a worker may leave out here but not when it is deployed: one warning each, with the line to add.

Of missing migrations the room of Durable Objects warns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyflare.config.diagnostics import Diagnostics


class Advice:
    """Warnings in the language of one file: `toml` or JSONC."""

    def __init__(self, diagnostics: Diagnostics, toml: bool = False) -> None:
        self._diagnostics = diagnostics
        self._toml = toml

    def name(self, used: str) -> None:
        self._warn(f'No name was specified. The worker is called "{used}" here.', self._line("name", used))

    def compatibility_date(self, used: str) -> None:
        sentence = f"No compatibility_date was specified. Using today's date: {used}."
        self._warn(sentence, self._line("compatibility_date", used))

    def python_workers(self, given: Sequence[str]) -> None:
        sentence = "The python_workers compatibility flag is required to use Python on Cloudflare."
        self._warn(sentence, self._line("compatibility_flags", [*given, "python_workers"]))

    def _line(self, key: str, value: Any) -> str:
        written = json.dumps(value, ensure_ascii=False)
        return f"{key} = {written}" if self._toml else f'"{key}": {written},'

    def _warn(self, sentence: str, line: str) -> None:
        self._diagnostics.warn(f"{sentence} Add:\n    {line}")
