"""`.assetsignore`: what of the folder is no asset.

The syntax is that of git-scm.com/docs/gitignore, as wrangler reads it: the case of letters does not count, and what
lies in an ignored folder stays ignored whatever a later line says. The files of rules are ignored by lines of their
own, which come first, so that a line may let them in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

CONTROL_FILES = ("/.assetsignore", "/_headers", "/_redirects")

TRAILING_BLANKS = re.compile(r"(?<!\\)\s+$")
TOKEN = re.compile(
    r"(?P<above>(?:^|(?<=/))\*\*/)|(?P<below>(?:^|(?<=/))\*\*$)|(?P<star>\*+)|(?P<any>\?)"
    r"|\[(?P<negated>[!^]?)(?P<set>\]?(?:\\.|[^\]\\])*)\]|\\(?P<escaped>.)|(?P<plain>.)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Rule:
    pattern: re.Pattern[str]  # of a whole path without a slash in front or behind
    only_folders: bool
    ignores: bool  # False: what earlier rules ignore is let in


class Ignore:
    """The rules of one file; the last one that matches decides."""

    def __init__(self, text: str) -> None:
        rules = [_rule(line) for line in (*CONTROL_FILES, *text.split("\n"))]
        self._rules = [rule for rule in reversed(rules) if rule is not None]

    def ignores(self, path: str) -> bool:
        """Whether the file at a path (without a slash in front) is ignored, itself or with a folder above it."""
        end = path.find("/")
        while end >= 0:
            if self._decide(path[:end], True):
                return True
            end = path.find("/", end + 1)
        return self._decide(path, False)

    def _decide(self, path: str, folder: bool) -> bool:
        for rule in self._rules:
            if (folder or not rule.only_folders) and rule.pattern.fullmatch(path):
                return rule.ignores
        return False


def _rule(line: str) -> Rule | None:
    """None for a line that says nothing."""
    line = TRAILING_BLANKS.sub("", line)
    if line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    glob = line if ignores else line[1:]
    only_folders = glob.endswith("/")
    glob = glob[:-1] if only_folders else glob
    anywhere = "" if "/" in glob else "(?:.*/)?"
    glob = glob.removeprefix("/")
    if not glob:
        return None
    try:
        pattern = re.compile(anywhere + TOKEN.sub(_translated, glob), re.DOTALL | re.IGNORECASE)
    except re.error:  # a range that runs backwards
        return None
    return Rule(pattern, only_folders, ignores)


def _translated(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "above":
            return "(?:.*/)?"
        case "below":
            return ".*"
        case "star":
            return "[^/]*"
        case "any":
            return "[^/]"
        case "set":
            inner = re.sub(r"\\?([^-])", lambda char: re.escape(char[1]), found["set"])
            return f"(?!/)[{'^' if found['negated'] else ''}{inner}]"
        case _:
            return re.escape(found["escaped"] or found["plain"])
