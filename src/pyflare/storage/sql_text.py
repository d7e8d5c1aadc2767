"""What is seen in the text of a statement, where apsw's SQLite reads it otherwise than workerd's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

TOKEN = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*|/\*.*?(?:\*/|$))
    |(?P<word>[^\W\d][\w$]*)
    |'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]
    |.
    """,
    re.VERBOSE | re.DOTALL,
)
CLAUSES = ("WHERE", "RETURNING", "ORDER", "LIMIT")
NO_LIMIT = re.compile(r'near "(order|limit)": syntax error', re.IGNORECASE)
EMPTY_END = re.compile(r";\s*;\s*\Z")


def has_empty_end(sql: str) -> bool:
    """Whether nothing but a semicolon follows the last statement of a text, which apsw passes over."""
    return sql.endswith(";") and EMPTY_END.search(sql) is not None and "--" not in sql[sql.rfind("\n") + 1 :]


def without_limit(sql: str) -> str | None:
    """A `DELETE` or `UPDATE` with `ORDER BY` or `LIMIT`, written as one whose `WHERE` asks for the rows; apsw's SQLite
    is built without them. None: it is no such statement.

    So does SQLite itself (`sqlite3LimitWhere`). Anonymous parameters keep their order unless `RETURNING` has some.
    """
    sql = TOKEN.sub(lambda token: " " if token["blank"] else token[0], sql).rstrip("; ")
    verb = ""
    begins = 0  # of the table's name
    starts: dict[str, int] = {}  # of the clauses, in the order of the text
    before = ""
    for word, start, end in _outer_words(sql):
        if not verb:
            verb = word if word in ("DELETE", "UPDATE") else ""
            begins = end
        elif verb == "DELETE" and word == "FROM" and "FROM" not in starts:
            begins = end
            starts["FROM"] = start
        elif before == "OR" and not starts:  # UPDATE OR IGNORE …
            begins = end
        elif verb == "UPDATE" and word == "FROM" and before != "DISTINCT" and "WHERE" not in starts:
            return None  # joins other tables
        elif (word in CLAUSES or word == "SET") and word not in starts:
            starts[word] = start
        before = word
    if not starts.keys() & {"ORDER", "LIMIT"}:
        return None
    ends = sorted([*starts.values(), len(sql)])

    def part(start: int) -> str:
        return sql[start : min(end for end in ends if end > start)]

    where, returning, *rest = (part(starts[word]) if word in starts else "" for word in CLAUSES)
    head = sql[: min(starts[word] for word in CLAUSES if word in starts)]
    return " ".join([f"{head} WHERE _rowid_ IN (SELECT _rowid_ FROM {part(begins)}", where, *rest, f") {returning}"])


def needs_limit(fault: Exception) -> bool:
    """Whether this is how apsw's SQLite refuses such a statement."""
    return NO_LIMIT.match(str(fault)) is not None


def first_end(text: str) -> int:
    """Where the first statement of a text ends, with its semicolon; not for triggers."""
    return next((token.end() for token in TOKEN.finditer(text) if token[0] == ";"), len(text))


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


def _outer_words(sql: str) -> Iterator[tuple[str, int, int]]:
    """The words outside of brackets, in capitals, and where they stand."""
    depth = 0
    for token in TOKEN.finditer(sql):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if token["word"] and depth == 0:
            yield token[0].upper(), token.start(), token.end()
