"""The values of Content-Type headers: mimesniff.spec.whatwg.org, "Parsing a MIME type"."""

from __future__ import annotations

import re

from pyflare.interop.web.headers import TOKEN

_ESSENCE = re.compile(rf"\s*({TOKEN.pattern})/({TOKEN.pattern})\s*(?=[;,]|$)")
_PARAMETER = re.compile(r'\s*;\s*([^;,="]*)(?:=("(?:[^"\\]|\\.)*"|[^;,"]*))?')


class MediaType:
    """`essence` in lower case, `parameters` by their names in lower case."""

    def __init__(self, essence: str, parameters: dict[str, str]) -> None:
        self.essence, self.parameters = essence, parameters

    def __str__(self) -> str:
        separator = "; " if self.essence.startswith("multipart/") else ";"
        return separator.join([self.essence, *(f"{name}={_written(value)}" for name, value in self.parameters.items())])


def extract(header: str) -> MediaType | None:
    """The media type of a header, of several the last; None when there is none."""
    found, at = None, 0
    while at < len(header):
        essence = _ESSENCE.match(header, at)
        if essence is not None:
            parameters: dict[str, str] = {}
            at = essence.end()
            while (parameter := _PARAMETER.match(header, at)) is not None:
                at = parameter.end()
                _keep(parameters, parameter[1], parameter[2])
            found = MediaType(f"{essence[1]}/{essence[2]}".lower(), parameters)
        at = header.find(",", at) + 1 or len(header)
    return found


def _keep(parameters: dict[str, str], name: str, value: str | None) -> None:
    """Remember a parameter, unless it is none or known already."""
    if not TOKEN.fullmatch(name) or not value:
        return
    value = re.sub(r"\\(.)", r"\1", value[1:-1]) if value[0] == '"' else value.strip()
    parameters.setdefault(name.lower(), value)


def _written(value: str) -> str:
    if TOKEN.fullmatch(value):
        return value
    escaped = re.sub(r'(["\\])', r"\\\1", value)
    return f'"{escaped}"'
