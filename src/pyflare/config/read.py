"""Read a configuration file: JSONC or TOML, always UTF-8, faults with line and column.

JSONC is cleaned by two regular expressions, which put blanks where comments and trailing commas were, and then read by
`json`: it is as strict as wrangler's reader, fast, and positions stay true.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NoReturn

from pyflare.config.diagnostics import Diagnostics
from pyflare.errors import ConfigError

_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|(?P<gap>//[^\n]*|/\*.*?\*/)|(?P<open>/\*)", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|(?P<gap>,)(?=\s*[}}\]])")
_BRACKET = re.compile(rf"{_STRING}|(?P<open>[{{\[])|(?P<close>[}}\]])")
_NOT_NEWLINE = re.compile(r"[^\n]")
_TOML_POSITION = r" \(at (?:line (\d+), column (\d+)|end of document)\)$"
_SHOWN_LINE_CHARACTERS = 80

# UTF-32 LE begins as UTF-16 LE does, so it stands first.
_OTHER_ENCODINGS = {
    b"\x00\x00\xfe\xff": "UTF-32 BE",
    b"\xff\xfe\x00\x00": "UTF-32 LE",
    b"\xfe\xff": "UTF-16 BE",
    b"\xff\xfe": "UTF-16 LE",
}


def read_text(path: Path, shown: Path) -> str:
    """The file as text, without a byte order mark; faults call it `shown`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{shown}: cannot be read: {error.strerror}") from error
    for mark, encoding in _OTHER_ENCODINGS.items():
        if data.startswith(mark):
            raise ConfigError(f"{shown}: is {encoding}; save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        byte = data[error.start]
        raise ConfigError(f"{shown}:{line}:{column}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8") from error


def read_config(path: Path, diagnostics: Diagnostics) -> dict[str, Any]:
    """The object that a configuration file holds; what cannot be read at all raises `ConfigError`."""
    shown = diagnostics.file or path
    text = read_text(path, shown)
    if _is_toml(path, text):
        return parse_toml(text, shown)
    return parse_jsonc(text, shown, diagnostics)


def parse_toml(text: str, shown: Path) -> dict[str, Any]:
    import tomli  # noqa: PLC0415  (slow to import, and JSONC is the usual form)

    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        match = re.search(_TOML_POSITION, str(error))
        last = (text.count("\n") + 1, 1)
        line, column = (int(match[1]), int(match[2])) if match and match[1] else last
        _syntax_fault(shown, text, line, column, str(error)[: match.start()] if match else str(error))


def parse_jsonc(text: str, shown: Path, diagnostics: Diagnostics) -> dict[str, Any]:
    """JSON with comments and trailing commas; of a key that stands twice the last counts, with a warning."""

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            for key in sorted({key for key in keys if keys.count(key) > 1}):
                diagnostics.warn(f'The key "{key}" stands twice in one object; the last one counts.')
        return found

    cleaned = _TRAILING_COMMA.sub(_blanked, _without_comments(text, shown))
    try:
        data = json.loads(cleaned, object_pairs_hook=without_duplicates, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        if error.pos >= len(cleaned.rstrip()) and (opened := _unclosed(cleaned)):
            _fault_at(shown, text, opened[-1], "this is never closed")
        _syntax_fault(shown, text, error.lineno, error.colno, error.msg)
    except _NoConstant as error:
        raise ConfigError(f"{shown}: {error} is not JSON") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{shown}: expected an object in braces, got {type(data).__name__}")
    return data


class _NoConstant(ValueError):
    """NaN, Infinity or -Infinity."""


def _no_constant(name: str) -> NoReturn:
    raise _NoConstant(name)


def _without_comments(text: str, shown: Path) -> str:
    def blanked(match: re.Match[str]) -> str:
        if match["open"]:
            _fault_at(shown, text, match.start(), "this comment is never closed")
        return _blanked(match)

    return _COMMENT.sub(blanked, text)


def _unclosed(text: str) -> list[int]:
    """Where the braces and brackets stand that nothing closes, from the outermost."""
    opened: list[int] = []
    for match in _BRACKET.finditer(text):
        if match["open"]:
            opened.append(match.start())
        elif match["close"] and opened:
            opened.pop()
    return opened


def _blanked(match: re.Match[str]) -> str:
    return _NOT_NEWLINE.sub(" ", match[0]) if match["gap"] else match[0]


def _fault_at(shown: Path, text: str, position: int, message: str) -> NoReturn:
    _syntax_fault(shown, text, text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position), message)


def _syntax_fault(shown: Path, text: str, line: int, column: int, message: str) -> NoReturn:
    lines = text.split("\n")
    content = lines[line - 1].strip()[:_SHOWN_LINE_CHARACTERS] if line <= len(lines) else ""
    quoted = f"\n    {content}" if content else ""
    raise ConfigError(f"{shown}:{line}:{column}: {message[:1].lower()}{message[1:]}{quoted}")


def _is_toml(path: Path, text: str) -> bool:
    """By the ending; a file of any other name is JSONC when it begins with a brace or a comment of that language."""
    if path.suffix in (".toml", ".json", ".jsonc"):
        return path.suffix == ".toml"
    return not text.lstrip().startswith(("{", "//", "/*"))
