"""The eight parts of a URL for URLPattern: made canonical, taken over from a base, read from a constructor's string.

Source: urlpattern.spec.whatwg.org, "Canonicalization" and "Constructor string parsing".
"""

from __future__ import annotations

import string
from urllib.parse import quote

import ada_url

from pyflare.interop.web.url_pattern_class import PatternError
from pyflare.interop.web.url_pattern_parser import (
    ASTERISK,
    CHAR,
    CLOSE,
    END,
    ESCAPED,
    INVALID,
    NAME,
    OPEN,
    REGEXP,
    Component,
    Encode,
    compile_component,
    escape_pattern,
    tokenize,
)

COMPONENTS = ("protocol", "username", "password", "hostname", "port", "pathname", "search", "hash")
PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21", "file": "0"}
Init = dict[str, str]

_MARKS = {"search": "?", "hash": "#"}

_WITHOUT_BREAKS = {ord(char): None for char in "\t\n\r"}
_IN_SCHEME = frozenset(string.ascii_letters + string.digits + "+-.")
_IN_IPV6 = frozenset(string.hexdigits + "[]:")


def _but(chars: str) -> str:
    """Printable characters of ASCII without those that are to be escaped."""
    return "".join(char for char in map(chr, range(0x21, 0x7F)) if char not in chars)


_SAFE_IN_USERINFO = _but('"#<>?`{}/:;=@[\\]^|')
_SAFE_IN_SEARCH = _but('"#<>')
_SAFE_IN_HASH = _but('"<>`')


def protocol(text: str) -> str:
    if not text:
        return ""
    text = text.removesuffix(":")
    if not text[:1].isalpha() or not _IN_SCHEME.issuperset(text):
        raise PatternError("no scheme")
    return text.lower()


def userinfo(text: str) -> str:
    return quote(text, safe=_SAFE_IN_USERINFO)


def hostname(text: str) -> str:
    if not text:
        return ""
    url = ada_url.URL("https://dummy.test")
    try:
        url.hostname = text
    except ValueError:
        raise PatternError("no hostname") from None
    return url.hostname


def ipv6_hostname(text: str) -> str:
    if not _IN_IPV6.issuperset(text):
        raise PatternError("no IPv6 address")
    return text.lower()


def port(text: str) -> str:
    text = text.translate(_WITHOUT_BREAKS)
    digits = text[: len(text) - len(text.lstrip(string.digits))]
    number = digits.lstrip("0")
    if text and (not digits or len(number) > 5 or int(number or 0) > 65535):
        raise PatternError("no port")
    return number or digits[:1]


def pathname(text: str) -> str:
    """A piece of a path; a leading slash is not added where there is none."""
    if not text:
        return ""
    url = ada_url.URL("fake://fake-url")
    slash = text.startswith("/")
    url.pathname = text if slash else f"/-{text}"
    if slash:
        return url.pathname
    if len(url.pathname) < 2:
        raise PatternError("no path")
    return url.pathname[2:]


def opaque_pathname(text: str) -> str:
    if not text:
        return ""
    try:
        return ada_url.URL(f"fake:{text}").pathname
    except ValueError:
        raise PatternError("no path") from None


def search(text: str) -> str:
    return quote(text.translate(_WITHOUT_BREAKS), safe=_SAFE_IN_SEARCH)


def hash_(text: str) -> str:
    return quote(text.translate(_WITHOUT_BREAKS), safe=_SAFE_IN_HASH)


_ENCODE: dict[str, Encode] = {
    "protocol": protocol,
    "username": userinfo,
    "password": userinfo,
    "hostname": hostname,
    "port": port,
    "pathname": pathname,
    "search": search,
    "hash": hash_,
}


def parts_of(url: ada_url.URL) -> Init:
    return {
        "protocol": url.protocol[:-1],
        "username": url.username,
        "password": url.password,
        "hostname": url.hostname,
        "port": url.port,
        "pathname": url.pathname,
        "search": url.search[1:],
        "hash": url.hash[1:],
    }


def process(init: Init, is_pattern: bool) -> Init:
    """The parts that `init` gives or takes over from its `baseURL`, canonical unless they are patterns.

    Raises PatternError.
    """
    result = {} if is_pattern else dict.fromkeys(COMPONENTS, "")
    base = None
    if "baseURL" in init:
        base = _parse_base(init["baseURL"])
        inherited = parts_of(base)
        if is_pattern:
            inherited = {name: escape_pattern(value) for name, value in inherited.items()}
        result |= {name: inherited[name] for name in _inherited(init, is_pattern)}
    for name in COMPONENTS:
        if name in init:
            value = _bare(name, init[name])
            if name == "pathname" and base is not None and not (_is_absolute(value, is_pattern) or _is_opaque(base)):
                value = "".join(inherited["pathname"].rpartition("/")[:2]) + value
            result[name] = value if is_pattern else _canonical(name, value, result["protocol"])
    return result


def _bare(name: str, value: str) -> str:
    """Without the one mark that is not of the part: `:` behind a protocol, `?` and `#` before search and hash."""
    return value.removesuffix(":") if name == "protocol" else value.removeprefix(_MARKS.get(name, ""))


def _canonical(name: str, value: str, scheme: str) -> str:
    if name == "pathname" and scheme and scheme not in PORTS:
        return opaque_pathname(value)
    value = _ENCODE[name](value)
    return "" if name == "port" and scheme != "file" and value == PORTS.get(scheme) else value


def _parse_base(text: str) -> ada_url.URL:
    try:
        return ada_url.URL(text)
    except ValueError:
        raise PatternError("no base") from None


def base_parts(text: str) -> Init:
    """The parts of a base as patterns; raises PatternError."""
    return {name: escape_pattern(value) for name, value in parts_of(_parse_base(text)).items()}


def _inherited(init: Init, is_pattern: bool) -> list[str]:
    """Those that come before the first one given, in both orders of "process a URLPatternInit"."""
    names: list[str] = []
    orders: list[tuple[str, ...]] = [("protocol", "hostname", "port", "pathname", "search", "hash")]
    if not is_pattern:
        orders.append(("protocol", "hostname", "port", "username", "password"))
    for order in orders:
        for name in order:
            if name in init:
                break
            names.append(name)
    return names


def _is_absolute(path: str, is_pattern: bool) -> bool:
    return path.startswith("/") or (is_pattern and path.startswith(("\\/", "{/")))


def _is_opaque(url: ada_url.URL) -> bool:
    return not url.href[len(url.protocol) :].startswith("/")


def compile_all(init: Init, ignore_case: bool) -> dict[str, Component]:
    """The components of a processed `init`; raises PatternError."""
    init = {name: init.get(name, "*") for name in COMPONENTS}
    if init["port"] == PORTS.get(init["protocol"]):
        init["port"] = ""
    made = {name: compile_component(init[name], _ENCODE[name]) for name in ("protocol", "username", "password", "port")}
    host = init["hostname"]
    if len(host) > 1 and host.startswith(("[", "{[", "\\[")):
        made["hostname"] = compile_component(host, ipv6_hostname)
    else:
        made["hostname"] = compile_component(host, hostname, ".")
    if is_special(made["protocol"]):
        made["pathname"] = compile_component(init["pathname"], pathname, "/", "/", ignore_case)
    else:
        made["pathname"] = compile_component(init["pathname"], opaque_pathname, "", "", ignore_case)
    for name in ("search", "hash"):
        made[name] = compile_component(init[name], _ENCODE[name], "", "", ignore_case)
    return {name: made[name] for name in COMPONENTS}


def is_special(component: Component) -> bool:
    return any(component.regexp.match(scheme) for scheme in PORTS)


# The states of the constructor string parser, in the order of a URL: what follows one of them, at which separator.
_STATES = ("init", "protocol", "authority", "username", "password", "hostname", "port", "pathname", "search", "hash")
_NEXT = {
    "username": {":": "password", "@": "hostname"},
    "password": {"@": "hostname"},
    "hostname": {":": "port", "/": "pathname", "?": "search", "#": "hash"},
    "port": {"/": "pathname", "?": "search", "#": "hash"},
    "pathname": {"?": "search", "#": "hash"},
    "search": {"#": "hash"},
}


def parse_string(text: str) -> Init:
    """The patterns of the parts of a whole URL; raises PatternError."""
    return _StringParser(text).parse()


class _StringParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text, lenient=True)
        self._at = self._start = self._braces = self._brackets = 0
        self._state = "init"
        self._special = False
        self._result: Init = {}

    def parse(self) -> Init:
        while (kind := self._tokens[self._at].kind) != END or self._state in ("init", "authority"):
            before = self._at, self._state
            if kind == END:
                self._at = self._start
                if self._state == "authority":
                    self._change("hostname", 0)
                else:
                    self._enter({"?": "search", "#": "hash"}.get(self._separator(0), "pathname"))
            elif kind == OPEN:
                self._braces += 1
            elif self._braces and kind != CLOSE:
                pass
            else:
                self._braces -= bool(self._braces)
                self._step(self._separator(self._at))
            if before == (self._at, self._state):
                self._at += 1
        self._leave()
        if "hostname" in self._result:
            self._result.setdefault("port", "")
        return self._result

    def _step(self, separator: str) -> None:
        if self._state == "init" and separator == ":":
            self._at, self._state = self._start, "protocol"
        elif self._state == "protocol" and separator == ":":
            self._special = is_special(compile_component(self._component(), protocol))
            slashes = self._separator(self._at + 1) == self._separator(self._at + 2) == "/"
            self._change("authority" if slashes or self._special else "pathname", 3 if slashes else 1)
        elif self._state == "authority" and separator and separator in "@/?#":
            self._at = self._start
            self._state = "username" if separator == "@" else "hostname"
        elif self._state == "hostname" and separator and separator in "[]":
            self._brackets += 1 if separator == "[" else -1
        elif not (self._state == "hostname" and separator == ":" and self._brackets):
            following = _NEXT.get(self._state, {}).get(separator)
            if following:
                self._enter(following)

    def _separator(self, at: int) -> str:
        """The character there if it has no meaning for patterns, or a "?" that modifies nothing; else no text."""
        token = self._tokens[min(at, len(self._tokens) - 1)]
        if token.kind in (CHAR, ESCAPED, INVALID):
            return token.value
        if token.value == "?" and (at == 0 or self._tokens[at - 1].kind not in (NAME, REGEXP, CLOSE, ASTERISK)):
            return "?"
        return ""

    def _enter(self, state: str) -> None:
        self._change(state, 0 if state == "pathname" else 1)  # a path begins with its separator

    def _change(self, state: str, skip: int) -> None:
        self._leave()
        if self._state != "init":
            # What was passed over without being there is empty.
            here, there = _STATES.index(self._state), _STATES.index(state)
            for name in ("hostname", "pathname", "search"):
                if here < _STATES.index(name) < there:
                    self._result.setdefault(name, "/" if name == "pathname" and self._special else "")
        self._state = state
        self._at += skip
        self._start = self._at

    def _leave(self) -> None:
        if self._state not in ("init", "authority"):
            self._result[self._state] = self._component()

    def _component(self) -> str:
        start = self._tokens[min(self._start, len(self._tokens) - 1)].start
        return self._text[start : self._tokens[self._at].start]
