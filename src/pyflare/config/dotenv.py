"""The dialect of `.dev.vars` and `.env` files that wrangler reads, which is that of npm's `dotenv`.

It is not python-dotenv's: an unquoted value ends at any `#`, also one without a blank before it; a quoted one may be in
backticks and span lines; only `\\n` and `\\r` mean something, and only between double quotes; a line that is no
assignment is passed over. References such as `${NAME}` are left alone by `parse`. Wrangler expands them in `.env`
files and not in `.dev.vars`; `expand` does it, and knows only names that stand earlier.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_ASSIGNMENT = r"""(?mx)
    ^ \s* (?:export\s+)? (?P<name>[A-Za-z0-9_.-]+) (?: \s*= | :\s )
    (?P<value> \s*'(?:\\'|[^'])*' | \s*"(?:\\"|[^"])*" | \s*`(?:\\`|[^`])*` | [^\#\n]* )
    [^\S\n]* (?P<rest>\#.*)? $
"""
_REFERENCE = r"(?<!\\)\$(?:\{(?P<braced>[^{}]+)\}|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))"
_OPERATOR = r":\+|\+|:-|-"
_QUOTES = "'\"`"
_MAX_REFERENCES = 1000  # in one value; names of the environment may refer to each other without end


@dataclass(frozen=True)
class Dotenv:
    """What a file assigns; `cut` names the values that lost their end to a `#` that nothing precedes."""

    values: Mapping[str, str]
    cut: tuple[str, ...] = ()


def parse(text: str) -> Dotenv:
    """The assignments of a file, the last of a name winning."""
    values: dict[str, str] = {}
    cut: list[str] = []
    for match in re.finditer(_ASSIGNMENT, text.replace("\r\n", "\n").replace("\r", "\n")):
        name, raw = match["name"], match["value"]
        values[name] = _unquoted(raw.strip())
        if match["rest"] and raw and not raw[-1].isspace() and raw[-1] not in _QUOTES:
            cut.append(name)
    return Dotenv(values, tuple(cut))


def expand(values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` and `values` in one, with references replaced. What `environ` holds wins over a file's value."""
    known: dict[str, str] = {}
    for name, value in values.items():
        known[name] = (environ.get(name) or _expanded(value, {**known, **environ})).replace("\\$", "$")
    return {**environ, **known}


def _unquoted(value: str) -> str:
    quote = value[:1]
    inner = value[1:-1] if len(value) > 1 and quote in _QUOTES and value[-1] == quote else value
    return inner.replace("\\n", "\n").replace("\\r", "\r") if quote == '"' else inner


def _expanded(value: str, known: Mapping[str, str]) -> str:
    """Replace references from the left until none is left; one that leads back to itself becomes its default."""
    seen: set[str] = set()
    for _ in range(_MAX_REFERENCES):
        match = re.search(_REFERENCE, value)
        if match is None:
            break
        seen.add(value)
        found = _looked_up(match["braced"] or match["bare"], known)
        if found in seen:
            found = ""
        value = value[: match.start()] + found + value[match.end() :]
    return value


def _looked_up(expression: str, known: Mapping[str, str]) -> str:
    """`NAME`, `NAME:-default` (also for an empty value) or `NAME:+instead`."""
    operator = re.search(_OPERATOR, expression)
    if operator is None:
        return known.get(expression, "")
    value, operand = known.get(expression[: operator.start()], ""), expression[operator.end() :]
    if "+" in operator[0]:
        return operand if value else ""
    return value or operand
