"""`DELETE` and `UPDATE` with `ORDER BY` and `LIMIT`, which apsw's SQLite is built without and workerd's with.

SQLite itself makes of such a statement one whose `WHERE` asks for the keys of the rows (`sqlite3LimitWhere`); here its
text is made so, after apsw has refused it. Anonymous parameters keep their order unless `RETURNING` has some. Left out:
`UPDATE … FROM`. Offsets in errors are those in the text that was made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import apsw

from pyflare.storage.sql_guard import SqlError

TOKEN = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*|/\*.*?(?:\*/|$))
    |(?P<word>[^\W\d][\w$]*)
    |'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]
    |.
    """,
    re.VERBOSE | re.DOTALL,
)
CLAUSES = ("WHERE", "RETURNING", "ORDER", "LIMIT")  # in the order in which they may stand
QUOTES = ("'", '"', "`", "[")
REFUSED = re.compile(r'near "(order|limit)": syntax error', re.IGNORECASE)

# Of a table without rowids the columns of the primary key, else nothing.
KEYS = """
    SELECT group_concat(format('"%w"', name)) FROM pragma_table_info(?1)
    WHERE pk AND (SELECT max(wr) FROM pragma_table_list(?1))
"""


def needs_limit(fault: Exception) -> bool:
    """Whether this is how apsw's SQLite refuses such a statement."""
    return REFUSED.match(str(fault)) is not None


def without_limit(connection: apsw.Connection, sql: str) -> str | None:
    """The same statement without `ORDER BY` and `LIMIT` of its own; None: it has none. Raises `SqlError`."""
    sql = TOKEN.sub(lambda token: " " if token["blank"] else token[0], sql).strip("; ")
    words = list(_outer_words(sql))
    verb = next((word for word in words if word[0] in ("DELETE", "UPDATE")), None)
    if verb is None or words[0][0] not in ("DELETE", "UPDATE", "WITH", "EXPLAIN"):
        return None
    begins = _table(words, words.index(verb))
    starts = _clauses(words, begins)
    present = [starts[word] for word in CLAUSES if word in starts]
    if "LIMIT" not in starts and "ORDER" in starts:
        raise SqlError(f"ORDER BY without LIMIT on {verb[0]}: SQLITE_ERROR")
    if (
        "LIMIT" not in starts
        or "FROM" in starts
        or present != sorted(present)
        or ("SET" in starts) != (verb[0] == "UPDATE")
    ):
        return None
    ends = sorted([*starts.values(), len(sql)])

    def part(start: int) -> str:
        return sql[start : min(end for end in ends if end > start)]

    table = part(begins)
    key = _key(connection, table)
    where, returning, order, limit = (part(starts[word]) if word in starts else "" for word in CLAUSES)
    chosen = f"SELECT {key} FROM {table} {where} {order} {limit}"
    return f"{sql[: present[0]]} WHERE ({key}) IN ({chosen}) {returning}"


Word = tuple[str, int, int]  # in capitals; where it begins and ends


def _outer_words(sql: str) -> Iterator[Word]:
    """The words outside of brackets."""
    depth = 0
    for token in TOKEN.finditer(sql):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if token["word"] and depth == 0:
            yield token[0].upper(), token.start(), token.end()


def _table(words: list[Word], at: int) -> int:
    """Where the table's name begins: behind `DELETE FROM`, `UPDATE` or `UPDATE OR IGNORE`."""
    following = [word for word, *_ in words[at + 1 : at + 2]]
    return words[at + {"FROM": 1, "OR": 2}.get("".join(following), 0)][2]


def _clauses(words: list[Word], begins: int) -> dict[str, int]:
    """Where the clauses behind the table begin."""
    starts: dict[str, int] = {}
    before = ""
    for word, start, _ in words:
        is_clause = word in CLAUSES or word == "SET" or (word == "FROM" and before != "DISTINCT")
        if start >= begins and is_clause:
            starts.setdefault(word, start)
        before = word
    return starts


def _key(connection: apsw.Connection, table: str) -> str:
    """What tells one row of a table from another; `table`: its name, an alias and the like behind it."""
    tokens = [token[0] for token in TOKEN.finditer(table) if not token["blank"]]
    name = "".join(tokens[2:3] if tokens[1:2] == ["."] else tokens[:1])
    if name[:1] in QUOTES:
        name = name[1:-1].replace(name[-1] * 2, name[-1])
    ((key,),) = connection.execute(KEYS, (name,))
    return key or "_rowid_"


def first_end(text: str) -> int:
    """Where the first statement of a text ends, with its semicolon; not for triggers."""
    return next((token.end() for token in TOKEN.finditer(text) if token[0] == ";"), len(text))
