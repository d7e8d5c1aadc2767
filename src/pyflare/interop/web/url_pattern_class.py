"""Classes of characters in JavaScript's regular expressions with the flag `v`, as sets over ASCII.

Source: ECMA-262, "ClassContents" and "CharacterClassEscape".
"""

from __future__ import annotations

import re
import string
import unicodedata
from typing import NamedTuple, NoReturn

# Two letters beyond ASCII are the same as one in it when case is ignored.
_FOLDED = {"\u017f": "s", "\u212a": "k"}
_UNIVERSE = frozenset(map(chr, range(128))) | frozenset(_FOLDED)
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_ESCAPES = {"d": frozenset(string.digits), "s": frozenset("\t\n\v\f\r "), "w": _WORD}
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
SYNTAX = frozenset("^$\\.*+?()[]{}|/")
_CLASS_SYNTAX = frozenset("()[]{}/-\\|")
_CLASS_PUNCTUATION = frozenset("&-!#%,:;<=>@`~")
_DOUBLED = frozenset(char * 2 for char in "&!#$%*+,.:;<=>?@^`~")
_CODE = re.compile(
    r"u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|"
    r"(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\})|c([a-zA-Z])"
)
_PROPERTY = re.compile(r"([pP])\{(?:(\w+)=)?(\w+)\}", re.ASCII)

_CATEGORIES = (
    "C Other,Cc Control cntrl,Cf Format,Cn Unassigned,Co Private_Use,Cs Surrogate,L Letter,LC Cased_Letter,"
    "Ll Lowercase_Letter,Lm Modifier_Letter,Lo Other_Letter,Lt Titlecase_Letter,Lu Uppercase_Letter,"
    "M Mark Combining_Mark,Mc Spacing_Mark,Me Enclosing_Mark,Mn Nonspacing_Mark,N Number,Nd Decimal_Number digit,"
    "Nl Letter_Number,No Other_Number,P Punctuation punct,Pc Connector_Punctuation,Pd Dash_Punctuation,"
    "Pe Close_Punctuation,Pf Final_Punctuation,Pi Initial_Punctuation,Po Other_Punctuation,Ps Open_Punctuation,"
    "S Symbol,Sc Currency_Symbol,Sk Modifier_Symbol,Sm Math_Symbol,So Other_Symbol,Z Separator,Zl Line_Separator,"
    "Zp Paragraph_Separator,Zs Space_Separator"
)
_CATEGORY = {name: names.split()[0] for names in _CATEGORIES.split(",") for name in names.split()}
_BINARY = {
    name: frozenset(chars)
    for names, chars in {
        "Any ASCII Assigned": "".join(map(chr, range(128))),
        "Alphabetic Alpha Cased Changes_When_Casemapped CWCM ID_Start IDS XID_Start XIDS": string.ascii_letters,
        "Lowercase Lower Changes_When_Uppercased CWU Changes_When_Titlecased CWT": string.ascii_lowercase,
        "Uppercase Upper Changes_When_Lowercased CWL Changes_When_Casefolded CWCF": string.ascii_uppercase,
        "ASCII_Hex_Digit AHex Hex_Digit Hex": string.hexdigits,
        "ID_Continue IDC XID_Continue XIDC": "".join(_WORD),
        "White_Space space Pattern_White_Space Pat_WS": "\t\n\v\f\r ",
        "Pattern_Syntax Pat_Syn": string.punctuation.replace("_", ""),
        "Emoji Emoji_Component EComp": string.digits + "#*",
        "Math": "+<=>^|~",
        "Dash": "-",
        "Quotation_Mark QMark": "\"'",
        "Ideographic Ideo Emoji_Presentation EPres Extended_Pictographic ExtPict Emoji_Modifier EMod": "",
    }.items()
    for name in names.split()
}
_OF_STRINGS = ("Basic_Emoji", "Emoji_Keycap_Sequence", "RGI_Emoji", "RGI_Modifier_Sequence", "RGI_Flag_Sequence")


class PatternError(ValueError):
    """The text is no pattern, or the regular expression none of JavaScript."""


class TextSet(NamedTuple):
    """The texts of a class, folded if case is ignored, and whether it may hold others than single characters."""

    texts: frozenset[str]
    strings: bool = False


def fold(text: str, ignore_case: bool) -> str:
    return "".join(_FOLDED.get(char, char).lower() for char in text) if ignore_case else text


class ClassReader:
    """Reads an expression; `flags` are those of i, m and s that hold where it is."""

    def __init__(self, source: str, ignore_case: bool) -> None:
        self._source, self._at = source, 0
        self._flags = frozenset("i" if ignore_case else "")

    def _fail(self) -> NoReturn:
        raise PatternError(f"Invalid regular expression at {self._at}: {self._source}")

    def _next(self) -> str:
        return self._source[self._at : self._at + 1]

    def _take(self, text: str) -> bool:
        if self._source.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._source, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _escape(self) -> str:
        """The one character of an escape, such as `\\n` or `\\u{41}`."""
        self._at += 1
        char = self._next()
        found = self._match(_CODE)
        if found is not None:
            high, low, byte, unit, point, control = found.groups()
            if high:
                return chr(0x10000 + (int(high, 16) - 0xD800) * 0x400 + int(low, 16) - 0xDC00)
            if control:
                return chr(ord(control) % 32)
            code = int(byte or unit or point, 16)
            if code > 0x10FFFF:
                self._fail()
            return chr(code)
        self._at += 1
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "0" and not self._next().isdigit():
            return "\0"
        if not char or char not in SYNTAX:
            self._fail()
        return char

    def _class_escape(self) -> TextSet | None:
        """The set of `\\d`, `\\p{L}` and their like."""
        letter = self._source[self._at + 1 : self._at + 2]
        if letter and letter in "dswDSW":
            self._at += 2
            texts = self._folded(*_ESCAPES[letter.lower()])
        elif letter and letter in "pP":
            self._at += 1
            found = self._match(_PROPERTY)
            if found is None or (letter == "P" and found[3] in _OF_STRINGS):
                self._fail()
            if found[3] in _OF_STRINGS and not found[2]:
                return TextSet(frozenset(), True)
            texts = self._folded(*self._property(found[2], found[3]))
        else:
            return None
        return TextSet(self._universe() - texts if letter.isupper() else texts)

    def _property(self, kind: str | None, name: str) -> frozenset[str]:
        if kind in (None, "General_Category", "gc") and name in _CATEGORY:
            wanted = {"LC": ("Lu", "Ll", "Lt")}.get(_CATEGORY[name], (_CATEGORY[name],))
            return frozenset(char for char in _UNIVERSE if unicodedata.category(char).startswith(wanted))
        if kind is None and name in _BINARY:
            return _BINARY[name]
        if kind not in ("Script", "sc", "Script_Extensions", "scx"):
            self._fail()
        letters = frozenset(string.ascii_letters) | frozenset(_FOLDED)
        if name in ("Latin", "Latn"):
            return letters
        return _UNIVERSE - letters if name in ("Common", "Zyyy") else frozenset()

    def _class(self) -> TextSet:
        self._at += 1
        negated = self._take("^")
        texts: frozenset[str] = frozenset()
        strings = False
        if self._next() != "]":
            first, single = self._operand()
            if self._next() and self._source[self._at : self._at + 2] in ("&&", "--"):
                texts, strings = self._operation(first)
            else:
                texts, strings = self._union(first, single)
        if not self._take("]") or (negated and strings):
            self._fail()
        return TextSet(self._universe() - texts if negated else texts, strings)

    def _operation(self, left: TextSet) -> TextSet:
        """The rest of `[a&&b]` and `[a--b]`."""
        sign = self._source[self._at : self._at + 2]
        while self._take(sign):
            if sign == "&&" and self._next() == "&":
                self._fail()
            right, _ = self._operand()
            if sign == "&&":
                left = TextSet(left.texts & right.texts, left.strings and right.strings)
            else:
                left = TextSet(left.texts - right.texts, left.strings)
        return left

    def _union(self, operand: TextSet, single: str | None) -> TextSet:
        texts, strings = frozenset[str](), False
        while True:
            if single is not None and self._source[self._at : self._at + 1] == "-":
                self._at += 1
                _, last = self._operand()
                if last is None or last < single:
                    self._fail()
                operand = TextSet(self._folded(*(char for char in _UNIVERSE if single <= char <= last)))
            texts, strings = texts | operand.texts, strings or operand.strings
            if self._next() in ("", "]"):
                return TextSet(texts, strings)
            operand, single = self._operand()

    def _operand(self) -> tuple[TextSet, str | None]:
        """One member of a class; its character if it is just one, which may begin or end a range."""
        char = self._next()
        if char == "[":
            return self._class(), None
        if char == "\\":
            if self._take(r"\q{"):
                return self._alternatives_of_strings(), None
            escaped = self._class_escape()
            if escaped is not None:
                return escaped, None
        single = self._character()
        return TextSet(self._folded(single)), single

    def _alternatives_of_strings(self) -> TextSet:
        texts, current = [], ""
        while not self._take("}"):
            if self._take("|"):
                texts.append(current)
                current = ""
            else:
                current += self._character()
        texts.append(current)
        return TextSet(self._folded(*texts), any(len(text) != 1 for text in texts))

    def _character(self) -> str:
        char = self._next()
        if char == "\\":
            escaped = self._source[self._at + 1 : self._at + 2]
            if escaped and (escaped in _CLASS_PUNCTUATION or escaped == "b"):
                self._at += 2
                return "\b" if escaped == "b" else escaped
            return self._escape()
        if not char or char in _CLASS_SYNTAX or self._source[self._at : self._at + 2] in _DOUBLED:
            self._fail()
        self._at += 1
        return char

    def _universe(self) -> frozenset[str]:
        return self._folded(*_UNIVERSE)

    def _folded(self, *texts: str) -> frozenset[str]:
        return frozenset(fold(text, "i" in self._flags) for text in texts)
