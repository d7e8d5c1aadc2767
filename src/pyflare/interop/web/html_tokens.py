"""Cuts HTML into tokens while it arrives; every token knows the source it came from, so that what nobody changes stays
as it was (html.spec.whatwg.org, "Tokenization").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

HTML, SVG, MATHML = "http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"

# Elements whose content is text up to their end tag.
RAW_TEXT = frozenset(
    {"script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title", "noscript", "plaintext"}
)

_ATTRIBUTE = (
    r"""(?P<name>(?>[^\s/>][^\s/>=]*+))"""
    r"""(?:\s*+=\s*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|(?P<bare>[^\s>"'][^\s>]*+)|(?=>|\Z))|(?!\s*+=))"""
)
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_TAG = re.compile(
    r"</?([A-Za-z][^\s/>]*+)((?>[\s/]++|" + re.sub(r"\?P<\w+>", "?:", _ATTRIBUTE) + r")*+)>",
)
_DOCTYPE = re.compile(
    r"""<!doctype\s*(?P<name>[^\s>]*)\s*"""
    r"""(?:(?P<kind>public|system)\s*(?:"([^"]*)"|'([^']*)')?\s*(?:"([^"]*)"|'([^']*)')?)?""",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Token:
    raw: str


@dataclass(slots=True)
class Text(Token):
    """A piece of a text node."""


@dataclass(slots=True)
class StartTag(Token):
    """`attributes`: (name as written, value as written, source)."""

    name: str
    attributes: list[tuple[str, str, str]]
    self_closing: bool


@dataclass(slots=True)
class EndTag(Token):
    name: str


@dataclass(slots=True)
class Comment(Token):
    text: str


@dataclass(slots=True)
class Doctype(Token):
    name: str | None
    public_id: str | None
    system_id: str | None


class Tokenizer:
    """`feed` text, take tokens; `foreign` must be kept up to date by whoever tracks the open elements."""

    def __init__(self) -> None:
        self._rest = ""
        self._raw_text: str | None = None  # the element whose end tag is awaited
        self.foreign = False  # inside svg or math

    def raw_text(self, name: str) -> None:
        """The element that was just opened holds text only."""
        self._raw_text = name

    def feed(self, text: str, final: bool = False) -> Iterator[Token]:
        """The tokens that are complete; with `final` whatever is left."""
        source, at = self._rest + text, 0
        self._rest = ""
        while at < len(source):
            end = self._text_end(source, at, final)
            if end > at:
                yield Text(source[at:end])
                at = end
                continue
            token = self._markup(source, at)
            if token is None:
                if not final:
                    self._rest = source[at:]
                    return
                yield _cut_off(source[at:])
                return
            at += len(token.raw)
            yield token

    def _text_end(self, source: str, at: int, final: bool) -> int:
        """Where the text from `at` ends; `at` itself when markup begins there."""
        if self._raw_text is not None:
            return self._raw_text_end(source, at, final)
        search = at
        while True:
            found = source.find("<", search)
            if found < 0:
                return len(source)
            following = source[found + 1 : found + 2]
            if following.isascii() and (following.isalpha() or following in ("/", "!", "?")):
                return found
            if not following:
                return len(source) if final else found
            search = found + 1

    def _raw_text_end(self, source: str, at: int, final: bool) -> int:
        closing = f"</{self._raw_text}"
        found = re.compile(re.escape(closing) + r"(?=[\s/>])", re.IGNORECASE).search(source, at)
        if found is not None:
            if found.start() == at:
                self._raw_text = None
            return found.start()
        if final:
            return len(source)
        # The end tag may be cut in two: keep back what could be its beginning.
        for size in range(min(len(closing), len(source) - at), 0, -1):
            if closing.startswith(source[len(source) - size :].lower()):
                return len(source) - size
        return len(source)

    def _markup(self, source: str, at: int) -> Token | None:
        """The markup that begins at `at`; None when it is not complete."""
        following = source[at + 1 : at + 2]
        if following.isalpha():
            return self._tag(source, at)
        if following == "/":
            after = source[at + 2 : at + 3]
            if not after:
                return None
            if after == ">":
                return Token(source[at : at + 3])
            return self._tag(source, at) if after.isascii() and after.isalpha() else self._bogus(source, at, 2)
        if following == "?":
            return self._bogus(source, at, 1)
        return self._declaration(source, at) if following == "!" else None

    def _tag(self, source: str, at: int) -> Token | None:
        found = _TAG.match(source, at)
        if found is None:
            return None
        raw, name, inside = found[0], found[1].lower(), found[2]
        if raw[1] == "/":
            return EndTag(raw, name)
        attributes, end = [], 0
        for match in _ATTRIBUTES.finditer(inside):
            value = next((part for part in match.group("double", "single", "bare") if part is not None), "")
            attributes.append((match["name"], value, match[0]))
            end = match.end()
        return StartTag(raw, name, attributes, raw.endswith("/>") and end < len(inside))

    def _declaration(self, source: str, at: int) -> Token | None:
        if source.startswith("<!--", at):
            return self._comment(source, at)
        if self.foreign and source.startswith("<![CDATA[", at):
            end = source.find("]]>", at)
            return None if end < 0 else Token(source[at : end + 3])
        if len(source) - at < len("<!doctype") and ">" not in source[at:]:
            return None
        if source[at : at + len("<!doctype")].lower() == "<!doctype":
            end = source.find(">", at)
            return None if end < 0 else _doctype(source[at : end + 1])
        return self._bogus(source, at, 2)

    def _comment(self, source: str, at: int) -> Token | None:
        for short in ("<!-->", "<!--->"):
            if source.startswith(short, at):
                return Comment(short, "")
        found = re.compile(r"--!?>").search(source, at + 4)
        return None if found is None else Comment(source[at : found.end()], source[at + 4 : found.start()])

    def _bogus(self, source: str, at: int, skip: int) -> Token | None:
        end = source.find(">", at)
        return None if end < 0 else Comment(source[at : end + 1], source[at + skip : end])


def _cut_off(raw: str) -> Token:
    """What is left when the document ends within it: a comment counts, a tag does not."""
    if raw.startswith("<!--"):
        return Comment(raw, raw[4:])
    return Text(raw) if raw == "</" else Token(raw)


def _doctype(raw: str) -> Doctype:
    found = _DOCTYPE.match(raw)
    if found is None:
        return Doctype(raw, None, None, None)
    ids = [part for part in found.groups()[2:] if part is not None]
    public = ids.pop(0) if ids and (found["kind"] or "").lower() == "public" else None
    return Doctype(raw, found["name"].lower() or None, public, ids[0] if ids else None)
