"""Pattern strings of URLPattern: read into parts, written again in their shortest form and as a regular expression.

Source: urlpattern.spec.whatwg.org, "Pattern strings".
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from pyflare.interop.web.url_pattern_class import PatternError
from pyflare.interop.web.url_pattern_regexp import translate

# Kinds of tokens. A character that begins something which does not end is `INVALID`, where that is allowed.
CHAR, ESCAPED, INVALID, NAME, REGEXP, OPEN, CLOSE, ASTERISK, MODIFIER, END = range(10)
_SIGNS = {"*": ASTERISK, "+": MODIFIER, "?": MODIFIER, "{": OPEN, "}": CLOSE}

_ID_START = frozenset("$_\u1885\u1886\u2118\u212e\u309b\u309c")
_ID_CONTINUE = frozenset(
    "\u00b7\u0387\u1369\u136a\u136b\u136c\u136d\u136e\u136f\u1370\u1371\u19da\u200c\u200d\u30fb\uff65"
)
_IN_PATTERN = re.compile(r"[+*?:{}()\\]")
_IN_REGEXP = re.compile(r"[.+*?^${}()\[\]|/\\]")

Encode = Callable[[str], str]


class Token(NamedTuple):
    kind: int
    start: int
    value: str


class Part(NamedTuple):
    """A piece of a pattern: fixed text (`kind` is CHAR), or a group between a prefix and a suffix, and how often."""

    kind: int  # CHAR; or REGEXP, NAME for `:name`, ASTERISK
    value: str
    modifier: str = ""
    name: str = ""
    prefix: str = ""
    suffix: str = ""


class Component(NamedTuple):
    """The compiled pattern of one part of a URL."""

    pattern: str
    regexp: re.Pattern[str]
    groups: tuple[tuple[str, str], ...]  # their names and those in `regexp`, in the order of a result's keys
    has_regexp_groups: bool

    def match(self, text: str) -> dict[str, str | None] | None:
        """What the groups caught, None where one caught nothing; None when `text` does not match."""
        found = self.regexp.match(text)
        if found is None:
            return None
        return {name: found[group] for name, group in self.groups}


def tokenize(text: str, lenient: bool = False) -> list[Token]:
    """The tokens of a pattern, the last one END; PatternError for an invalid one unless `lenient`."""
    tokens, at = [], 0
    while at < len(text):
        char, value, kind = text[at], text[at], INVALID
        end = at + 1
        if char in _SIGNS:
            kind = _SIGNS[char]
        elif char not in "\\:(":
            kind = CHAR
        elif char == "\\" and end < len(text):
            kind, value, end = ESCAPED, text[end], end + 1
        elif char == ":" and (last := _end_of_name(text, end)) > end:
            kind, value, end = NAME, text[end:last], last
        elif char == "(" and (last := _end_of_regexp(text, end)) > end:
            kind, value, end = REGEXP, text[end:last], last + 1
        if kind == INVALID and not lenient:
            raise PatternError(f"invalid character at {at}")
        tokens.append(Token(kind, at, value))
        at = end
    return [*tokens, Token(END, at, "")]


def in_name(char: str, first: bool = False) -> bool:
    """Whether a name may have the character, as JavaScript's identifiers do."""
    category = unicodedata.category(char)
    if char in _ID_START or category[0] == "L" or category == "Nl":
        return char not in "\u2e2f"
    return not first and (category in ("Mn", "Mc", "Nd", "Pc") or char in _ID_CONTINUE)


def _end_of_name(text: str, start: int) -> int:
    at = start
    while at < len(text) and in_name(text[at], at == start):
        at += 1
    return at


def _end_of_regexp(text: str, start: int) -> int:
    """Where the parenthesis closes; 0 when it does not, or what is inside is not allowed."""
    at, depth = start, 1
    if text.startswith("?", start):
        return 0
    while at < len(text) and text[at].isascii():
        char = text[at]
        if char == "\\":
            at += 1
            if not text[at : at + 1].isascii():
                return 0
        elif char == ")":
            depth -= 1
            if depth == 0:
                return at
        elif char == "(":
            depth += 1
            if text[at + 1 : at + 2] != "?":
                return 0
        at += 1
    return 0


def escape_pattern(text: str) -> str:
    return _IN_PATTERN.sub(r"\\\g<0>", text)


def _escape_regexp(text: str) -> str:
    return _IN_REGEXP.sub(r"\\\g<0>", text)


@functools.lru_cache(maxsize=512)
def compile_component(
    text: str, encode: Encode, delimiter: str = "", prefix: str = "", ignore_case: bool = False
) -> Component:
    """A pattern string for one part of a URL, whose fixed text `encode` makes canonical; raises PatternError."""
    parts = _Parser(text, encode, delimiter, prefix).parse()
    regexp = "".join(_regexp(part, delimiter) for part in parts)
    groups = [part for part in parts if part.kind != CHAR]
    return Component(
        _pattern(parts, delimiter, prefix),
        translate(f"^{regexp}$", ignore_case),
        tuple(_in_order([(part.name, f"g{at}") for at, part in enumerate(groups, 1)])),
        any(part.kind == REGEXP for part in parts),
    )


def _in_order(groups: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Numbers first, as in every object of JavaScript; then names from the last, as the runtime's hash table has two
    always and more mostly."""
    named = [group for group in groups if not group[0].isdigit()]
    return [group for group in groups if group[0].isdigit()] + named[::-1]


class _Parser:
    def __init__(self, text: str, encode: Encode, delimiter: str, prefix: str) -> None:
        self._tokens = tokenize(text)
        self._at = 0
        self._encode = encode
        self._segment = _segment(delimiter)
        self._prefix = prefix
        self._parts: list[Part] = []
        self._fixed = ""  # text that is not encoded and no part yet
        self._unnamed = 0

    def _take(self, *kinds: int) -> Token | None:
        token = self._tokens[self._at]
        if token.kind not in kinds:
            return None
        self._at += 1
        return token

    def _group(self) -> tuple[Token | None, Token | None]:
        name = self._take(NAME)
        return name, self._take(REGEXP) if name else self._take(REGEXP, ASTERISK)

    def _text(self) -> str:
        text = ""
        while token := self._take(CHAR, ESCAPED):
            text += token.value
        return text

    def parse(self) -> list[Part]:
        while self._tokens[self._at].kind != END:
            char = self._take(CHAR)
            name, value = self._group()
            if name or value:
                prefix = char.value if char else ""
                if prefix != self._prefix:
                    self._fixed += prefix
                    prefix = ""
                self._add(prefix, name, value, "")
            elif fixed := char or self._take(ESCAPED):
                self._fixed += fixed.value
            elif self._take(OPEN):
                prefix = self._text()
                name, value = self._group()
                suffix = self._text()
                if not self._take(CLOSE):
                    raise PatternError("a group is not closed")
                self._add(prefix, name, value, suffix)
            else:
                raise PatternError("a modifier or a bracket without a group")
        self._flush()
        return self._parts

    def _flush(self) -> None:
        if self._fixed:
            self._parts.append(Part(CHAR, self._encode(self._fixed)))
            self._fixed = ""

    def _add(self, prefix: str, name: Token | None, value: Token | None, suffix: str) -> None:
        modifier = self._take(MODIFIER, ASTERISK)
        sign = modifier.value if modifier else ""
        if not (name or value or modifier):
            self._fixed += prefix
            return
        self._flush()
        if not (name or value):
            if prefix:
                self._parts.append(Part(CHAR, self._encode(prefix), sign))
            return
        regexp = value.value if value else self._segment
        if value and value.kind == ASTERISK:
            regexp = ".*"
        kind = {self._segment: NAME, ".*": ASTERISK}.get(regexp, REGEXP)
        label = name.value if name else str(self._unnamed)
        self._unnamed += not name
        if any(part.name == label for part in self._parts):
            raise PatternError(f"two groups are named {label}")
        self._parts.append(
            Part(kind, regexp if kind == REGEXP else "", sign, label, self._encode(prefix), self._encode(suffix))
        )


def _segment(delimiter: str) -> str:
    return f"[^{_escape_regexp(delimiter)}]+?"


def _regexp(part: Part, delimiter: str) -> str:
    sign = part.modifier
    if part.kind == CHAR:
        text = _escape_regexp(part.value)
        return f"(?:{text}){sign}" if sign else text
    value = {NAME: _segment(delimiter), ASTERISK: ".*"}.get(part.kind, part.value)
    before, after = _escape_regexp(part.prefix), _escape_regexp(part.suffix)
    if not (before or after):
        return f"({value}){sign}" if sign in ("", "?") else f"((?:{value}){sign})"
    if sign in ("", "?"):
        return f"(?:{before}({value}){after}){sign}"
    return f"(?:{before}((?:{value})(?:{after}{before}(?:{value}))*){after}){'?' if sign == '*' else ''}"


def _pattern(parts: list[Part], delimiter: str, prefix: str) -> str:
    text = ""
    for at, part in enumerate(parts):
        before = parts[at - 1] if at else None
        after = parts[at + 1] if at + 1 < len(parts) else None
        if part.kind == CHAR:
            fixed = escape_pattern(part.value)
            text += f"{{{fixed}}}{part.modifier}" if part.modifier else fixed
            continue
        braces = _needs_braces(part, before, after, prefix)
        group = escape_pattern(part.prefix) + _group_text(part, before, braces, delimiter) + escape_pattern(part.suffix)
        text += (f"{{{group}}}" if braces else group) + part.modifier
    return text


def _is_named(part: Part) -> bool:
    return part.name[0] not in "0123456789"


def _needs_braces(part: Part, before: Part | None, after: Part | None, prefix: str) -> bool:
    """Whether the group would be read otherwise without braces around it."""
    if part.suffix or (part.prefix and part.prefix[0] != prefix):
        return True
    alone = _is_named(part) and part.kind == NAME and not part.modifier
    if alone and after and not (after.prefix or after.suffix):
        goes_on = bool(after.value) and in_name(after.value[0]) if after.kind == CHAR else not _is_named(after)
        if goes_on:
            return True
    return bool(not part.prefix and prefix and before and before.kind == CHAR and before.value.endswith(prefix))


def _group_text(part: Part, before: Part | None, braces: bool, delimiter: str) -> str:
    named = _is_named(part)
    text = f":{part.name}" if named else ""
    if part.kind == REGEXP:
        return f"{text}({part.value})"
    if part.kind == NAME:
        # A suffix that could go on the name is kept off by a backslash.
        return text + ("\\" if part.suffix and in_name(part.suffix[0]) else "") if named else f"({_segment(delimiter)})"
    short = before is None or before.kind == CHAR or before.modifier or braces or part.prefix
    return "*" if short and not named else f"{text}(.*)"
