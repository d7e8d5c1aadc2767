"""A table in a box, as wrangler draws its tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line a row, with the keys of the first as heads; a cell may have several lines."""
    heads = list(rows[0]) if rows else []
    lines = [[_lines(row.get(head, "")) for head in heads] for row in rows]
    cells = [[[head] for head in heads], *lines]
    widths = [max(_width(line) for row in cells for line in row[at]) for at in range(len(heads))]
    rule = [("─" * (width + 2)) for width in widths]
    between = f"\n├{'┼'.join(rule)}┤\n"
    body = between.join(_row(row, widths) for row in cells)
    return f"┌{'┬'.join(rule)}┐\n{body}\n└{'┴'.join(rule)}┘"


def _row(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    height = max((len(lines) for lines in cells), default=0)
    padded = [[*lines, *[""] * (height - len(lines))] for lines in cells]
    return "\n".join(
        "│ " + " │ ".join(_fill(lines[at], width) for lines, width in zip(padded, widths, strict=True)) + " │"
        for at in range(height)
    )


def _lines(value: Any) -> list[str]:
    return str(value).split("\n")


def _fill(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Columns on a terminal."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
