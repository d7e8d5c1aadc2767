"""The CSS selectors of HTMLRewriter. developers.cloudflare.com/workers/runtime-apis/html-rewriter, "Selectors"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyflare.interop.errors import JsException, type_error

_IDENT = r"-?(?:[A-Za-z_\u0080-\U0010ffff]|\\.)(?:[\w\-\u0080-\U0010ffff]|\\.)*"
_NAME = re.compile(_IDENT)
_HASH = re.compile(r"#((?:[\w\-\u0080-\U0010ffff]|\\.)+)")
_ATTRIBUTE = re.compile(
    r"\[\s*(?P<name>" + _IDENT + r")\s*(?:(?P<operator>[~|^$*]?=)\s*"
    r"(?:\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^'\\]|\\.)*)'|(?P<bare>"
    + _IDENT
    + r"))\s*(?P<flag>[iIsS])?)?\s*\]"
)
_NTH = re.compile(r"\s*(?:(odd|even)|([+-]?\d*)n\s*(?:([+-])\s*(\d+))?|([+-]?\d+))\s*", re.IGNORECASE)
# Whose values are compared without regard to case (HTML, "Case-sensitivity of selectors"), unless the flag is `s`.
_CASELESS = frozenset(
    {
        "accept", "accept-charset", "align", "alink", "axis", "bgcolor", "charset", "checked", "clear", "codetype",
        "color", "compact", "declare", "defer", "dir", "direction", "disabled", "enctype", "face", "frame", "hreflang",
        "http-equiv", "lang", "language", "link", "media", "method", "multiple", "nohref", "noresize", "noshade",
        "nowrap", "readonly", "rel", "rev", "rules", "scope", "scrolling", "selected", "shape", "target", "text",
        "type", "valign", "valuetype", "vlink",
    }
)  # fmt: skip


class Node(Protocol):
    """What a selector asks of an open element."""

    name: str
    index: int  # among all children of its parent, from 1
    index_of_type: int

    def attribute(self, name: str) -> str | None: ...


Test = Callable[[Node], bool]


@dataclass(frozen=True, slots=True)
class Compound:
    """One element of a selector; `child`: must be the child of the element before it."""

    tests: tuple[Test, ...]
    child: bool

    def fits(self, node: Node) -> bool:
        return all(test(node) for test in self.tests)


class Selector:
    def __init__(self, text: str) -> None:
        """TypeError, with the runtime's words, for what is no selector or not supported."""
        self._chains = _Parser(text).parse()

    def matches(self, path: Sequence[Node]) -> bool:
        """Whether the last node of `path` (the root first) is selected."""
        return any(_fits(chain, len(chain) - 1, path, len(path) - 1) for chain in self._chains)


def _fits(chain: Sequence[Compound], last: int, path: Sequence[Node], at: int) -> bool:
    compound = chain[last]
    if not compound.fits(path[at]):
        return False
    if last == 0:
        return True
    if compound.child:
        return at > 0 and _fits(chain, last - 1, path, at - 1)
    return any(_fits(chain, last - 1, path, above) for above in range(at - 1, -1, -1))


def fault(message: str) -> JsException:
    return type_error(f"Parser error: {message}")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def parse(self) -> list[list[Compound]]:
        if not self._text.strip():
            raise fault("The selector is empty.")
        chains = [self._chain()]
        while self._peek() == ",":
            self._at += 1
            chains.append(self._chain())
        return chains

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_blanks(self) -> bool:
        start = self._at
        while self._peek().isspace():
            self._at += 1
        return self._at > start

    def _chain(self) -> list[Compound]:
        self._skip_blanks()
        chain = [Compound(self._tests(), False)]
        while True:
            blank = self._skip_blanks()
            mark = self._peek()
            if mark in ("", ","):
                return chain
            if mark in ("+", "~"):
                raise fault(f"Unsupported combinator `{mark}` in selector.")
            if mark == ">":
                self._at += 1
                self._skip_blanks()
            elif not blank:
                raise fault("Unexpected token in selector.")
            if not self._peek():
                raise fault("Dangling combinator in selector.")
            chain.append(Compound(self._tests(), mark == ">"))

    def _tests(self) -> tuple[Test, ...]:
        """One compound selector."""
        tests: list[Test] = []
        start = self._at
        if self._peek() == "*":
            self._at += 1
        else:
            name = self._match(_NAME)
            if name is not None:
                tests.append(_has_name(name[0].lower()))
        if self._peek() == "|":
            raise fault("Selectors with explicit namespaces are not supported.")
        while self._peek() in ("#", ".", "[", ":") and self._peek():
            tests.append(self._simple())
        if self._at == start:
            raise fault("Unexpected end of selector." if not self._peek() else "Unexpected token in selector.")
        return tuple(tests)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _simple(self) -> Test:
        mark = self._peek()
        if mark == "#":
            found = self._match(_HASH)
            if found is None:
                raise fault("Unexpected token in selector.")
            return _has_value("id", _plain(found[1]))
        if mark == ".":
            self._at += 1
            name = self._match(_NAME)
            if name is None:
                raise fault("Missing class name in the class selector.")
            return _has_word("class", _plain(name[0]), str)
        return self._attribute() if mark == "[" else self._pseudo()

    def _attribute(self) -> Test:
        found = self._match(_ATTRIBUTE)
        if found is None:
            complete = "]" in self._text[self._at :]
            raise fault("Unexpected token in the attribute selector." if complete else "Unexpected end of selector.")
        name = _plain(found["name"]).lower()
        if found["operator"] is None:
            return lambda node: node.attribute(name) is not None
        value = next(part for part in found.group("double", "single", "bare") if part is not None)
        flag = (found["flag"] or "").lower()
        fold = str.lower if flag == "i" or (not flag and name in _CASELESS) else str
        return _compare(name, found["operator"], fold(_plain(value)), fold)

    def _pseudo(self) -> Test:
        self._at += 1
        name = self._match(_NAME)
        kind = name[0].lower() if name else ""
        if kind in ("first-child", "first-of-type") and self._peek() != "(":
            return _nth(0, 1, kind == "first-of-type")
        if kind in ("nth-child", "nth-of-type") and self._peek() == "(":
            self._at += 1
            step, offset = self._formula()
            return _nth(step, offset, kind == "nth-of-type")
        if kind == "not" and self._peek() == "(":
            return self._negation()
        raise fault("Unsupported pseudo-class or pseudo-element in selector.")

    def _formula(self) -> tuple[int, int]:
        found = self._match(_NTH)
        if found is None or self._peek() != ")":
            raise fault("Unexpected token in selector.")
        self._at += 1
        word, step, sign, offset, number = found.groups()
        if word:
            return 2, int(word.lower() == "odd")
        if number:
            return 0, int(number)
        factor = int(step + "1") if step in ("", "+", "-") else int(step)
        return factor, int(offset or 0) * (-1 if sign == "-" else 1)

    def _negation(self) -> Test:
        self._at += 1
        refused = []
        while True:
            self._skip_blanks()
            refused.append(Compound(self._tests(), False))
            self._skip_blanks()
            mark = self._peek()
            self._at += 1
            if mark == ")":
                return lambda node: not any(compound.fits(node) for compound in refused)
            if mark != ",":
                raise fault("Unexpected token in selector." if mark else "Unexpected end of selector.")


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _has_name(name: str) -> Test:
    return lambda node: node.name == name


def _has_value(name: str, value: str) -> Test:
    return lambda node: node.attribute(name) == value


def _has_word(name: str, value: str, fold: Callable[[str], str]) -> Test:
    return lambda node: value in fold(node.attribute(name) or "").split()


def _compare(name: str, operator: str, value: str, fold: Callable[[str], str]) -> Test:
    if operator == "~=":
        return _has_word(name, value, fold)
    tests: dict[str, Callable[[str], bool]] = {
        "=": lambda found: found == value,
        "^=": lambda found: bool(value) and found.startswith(value),
        "$=": lambda found: bool(value) and found.endswith(value),
        "*=": lambda found: bool(value) and value in found,
        "|=": lambda found: found == value or found.startswith(value + "-"),
    }
    test = tests[operator]

    def fits(node: Node) -> bool:
        found = node.attribute(name)
        return found is not None and test(fold(found))

    return fits


def _nth(step: int, offset: int, of_type: bool) -> Test:
    def fits(node: Node) -> bool:
        distance = (node.index_of_type if of_type else node.index) - offset
        return distance == 0 if step == 0 else distance % step == 0 and distance // step >= 0

    return fits
