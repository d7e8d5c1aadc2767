"""Records of a pipeline, one JSON object a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def file_of(folder: Path, name: str) -> Path:
    return folder / (re.sub(r"[^A-Za-z0-9_.-]", "_", name) + ".ndjson")


def append(path: Path, lines: Sequence[str]) -> None:
    """Add lines in one write: a killed process leaves none of them in part."""
    with path.open("ab", buffering=0) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def latest(path: Path, count: int) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()[-count:]
    except OSError:
        return []
