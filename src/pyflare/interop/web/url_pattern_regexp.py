"""JavaScript's regular expressions with the flag `v`, as Python's, for text that is all ASCII.

The parts of a URL that a pattern looks at are ASCII always: names are punycoded, the rest percent-encoded. So a class
of characters is a set over ASCII, and neither the flag `i` nor properties of Unicode need more. What comes out matches
what it does in JavaScript, with these exceptions: a lookbehind that is open-ended is refused, and a group inside of a
loop keeps what it caught in an earlier round (ECMA-262, "RepeatMatcher", forgets it).
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from pyflare.interop.web.url_pattern_class import SYNTAX, ClassReader, TextSet, fold

_LINE_ENDS = frozenset("\n\r")
_MOST = 2**31  # repetitions; more than any text has
_MANY = 1000
_MOST_WIDTHS = 64

_CAPTURES = re.compile(r"\\[\s\S]|\((?!\?)|\(\?<(?![=!])([^>]*)>?")
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})(\??)")
_MODIFIERS = re.compile(r"\(\?([ims]*)(-[ims]*)?:")
_REFERENCE = re.compile(r"\\([1-9]\d*)")
_NAME = re.compile(r"<([A-Za-z_$][\w$]*)>", re.ASCII)


class _Piece(NamedTuple):
    """Python's source of something; whether it can match nothing, the names of the groups in it, whether it has any.

    A lookbehind of Python has a fixed width: `widths` are alternatives with one each, none where there are no such or
    too many. It is None where the source has one itself.
    """

    source: str
    nullable: bool = False
    names: frozenset[str] = frozenset()
    catches: bool = False
    widths: tuple[str, ...] | None = None

    def fixed(self) -> tuple[str, ...]:
        return (self.source,) if self.widths is None else self.widths


class UnsupportedError(Exception):
    """JavaScript takes the regular expression, Python has nothing like it."""


def translate(source: str, ignore_case: bool = False) -> re.Pattern[str]:
    """The expression as one of Python; its groups are named g1, g2, … in JavaScript's order.

    Raises PatternError for what JavaScript refuses, UnsupportedError for what Python does.
    """
    translator = _Translator(source, ignore_case)
    try:
        return re.compile(translator.whole(), re.ASCII)
    except (re.error, OverflowError, RecursionError) as raised:
        raise UnsupportedError(f"pyflare cannot do this regular expression ({raised}): {source}") from None


class _Translator(ClassReader):
    def __init__(self, source: str, ignore_case: bool) -> None:
        super().__init__(source, ignore_case)
        # Names of all groups, from the first; None for one without.
        self._groups = [found[1] for found in _CAPTURES.finditer(source) if found[0][0] == "("]
        self._opened = 0
        self._closed: set[int] = set()
        self._guards = itertools.count(1)
        self._open_ended = False  # a lookbehind is

    def whole(self) -> str:
        piece = self._disjunction()
        if self._at < len(self._source):
            self._fail()
        if self._open_ended:
            raise re.error("a lookbehind is open-ended")
        return piece.source

    def _alternatives(self) -> list[_Piece]:
        alternatives = [self._alternative()]
        while self._take("|"):
            alternatives.append(self._alternative())
        return alternatives

    def _disjunction(self) -> _Piece:
        return _either(self._alternatives())

    def _alternative(self) -> _Piece:
        pieces: list[_Piece] = []
        names: frozenset[str] = frozenset()
        while self._next() not in ("", "|", ")"):
            piece = self._term()
            if names & piece.names:
                self._fail()
            names |= piece.names
            pieces.append(piece)
        return _Piece(
            "".join(piece.source for piece in pieces),
            all(piece.nullable for piece in pieces),
            names,
            any(piece.catches for piece in pieces),
            None if all(piece.widths is None for piece in pieces) else _joined(pieces),
        )

    def _term(self) -> _Piece:
        assertion = self._assertion()
        if assertion is not None:
            return assertion
        atom = self._atom()
        found = self._match(_QUANTIFIER)
        if found is None:
            return atom
        sign, least, comma, most, lazy = found.groups()
        if sign:
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            low = min(int(least), _MOST)
            high = (min(int(most), _MOST) if most else None) if comma else low
        if high is not None and high < low:
            self._fail()
        return self._repeated(atom, low, high, lazy)

    def _repeated(self, atom: _Piece, low: int, high: int | None, lazy: str) -> _Piece:
        if atom.nullable and low > _MANY:  # Python would go through rounds of nothing
            low, high = _MANY, high and _MANY
        bounds = f"{{{low},{'' if high is None else high}}}{lazy}"
        if high != low or atom.widths is not None:
            atom = atom._replace(widths=_widths_of_rounds(atom, low, high))
        if not atom.nullable or high == low or (low and atom.catches):  # what catches cannot be written twice
            return atom._replace(source=f"(?:{atom.source}){bounds}", nullable=atom.nullable or low == 0)
        # Beyond the least number, a round that consumes nothing is none: the rest of the text must have changed.
        rest = f"r{next(self._guards)}"
        round_ = rf"(?=(?P<{rest}>[\s\S]*))(?:{atom.source})(?!(?P={rest})\Z)"
        least = f"(?:{atom.source}){{{low}}}" if low else ""
        source = f"{least}(?:{round_}){{0,{'' if high is None else high - low}}}{lazy}"
        return atom._replace(source=source, nullable=True, catches=True)

    def _assertion(self) -> _Piece | None:
        if self._take("^"):
            return _Piece(_not_beside("(?<!", "m" in self._flags, "^"), True)
        if self._take("$"):
            return _Piece(_not_beside("(?!", "m" in self._flags, r"\Z"), True)
        if self._take(r"\b"):
            return _Piece(r"\b", True)
        if self._take(r"\B"):
            return _Piece(r"(?!\b)", True)  # before 3.14, Python's `\B` does not match an empty text
        for opening in ("(?=", "(?!"):
            if self._take(opening):
                inner = self._disjunction()
                self._close()
                return inner._replace(source=f"{opening}{inner.source})", nullable=True, widths=None)
        for opening in ("(?<=", "(?<!"):
            if self._take(opening):
                inner = self._disjunction()
                self._close()
                each = [f"{opening}{one})" for one in inner.fixed()]
                self._open_ended |= not each
                source = "".join(each) if opening == "(?<!" else f"(?:{'|'.join(each)})"
                return inner._replace(source=source, nullable=True, widths=None)
        return None

    def _close(self) -> None:
        if not self._take(")"):
            self._fail()

    def _atom(self) -> _Piece:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._emit(self._class())
        if self._take("."):
            return self._emit(TextSet(self._universe() - (frozenset() if "s" in self._flags else _LINE_ENDS)))
        if char == "\\":
            return self._backreference() or self._emit(self._class_escape() or TextSet(self._folded(self._escape())))
        if char in SYNTAX and char != "/":
            self._fail()
        self._at += 1
        return self._emit(TextSet(self._folded(char)))

    def _group(self) -> _Piece:
        flags = self._flags
        found = self._match(_MODIFIERS)
        if found is not None:
            on, off = found[1], (found[2] or "")[1:]
            if len(set(on + off)) < len(on + off) or (found[2] and not on + off):
                self._fail()
            self._flags = (flags | frozenset(on)) - frozenset(off)
            inner = self._disjunction()
            self._flags = flags
            self._close()
            return inner._replace(source=f"(?:{inner.source})")
        self._at += 1
        named = None
        if self._take("?"):
            named = self._match(_NAME)
            if named is None:
                self._fail()
        self._opened += 1
        number = self._opened
        inner = self._disjunction()
        self._close()
        self._closed.add(number)
        names = frozenset((named[1],)) if named else frozenset()
        if names & inner.names:
            self._fail()
        widths = None if inner.widths is None else ()
        return _Piece(f"(?P<g{number}>{inner.source})", inner.nullable, names | inner.names, True, widths)

    def _backreference(self) -> _Piece | None:
        found = self._match(_REFERENCE)
        if found is not None:
            numbers = [int(found[1])]
            if numbers[0] > len(self._groups):
                self._fail()
        elif self._take(r"\k"):
            named = self._match(_NAME)
            numbers = [at for at, name in enumerate(self._groups, 1) if named and name == named[1]]
            if not numbers:
                self._fail()
        else:
            return None
        # A group that has caught nothing (yet) is the empty text.
        flags = "(?i:" if "i" in self._flags else "(?:"
        each = [f"(?(g{number}){flags}(?P=g{number}))|)" for number in numbers if number in self._closed]
        return _Piece("".join(each) or "(?:)", True, widths=())

    def _emit(self, of: TextSet) -> _Piece:
        ignore_case = "i" in self._flags
        longest_first = sorted((text for text in of.texts if len(text) != 1), key=len, reverse=True)
        singles = frozenset(text for text in of.texts if len(text) == 1)
        each = ["".join(_source_of(frozenset(char), ignore_case) for char in text) for text in longest_first if text]
        each += [_source_of(singles, ignore_case)] if singles or not longest_first else []
        each += [""] if "" in of.texts else []
        if len(each) == 1:
            return _Piece(each[0], each[0] == "")
        return _Piece(f"(?:{'|'.join(each)})", "" in of.texts, widths=tuple(each))


@functools.lru_cache(maxsize=256)
def _source_of(folded: frozenset[str], ignore_case: bool) -> str:
    """Any one of these characters."""
    chars = [char for char in map(chr, range(128)) if fold(char, ignore_case) in folded]
    if not chars:
        return "(?!)"
    if len(chars) == 1:
        return re.escape(chars[0])
    runs = itertools.groupby(enumerate(chars), lambda pair: ord(pair[1]) - pair[0])
    ends = [(run[0][1], run[-1][1]) for run in (list(group) for _, group in runs)]
    return "[" + "".join(rf"\x{ord(first):02x}-\x{ord(last):02x}" for first, last in ends) + "]"


def _either(pieces: list[_Piece]) -> _Piece:
    if len(pieces) == 1:
        return pieces[0]
    each = [piece.fixed() for piece in pieces]
    return _Piece(
        f"(?:{'|'.join(piece.source for piece in pieces)})",
        any(piece.nullable for piece in pieces),
        frozenset[str]().union(*(piece.names for piece in pieces)),
        any(piece.catches for piece in pieces),
        tuple(itertools.chain(*each)) if all(each) else (),
    )


def _joined(pieces: Sequence[_Piece]) -> tuple[str, ...]:
    """The widths of one piece after another."""
    if math.prod(len(piece.fixed()) for piece in pieces) > _MOST_WIDTHS:
        return ()
    return tuple("".join(each) for each in itertools.product(*(piece.fixed() for piece in pieces)))


def _widths_of_rounds(piece: _Piece, low: int, high: int | None) -> tuple[str, ...]:
    if high is None or high > _MOST_WIDTHS or not piece.fixed():
        return ()
    each = [_joined([piece] * count) for count in range(low, high + 1)]
    return tuple(itertools.chain(*each)) if all(each) else ()


def _not_beside(opening: str, multiline: bool, plain: str) -> str:
    """An end of the text; with the flag `m`, of a line."""
    return rf"{opening}[^\n\r])" if multiline else plain
