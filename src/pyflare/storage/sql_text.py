"""What is seen in the text of a statement, where apsw reads it otherwise than workerd."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

EMPTY_END = re.compile(r";\s*;\s*\Z")


def has_empty_end(sql: str) -> bool:
    """Whether nothing but a semicolon follows the last statement of a text, which apsw passes over."""
    return sql.endswith(";") and EMPTY_END.search(sql) is not None and "--" not in sql[sql.rfind("\n") + 1 :]


def with_bytes(sql: str, width: int) -> str:
    """A query of `width` columns that gives its text as bytes, and in one more column the types of the others."""
    names = [f"c{number}" for number in range(width)]
    cells = [f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END" for name in names]
    types = " || ',' || ".join(f"typeof({name})" for name in names)
    return f"WITH given({', '.join(names)}) AS ({sql.rstrip('; ')}\n) SELECT {', '.join(cells)}, {types} FROM given"


def decoded(row: Sequence[Any]) -> tuple[Any, ...]:
    """A row of `with_bytes`, as JavaScript reads it: U+FFFD for what is not UTF-8."""
    *cells, types = row
    return tuple(
        [
            cell.decode("utf-8", "replace") if kind == "text" else cell
            for cell, kind in zip(cells, types.split(","), strict=True)
        ]
    )
