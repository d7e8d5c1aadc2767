"""Custom metadata as headers of S3: text beyond ASCII travels encoded, as RFC 2047 has it.

developers.cloudflare.com/r2/api/s3/extensions
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from email.errors import HeaderParseError
from email.header import Header, decode_header, make_header

META = "x-amz-meta-"
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def custom_metadata(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(META): _decoded(value) for name, value in headers.items() if name.startswith(META)}


def metadata_headers(metadata: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    """A name that can be none of a header is left out; how many are, is told."""
    found = [(META + name.lower(), _encoded(value)) for name, value in metadata.items() if TOKEN.fullmatch(name)]
    missing = len(metadata) - len(found)
    return [*found, ("x-amz-missing-meta", str(missing))] if missing else found


def _decoded(value: str) -> str:
    if "=?" not in value:
        return value
    try:
        return str(make_header(decode_header(value)))
    except (HeaderParseError, LookupError, UnicodeDecodeError):
        return value


def _encoded(value: str) -> str:
    if value.isascii() and (value.isprintable() or not value):
        return value
    return Header(value, "utf-8").encode(linesep="")
