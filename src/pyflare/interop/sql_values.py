"""Rows of SQLite as JavaScript values.

Every number is a double for JavaScript: a whole REAL comes out as `int`, an INTEGER beyond 2**53 - 1 as the nearest
`float`. What a BLOB becomes is the caller's choice. In an object the last of several columns of one name wins, and
names that look like array indexes come first, as everywhere in JavaScript.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pyflare.interop.buffers import ArrayBuffer
from pyflare.interop.proxy import JsObject, jsnull

MAX_SAFE = 2**53 - 1

Blob = Callable[[bytes], Any]


def value(cell: Any, blob: Blob = ArrayBuffer.make) -> Any:
    """One cell."""
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


def objects(columns: Sequence[str], rows: Iterable[Sequence[Any]], blob: Blob = ArrayBuffer.make) -> list[JsObject]:
    """An object a row."""
    if any(name.isdigit() for name in columns):
        names = sorted(columns, key=_index_first)
        return [_object(names, dict(zip(columns, row, strict=False)), blob) for row in rows]
    made = []
    for row in rows:
        one: JsObject = JsObject.__new__(JsObject)
        one.__dict__ = {name: value(cell, blob) for name, cell in zip(columns, row, strict=False)}
        made.append(one)
    return made


def arrays(rows: Iterable[Sequence[Any]], blob: Blob = ArrayBuffer.make) -> list[list[Any]]:
    """The cells of each row."""
    return [[value(cell, blob) for cell in row] for row in rows]


def _object(names: Sequence[str], cells: dict[str, Any], blob: Blob) -> JsObject:
    made: JsObject = JsObject.make((name, value(cells[name], blob)) for name in names)
    return made


def _index_first(name: str) -> tuple[int, int]:
    is_index = name.isascii() and name.isdigit() and str(int(name)) == name
    return (0, int(name)) if is_index else (1, 0)
