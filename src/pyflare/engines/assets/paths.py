"""Paths of URLs and patterns over them, as `_headers`, `_redirects` and `run_worker_first` use them."""

from __future__ import annotations

import re
from itertools import combinations
from urllib.parse import quote, unquote_to_bytes

import ada_url

SLASHES = re.compile("/+")
ABSOLUTE = re.compile(r"https://+(?P<host>[^/]+)/?(?P<path>.*)")
PLACEHOLDER = re.compile(r":([A-Za-z]\w*)")
# encodeURIComponent leaves these; letters and digits are always left.
UNESCAPED = "-_.!~*'()"


def split_url(url: str) -> tuple[str, str, str]:
    """Host, path and query (with its `?`) of a URL that is already normalised."""
    rest = url.partition("://")[2].partition("#")[0]
    rest, mark, query = rest.partition("?")
    host, slash, path = rest.partition("/")
    return host, slash + path or "/", mark + query if query else ""


def decode_path(path: str) -> str:
    """The path with its escapes undone, segment by segment (a segment with a broken escape stays), slashes merged."""
    if "%" in path:
        path = "/".join(_decode_segment(segment) for segment in path.split("/"))
    return SLASHES.sub("/", path) if "//" in path else path


def _decode_segment(segment: str) -> str:
    if re.search(r"%(?![0-9A-Fa-f]{2})", segment):
        return segment
    try:
        return unquote_to_bytes(segment).decode()
    except UnicodeDecodeError:
        return segment


def encode_path(path: str) -> str:
    """The canonical form of a decoded path in a URL."""
    return quote(path, safe="/" + UNESCAPED)


def checked_url(
    token: str, *, only_relative: bool, ports: bool, search: bool, fragment: bool
) -> tuple[str, str | None]:
    """The token of a rule as a normalised URL or path, and what is wrong with it (None: nothing)."""
    absolute = ABSOLUTE.fullmatch(token)
    if absolute is not None:
        host = absolute["host"]
        if only_relative:
            return "", f"Only relative URLs are allowed. Skipping absolute URL {token}."
        if not ports and re.search(r":\d+$", host):
            return "", f"Specifying ports is not supported. Skipping absolute URL {token}."
        return f"https://{host}{_normal_path(absolute['path'], search, fragment)}", None
    if only_relative and not token.startswith("/"):
        token = "/" + token
    if not token.startswith("/"):
        return "", (
            "URLs should either be relative (e.g. begin with a forward-slash), or use HTTPS "
            '(e.g. begin with "https://").'
        )
    try:
        return _normal_path(token, search, fragment), None
    except ValueError:
        return "", f"Error parsing URL segment {token}. Skipping."


def _normal_path(path: str, search: bool, fragment: bool) -> str:
    # Another scheme than http, so that a backslash stays one.
    url = ada_url.URL("relative://host" + (path if path.startswith("/") else "/" + path))
    return str(url.pathname) + (str(url.search) if search else "") + (str(url.hash) if fragment else "")


def has_host(token: str) -> bool:
    return ABSOLUTE.fullmatch(token) is not None


def compile_rule(rule: str) -> re.Pattern[str] | None:
    """A rule with `*` (the group `splat`) and `:placeholder`s; None when it cannot match (a name used twice)."""
    host, _, path = rule.partition("//")[2].partition("/") if rule.startswith("https://") else ("", "", rule)
    names = PLACEHOLDER.findall(rule)
    # Cloudflare puts one name after the other in: after `:a`, what is left of `:ab` is a second `:a` and a "b".
    if any(later.startswith(earlier) for earlier, later in combinations(names, 2)):
        return None
    prefix = "https://" + _pattern(host, "[^/.]+") + "/" if host else ""
    try:
        return re.compile(prefix + _pattern(path, "[^/]+"), re.DOTALL)
    except re.error:
        return None


def compile_glob(rule: str) -> re.Pattern[str]:
    """A rule in which only `*` is special."""
    return re.compile(".*".join(re.escape(part) for part in rule.split("*")), re.DOTALL)


def _pattern(text: str, placeholder: str) -> str:
    pattern, at = "", 0
    for found in re.finditer(r"\*|:([A-Za-z]\w*)", text):
        pattern += re.escape(text[at : found.start()])
        pattern += "(?P<splat>.*)" if found[0] == "*" else f"(?P<{found[1]}>{placeholder})"
        at = found.end()
    return pattern + re.escape(text[at:])


def fill(template: str, values: dict[str, str]) -> str:
    """The template with its `:name`s replaced."""
    for name, value in values.items():
        template = template.replace(":" + name, value)
    return template
