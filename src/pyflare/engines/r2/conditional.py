"""Conditions on etag and time of upload, after RFC 9110, sections 13.1 and 13.2."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

TAG = re.compile(r'(W/)?"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Etag:
    """`value` without its quotes; "*" with `wildcard`."""

    value: str
    weak: bool = False
    wildcard: bool = False


@dataclass(frozen=True, slots=True)
class Conditional:
    """What must hold; times in milliseconds since the Unix epoch. None: nothing is asked."""

    matches: Sequence[Etag] | None = None
    does_not_match: Sequence[Etag] | None = None
    uploaded_before: int | None = None
    uploaded_after: int | None = None
    whole_seconds: bool = False

    def holds(self, etag: str | None, uploaded: int | None) -> bool:
        """Whether it holds for an object, or for its absence (None, None)."""
        if etag is None or uploaded is None:
            return self.matches is None and self.uploaded_after is None
        matched = self.matches is None or _any(self.matches, etag, strong=True)
        differs = self.does_not_match is None or not _any(self.does_not_match, etag, strong=False)
        # A satisfied condition on the etag overrules the one on the time.
        modified = (
            self.uploaded_after is None
            or self._cut(self.uploaded_after) < self._cut(uploaded)
            or (self.does_not_match is not None and differs)
        )
        unmodified = (
            self.uploaded_before is None
            or self._cut(uploaded) < self._cut(self.uploaded_before)
            or (self.matches is not None and matched)
        )
        return matched and differs and modified and unmodified

    def _cut(self, milliseconds: int) -> int:
        return milliseconds // 1000 if self.whole_seconds else milliseconds


def _any(etags: Sequence[Etag], etag: str, *, strong: bool) -> bool:
    return any(one.wildcard or (one.value == etag and not (strong and one.weak)) for one in etags)


def single(value: str) -> Sequence[Etag]:
    return (Etag("*", wildcard=True),) if value == "*" else (Etag(value),)


def http_time(text: str) -> int | None:
    """An HTTP date in milliseconds; None when it is none."""
    try:
        return int(parsedate_to_datetime(text).timestamp() * 1000)
    except (ValueError, TypeError):
        return None


def from_headers(header: Callable[[str], str | None], time: Callable[[str], int | None] = http_time) -> Conditional:
    """The conditions of a request's headers; ValueError for an etag that is none."""
    unmodified, modified = header("if-unmodified-since"), header("if-modified-since")
    return Conditional(
        matches=_etags(header("if-match"), "if-match"),
        does_not_match=_etags(header("if-none-match"), "if-none-match"),
        uploaded_before=None if unmodified is None else time(unmodified),
        uploaded_after=None if modified is None else time(modified),
        whole_seconds=True,
    )


def _etags(header: str | None, name: str) -> Sequence[Etag] | None:
    if header is None:
        return None
    etags: list[Etag] = []
    rest = header.lstrip(" \t,")
    while rest:
        if rest.startswith("*"):
            return (Etag("*", wildcard=True),)
        found = TAG.match(rest)
        if found is None:
            _refuse(rest)
            break
        etags.append(Etag(found[2], weak=bool(found[1])))
        rest = rest[found.end() :].lstrip(" \t")
        if rest and not rest.startswith(","):
            _refuse_start(rest)
        rest = rest.lstrip(" \t,")
    if not etags:
        raise ValueError(f"Invalid ETag in {name} header")
    return etags


def _refuse_start(rest: str) -> None:
    if rest.startswith('"'):
        raise ValueError(
            "Comma was expected to separate etags. Encountered a double quote character '\"' instead. This would "
            "otherwise indicate the start of a new strong etag."
        )
    raise ValueError(f"Comma was expected to separate etags. Encountered '{rest[0]}' instead.")


def _refuse(rest: str) -> None:
    if rest.startswith("W"):
        raise ValueError("Weak etags must start with W/ and their value must be quoted")
    if rest.startswith('"'):
        raise ValueError("Unclosed double quote for Etag")
