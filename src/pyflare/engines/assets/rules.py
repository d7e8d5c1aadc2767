"""The files `_headers` and `_redirects` of an assets folder.

developers.cloudflare.com/workers/static-assets/headers and …/redirects. Faults are reported in wrangler's words and
skip a line, never the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from pyflare.engines.assets.paths import PLACEHOLDER, checked_url, compile_rule, fill, has_host
from pyflare.interop.errors import JsException
from pyflare.interop.web.headers import clean_value, lower_name

MAX_LINE_CHARACTERS = 2000
MAX_HEADER_RULES = 100
MAX_STATIC_REDIRECTS = 2000
MAX_DYNAMIC_REDIRECTS = 100
STATUSES = frozenset((200, 301, 302, 303, 307, 308))

LOOKS_LIKE_PATH = re.compile(r"\S+://|/")
COMMENT = re.compile(r"\s+#.*$")
PORT = re.compile(r":\d+$")
NAMES_A_HOST = re.compile(r"\w+://|//[^/\\\s?#]", re.ASCII)
INDEX = re.compile(r"/index(.html)?$")


@dataclass(frozen=True)
class Fault:
    """A line that was skipped."""

    message: str
    line: int
    text: str = ""  # empty where the line is too long to be shown


@dataclass
class HeaderRule:
    path: str
    line: int
    text: str  # of the line that begins it
    headers: dict[str, str] = field(default_factory=dict)  # lower-case name -> value, joined when given twice
    removed: list[str] = field(default_factory=list)
    broken: bool = False  # holds what no response can carry
    pattern: re.Pattern[str] | None = None


@dataclass(frozen=True)
class HeaderRules:
    kind: ClassVar[str] = "header"

    rules: Sequence[HeaderRule] = ()
    faults: Sequence[Fault] = ()

    @property
    def count(self) -> int:
        return len(self.rules)

    def apply(self, host: str, path: str, headers: dict[str, str]) -> bool:
        """Change the headers of an answer to `path`; several rules for one name are joined by a comma. False: a rule
        cannot be followed, which Cloudflare answers with 500."""
        own: set[str] = set()
        for rule in self.rules:
            found = _matches(rule.pattern, rule.path, host, path)
            if found is None:
                continue
            if rule.broken:
                return False
            for name in rule.removed:
                headers.pop(name.lower(), None)
            for name, template in rule.headers.items():
                value = fill(template, found)
                headers[name] = f"{headers[name]}, {value}" if name in own and name in headers else value
                own.add(name)
        return True


@dataclass(frozen=True)
class Redirect:
    source: str
    target: str
    status: int
    pattern: re.Pattern[str] | None = None  # None: `source` is a plain path


@dataclass(frozen=True)
class Redirects:
    """Plain paths are looked up first, then the patterns in the order of the file."""

    kind: ClassVar[str] = "redirect"

    plain: dict[str, Redirect] = field(default_factory=dict)
    patterns: Sequence[Redirect] = ()
    faults: Sequence[Fault] = ()

    @property
    def count(self) -> int:
        return len(self.plain) + len(self.patterns)

    def match(self, host: str, path: str) -> tuple[int, str] | None:
        """Status and target of the first rule for a path."""
        plain = self.plain.get(path)
        if plain is not None:
            return plain.status, plain.target
        for rule in self.patterns:
            found = _matches(rule.pattern, rule.source, host, path)
            if found is not None:
                target = fill(rule.target, found).strip()
                return rule.status, target if NAMES_A_HOST.match(rule.target) else _on_this_site(target)
        return None


def _on_this_site(target: str) -> str:
    """What fills a placeholder cannot lead to another host: the path has single slashes, and no backslashes."""
    path = re.split("[?#]", target, maxsplit=1)[0]
    return re.sub(r"[/\\]+", "/", path) + target[len(path) :]


def _matches(pattern: re.Pattern[str] | None, rule: str, host: str, path: str) -> dict[str, str] | None:
    if pattern is None:
        return None
    subject = f"https://{PORT.sub('', host)}{path}" if rule.startswith("https://") else path
    found = pattern.fullmatch(subject)
    return None if found is None else found.groupdict()


# --- what a person is told ----------------------------------------------------------------------------------------


def valid(rules: HeaderRules | Redirects) -> str:
    return f"✨ Parsed {rules.count} valid {_counted(rules.kind, rules.count)}."


def invalid(rules: HeaderRules | Redirects, path: str) -> str | None:
    """Every fault with its place in the file, which is shown as `path`; None: there is none."""
    if not rules.faults:
        return None
    lines = [f"Found {len(rules.faults)} invalid {_counted(rules.kind, len(rules.faults))}:"]
    for fault in sorted(rules.faults, key=lambda fault: fault.line):
        quoted = f" | {fault.text}" if fault.text else ""
        lines += [f"▶︎ {fault.message}", f"    at {path}:{fault.line}{quoted}"]
    return "\n".join(lines)


def _counted(kind: str, count: int) -> str:
    return f"{kind} rule" if count == 1 else f"{kind} rules"


# --- _headers -----------------------------------------------------------------------------------------------------


def parse_headers(text: str) -> HeaderRules:
    return _HeaderFile().parse(text)


class _HeaderFile:
    """One reading of a `_headers` file."""

    def __init__(self) -> None:
        self.rules: list[HeaderRule] = []
        self.faults: list[Fault] = []
        self.rule: HeaderRule | None = None
        self.skipping = False  # behind a path that was refused

    def parse(self, text: str) -> HeaderRules:
        for number, left, line in _lines(text, self.faults):
            if not LOOKS_LIKE_PATH.match(line):
                self.header(line, number)
            elif len(self.rules) + (self.rule is not None) >= MAX_HEADER_RULES:
                self.faults.append(Fault(_too_many("rules", MAX_HEADER_RULES, left), number, line))
                break
            else:
                self.path(line, number)
        self.finish()
        by_path: dict[str, HeaderRule] = {}
        for rule in self.rules:
            rule.pattern = compile_rule(rule.path)
            by_path[rule.path] = rule
        return HeaderRules(list(by_path.values()), self.faults)

    def finish(self) -> None:
        if self.rule is None:
            return
        if self.rule.headers or self.rule.removed:
            self.rules.append(self.rule)
        else:
            self.faults.append(Fault("No headers specified", self.rule.line, self.rule.text))
        self.rule = None

    def path(self, line: str, number: int) -> None:
        self.finish()
        path, fault = checked_url(line, only_relative=False, ports=False, search=False, fragment=False)
        fault = fault or _wildcard_fault(path)
        self.skipping = fault is not None
        if fault is not None:
            self.faults.append(Fault(fault, number, line))
        else:
            self.rule = HeaderRule(path, number, line)

    def header(self, line: str, number: int) -> None:
        if self.skipping:
            return
        name, colon, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        if self.rule is not None and not colon and line.startswith("! "):
            self.rule.removed.append(line[2:])
            self.check(line[2:], "", number, line)
            return
        fault = self.fault(name, colon, value)
        if fault is not None or self.rule is None:
            self.faults.append(Fault(fault or "", number, line))
            return
        earlier = self.rule.headers.get(name)
        self.rule.headers[name] = value if earlier is None else f"{earlier}, {value}"
        self.check(name, value, number, line)

    def check(self, name: str, value: str, number: int, line: str) -> None:
        """Nothing looks at names and values before a response is to carry them."""
        assert self.rule is not None
        try:
            lower_name(name.encode("ascii", "ignore").decode() or "_")  # names beyond ASCII are taken
            clean_value(value)
        except JsException as raised:
            self.rule.broken = True
            self.faults.append(Fault(f"{raised.message} Cloudflare answers 500 where this rule matches.", number, line))

    def fault(self, name: str, colon: str, value: str) -> str | None:
        if not colon:
            if self.rule is None:
                return "Expected a path beginning with at least one forward-slash"
            return "Expected a colon-separated header pair (e.g. name: value)"
        if " " in name:
            return "Header name cannot include spaces"
        if not name:
            return "No header name specified"
        if not value:
            return "No header value specified"
        return None if self.rule is not None else f"Path should come before header ({name}: {value})"


def _lines(text: str, faults: list[Fault]) -> Iterator[tuple[int, int, str]]:
    """The number of each line that is no comment, how many there are from it on, and its text."""
    lines = text.split("\n")
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if len(line) > MAX_LINE_CHARACTERS:
            message = f"Ignoring line {number} as it exceeds the maximum allowed length of {MAX_LINE_CHARACTERS}."
            faults.append(Fault(message, number))
            continue
        yield number, len(lines) - number + 1, line


def _too_many(what: str, most: int, left: int) -> str:
    return f"Maximum number of {what} supported is {most}. Skipping remaining {left} lines of file."


def _wildcard_fault(path: str) -> str | None:
    if path.count("*") > 1:
        return (
            f"Only one wildcard is allowed per rule. Use a named placeholder (e.g. :project) instead. Skipping {path}."
        )
    if "*" in path and re.search(r":splat(?!\w)", path):
        return (
            "Cannot combine a wildcard * with a :splat placeholder because wildcards are converted to :splat at "
            f"runtime. Skipping {path}."
        )
    return None


# --- _redirects ---------------------------------------------------------------------------------------------------


def parse_redirects(text: str, html_handling: str) -> Redirects:
    return _RedirectFile(html_handling).parse(text)


class _RedirectFile:
    """One reading of a `_redirects` file."""

    def __init__(self, html_handling: str) -> None:
        self.html_handling = html_handling
        self.rules: list[Redirect] = []
        self.faults: list[Fault] = []
        self.seen: set[str] = set()
        self.plain = 0
        self.dynamic = 0

    def parse(self, text: str) -> Redirects:
        for number, left, line in _lines(text, self.faults):
            fault = self.rule(COMMENT.sub("", line).split())
            if self.dynamic > MAX_DYNAMIC_REDIRECTS:
                self.faults.append(Fault(_too_many("dynamic rules", MAX_DYNAMIC_REDIRECTS, left), number, line))
                break
            if fault is not None:
                self.faults.append(Fault(fault, number, line))
        return self.result()

    def result(self) -> Redirects:
        """Plain paths count as plain only above the first pattern."""
        plain: dict[str, Redirect] = {}
        patterns: list[Redirect] = []
        for rule in self.rules:
            if not patterns and not _is_pattern(rule.source):
                plain[rule.source] = rule
            else:
                patterns.append(Redirect(rule.source, rule.target, rule.status, compile_rule(rule.source)))
        return Redirects(plain, patterns, self.faults)

    def rule(self, tokens: list[str]) -> str | None:
        """Keep the rule of one line, or say what is wrong with it."""
        if not 2 <= len(tokens) <= 3:
            return f"Expected exactly 2 or 3 whitespace-separated tokens. Got {len(tokens)}."
        source, fault = checked_url(tokens[0], only_relative=True, ports=False, search=False, fragment=False)
        if fault is not None:
            return fault
        fault = self.count(source)
        if fault is not None:
            return fault
        target, fault = checked_url(tokens[1], only_relative=False, ports=True, search=True, fragment=True)
        if fault is not None:
            return fault
        status = tokens[2] if len(tokens) == 3 else "302"
        if not status.isdecimal() or int(status) not in STATUSES:
            return f"Valid status codes are 200, 301, 302 (default), 303, 307, or 308. Got {status}."
        if self.loops(source, target):
            return (
                "Infinite loop detected in this rule and has been ignored. This will cause a redirect to strip `.html` "
                "or `/index` and end up triggering this rule again. Please fix or remove this rule to silence this "
                "warning."
            )
        if source in self.seen:
            return f"Ignoring duplicate rule for path {source}."
        self.seen.add(source)
        if status == "200" and has_host(target):
            return f"Proxy (200) redirects can only point to relative paths. Got {target}"
        self.rules.append(Redirect(source, target, int(status)))
        return None

    def count(self, source: str) -> str | None:
        if self.dynamic or _is_pattern(source):
            self.dynamic += 1
            # With one too many the reading of the file ends.
            return "" if self.dynamic > MAX_DYNAMIC_REDIRECTS else None
        self.plain += 1
        if self.plain > MAX_STATIC_REDIRECTS:
            return f"Maximum number of static rules supported is {MAX_STATIC_REDIRECTS}. Skipping line."
        return None

    def loops(self, source: str, target: str) -> bool:
        if has_host(target) or not INDEX.search(target):
            return False
        return source.endswith("/*") or (source.endswith("/") and self.html_handling != "none")


def _is_pattern(source: str) -> bool:
    return "*" in source or PLACEHOLDER.search(source) is not None
