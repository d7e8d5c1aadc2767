"""What a shared cache may keep, and for how long: RFC 9111, as Cloudflare applies it to `cache.put`.

Request headers do not count but `authorization`. Headers are dicts with lower-case names. Times in seconds.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

# RFC 9111, 3: a cache stores answers of statuses that it understands.
UNDERSTOOD = frozenset((200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501))
# RFC 9110, 15.1: these need no explicit lifetime to be stored.
CACHEABLE_BY_DEFAULT = frozenset((200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501))
HEURISTIC_SHARE = 0.1  # of the time since the last modification
IMMUTABLE_SECONDS = 86_400.0
HOP_BY_HOP = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
INTEGER = re.compile(r"\s*\+?(\d+)", re.ASCII)  # what comes behind the digits is passed over
DIRECTIVE = re.compile(r'\s*([^\s=,][^=,]*?)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^,]*))?\s*(?:,|$)')
PRIVATE_COOKIE = re.compile(r"private=set-cookie;?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is kept, how long it is fresh, and the headers it is kept with."""

    storable: bool
    lifetime: float
    headers: Mapping[str, str]


def judge(status: int, headers: Mapping[str, str], authorized: bool, now: float) -> Verdict:
    """`authorized`: the request had an `authorization` header."""
    own = dict(headers)
    if PRIVATE_COOKIE.search(own.get("cache-control", "")):
        own["cache-control"] = PRIVATE_COOKIE.sub("", own["cache-control"].lower()).strip(" ,")
        own.pop("set-cookie", None)
    control = directives(own.get("cache-control"))
    if not control and "no-cache" in own.get("pragma", ""):
        control = {"no-cache": ""}
    storable = "set-cookie" not in own and _storable(status, own, control, authorized)
    lifetime = _lifetime(own, control, now) if storable else 0.0
    return Verdict(storable, lifetime, _kept(own, now))


def is_web(url: str) -> bool:
    """Whether the cache takes the URL; a `put` under another one is let go, a `match` is refused."""
    return url.startswith(("http:", "https:"))


def directives(header: str | None) -> dict[str, str]:
    """`max-age=60, public` as {"max-age": "60", "public": ""}."""
    found: dict[str, str] = {}
    for name, value in DIRECTIVE.findall(header or ""):
        found[name.lower()] = value.strip().strip('"')
    return found


def _storable(status: int, headers: Mapping[str, str], control: Mapping[str, str], authorized: bool) -> bool:
    if status not in UNDERSTOOD or "no-store" in control or "private" in control:
        return False
    if authorized and not control.keys() & {"must-revalidate", "public", "s-maxage"}:
        return False
    explicit = "expires" in headers or control.keys() & {"max-age", "s-maxage", "public"}
    return bool(explicit) or status in CACHEABLE_BY_DEFAULT


def _lifetime(headers: Mapping[str, str], control: Mapping[str, str], now: float) -> float:
    """How long the answer is fresh from now on; that it may be served stale has no meaning for `cache.match`."""
    if "no-cache" in control or headers.get("vary", "").strip() == "*" or "proxy-revalidate" in control:
        return 0.0
    return max(0.0, _fresh(headers, control, now) - _seconds(headers.get("age")))


def _fresh(headers: Mapping[str, str], control: Mapping[str, str], now: float) -> float:
    for name in ("s-maxage", "max-age"):
        if name in control:
            return _seconds(control[name])
    least = IMMUTABLE_SECONDS if "immutable" in control else 0.0
    date = http_time(headers.get("date"))
    date = now if date is None else date
    if "expires" in headers:
        expires = http_time(headers["expires"])
        return 0.0 if expires is None or expires < date else max(least, expires - date)
    modified = http_time(headers.get("last-modified"))
    if modified is not None and date > modified:
        return max(least, (date - modified) * HEURISTIC_SHARE)
    return least


def _kept(headers: Mapping[str, str], now: float) -> dict[str, str]:
    kept = {name: value for name, value in headers.items() if name not in HOP_BY_HOP}
    kept["age"] = str(round(_seconds(headers.get("age"))))
    kept["date"] = http_date(now)
    return kept


def _seconds(text: str | None) -> float:
    found = INTEGER.match(text or "")
    return 0.0 if found is None else float(found[1])


def http_time(text: str | None) -> float | None:
    """Seconds since the Unix epoch of an HTTP date; None when it is none."""
    if text is None:
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError):
        return None


def http_date(seconds: float) -> str:
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
