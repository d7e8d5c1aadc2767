"""Results of SQL as wrangler prints them."""

from __future__ import annotations

import json
import math
from typing import Any

from pyflare.engines.d1.script import Answer, Outcome

MAX_SAFE = 2**53 - 1

HEAD = '  {\n    "results": '
MIDDLE = ',\n    "success": true,\n    "meta": {\n      "duration": '
TAIL = "\n    }\n  }"


def as_rows(answer: Answer) -> list[dict[str, Any]]:
    """Rows as JSON can hold them: a BLOB is the text `[1, 2]`."""
    return [{name: _plain(cell) for name, cell in zip(answer.columns, row, strict=True)} for row in answer.rows]


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return f"[{', '.join(map(str, cell))}]"
    if isinstance(cell, float):
        if not math.isfinite(cell):
            return None
        return int(cell) if cell.is_integer() and abs(cell) <= MAX_SAFE else cell
    return cell


def as_json(value: Any) -> str:
    """As `JSON.stringify(value, null, 2)`; of an outcome or of plain data."""
    if not isinstance(value, Outcome):
        return json.dumps(value, indent=2, ensure_ascii=False)
    # Tens of thousands of INSERTs are usual, of which many take the same time.
    without_rows = {duration: _statement("[]", duration) for duration in set(value.durations)}
    shown = [without_rows[duration] for duration in value.durations]
    for at, answer in value.answers.items():
        rows = json.dumps(as_rows(answer), indent=2, ensure_ascii=False).replace("\n", "\n    ")
        shown[at] = _statement(rows, value.durations[at])
    return "[\n" + ",\n".join(shown) + "\n]"


def _statement(results: str, duration: int) -> str:
    return f"{HEAD}{results}{MIDDLE}{duration / 1e6:.4f}{TAIL}"
