"""Rows of SQLite as JavaScript values.

Every number is a double for JavaScript: a whole REAL comes out as `int`, an INTEGER beyond 2**53 - 1 as the nearest
`float`. What a BLOB becomes is the caller's choice. In an object the last of several columns of one name wins, and
names that look like array indexes come first, as everywhere in JavaScript.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyflare.interop.buffers import ArrayBuffer
from pyflare.interop.containers import index_rank
from pyflare.interop.proxy import JsObject, jsnull

MAX_SAFE = 2**53 - 1

Convert = Callable[[Any], Any]


def value(cell: Any, blob: Convert = ArrayBuffer.make) -> Any:
    """One cell; `blob` is told what to do with bytes."""
    kind = type(cell)
    if kind is str:
        return cell
    if kind is int:
        return cell if -MAX_SAFE <= cell <= MAX_SAFE else float(cell)
    if cell is None:
        return jsnull
    if kind is float:
        return int(cell) if cell.is_integer() and -MAX_SAFE <= cell <= MAX_SAFE else cell
    return blob(cell)


def objects(columns: Sequence[str], rows: Iterable[Sequence[Any]], convert: Convert = value) -> list[JsObject]:
    """An object a row."""
    names = sorted(columns, key=index_rank) if any(map(str.isdigit, columns)) else None
    made = []
    for row in rows:
        one: JsObject = JsObject.__new__(JsObject)
        cells = dict(zip(columns, map(convert, row), strict=False))
        one.__dict__ = cells if names is None else {name: cells[name] for name in names}
        made.append(one)
    return made


def arrays(rows: Iterable[Sequence[Any]], convert: Convert = value) -> list[list[Any]]:
    """The cells of each row."""
    return [[convert(cell) for cell in row] for row in rows]
