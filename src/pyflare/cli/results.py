"""Results of SQL as wrangler prints them."""

from __future__ import annotations

import json
import math
from typing import Any

from pyflare.engines.d1.script import Outcome

MAX_SAFE = 2**53 - 1

HEAD = '  {\n    "results": '
MIDDLE = ',\n    "success": true,\n    "meta": {\n      "duration": '
TAIL = "\n    }\n  }"


def as_rows(outcome: Outcome) -> list[dict[str, Any]]:
    """Rows as JSON can hold them: a BLOB is the text `[1, 2]`."""
    return [{name: _plain(cell) for name, cell in zip(outcome.columns, row, strict=True)} for row in outcome.rows]


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return f"[{', '.join(map(str, cell))}]"
    if isinstance(cell, float):
        if not math.isfinite(cell):
            return None
        return int(cell) if cell.is_integer() and abs(cell) <= MAX_SAFE else cell
    return cell


def as_json(value: Any) -> str:
    """As `JSON.stringify(value, null, 2)`; of outcomes or of plain data."""
    if not isinstance(value, list):
        return json.dumps(value, indent=2, ensure_ascii=False)
    # Tens of thousands of INSERTs are usual: `json.dumps` with an indent would take longer than SQLite did.
    return "[\n" + ",\n".join([_outcome(one) for one in value]) + "\n]"


def _outcome(outcome: Outcome) -> str:
    results = "[]"
    if outcome.rows:
        results = json.dumps(as_rows(outcome), indent=2, ensure_ascii=False).replace("\n", "\n    ")
    return f"{HEAD}{results}{MIDDLE}{outcome.duration:.4f}{TAIL}"
