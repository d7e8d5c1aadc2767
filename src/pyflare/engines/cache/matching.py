"""The answer of `cache.match`: conditions and ranges of the request are the cache's to answer."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence

from pyflare.engines.cache.policy import http_time
from pyflare.engines.cache.store import Stored
from pyflare.interop.web.body import Body
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.request import Request
from pyflare.interop.web.response import Response
from pyflare.storage.blobs import CHUNK_BYTES, BlobStore, chunks
from pyflare.storage.pieces import Pieces

ETAG = re.compile(r'(?:W/)?"(.+)"')
# The one form of dates that HTTP lets a sender use (RFC 9110, 5.6.7); in conditions no other counts.
DATE = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT", re.ASCII)
SPEC = re.compile(r"\s*(\d*)\s*-\s*(\d*)\s*")

Span = tuple[int, int]  # first byte, length


def answer(request: Request, stored: Stored, blobs: BlobStore, now: float) -> Response | None:
    """None when the body is gone."""
    headers = dict(stored.headers)
    headers["cf-cache-status"] = "HIT"
    headers["age"] = _age(headers, now)
    # Cloudflare answers in part only where the length was known, and wrangler always.
    wanted = request.headers.first("range") if "content-length" in headers else None
    spans = ranges(wanted, stored.size) if wanted else []
    if spans is None:
        return _response(416, {"cf-cache-status": "HIT", "content-range": f"bytes */{stored.size}"}, Body.make(b""))
    if _unchanged(request.headers, headers):
        return _response(304, headers, None)
    if len(spans) > 1:
        return _multipart(stored, headers, blobs, spans)
    start, length = spans[0] if spans else (0, stored.size)
    if spans:
        headers["content-range"] = f"bytes {start}-{start + length - 1}/{stored.size}"
        headers["content-length"] = str(length)
    body = _body(blobs, stored.blob_id, start, length)
    return None if body is None else _response(206 if spans else stored.status, headers, body)


def _response(status: int, headers: Mapping[str, str], body: Body | None) -> Response:
    response: Response = Response.make(status, None, Headers.make(list(headers.items()), True), body)
    return response


def _age(headers: Mapping[str, str], now: float) -> str:
    since = http_time(headers.get("date"))
    stored = headers.get("age", "0")
    return str(int(stored) + max(0, int(now - since))) if since is not None and stored.isdecimal() else stored


def _unchanged(asked: Headers, headers: Mapping[str, str]) -> bool:
    """Whether what the client has is what is stored; the weak comparison of RFC 9110, 13.1.2."""
    none_match, etag = asked.first("if-none-match"), _etag(headers.get("etag", ""))
    if none_match is not None and etag is not None and _lists(none_match, etag):
        return True
    since, modified = _time(asked.first("if-modified-since")), _time(headers.get("last-modified"))
    return since is not None and modified is not None and modified <= since


def _time(header: str | None) -> float | None:
    return http_time(header) if header is not None and DATE.fullmatch(header) else None


def _lists(header: str, etag: str) -> bool:
    return header.strip() == "*" or etag in map(_etag, header.split(","))


def _etag(text: str) -> str | None:
    found = ETAG.fullmatch(text.strip())
    return None if found is None else found[1]


def ranges(header: str, size: int) -> Sequence[Span] | None:
    """The parts that a Range header asks for; [] for everything, None when it cannot be satisfied."""
    unit, equals, specs = header.partition("=")
    if not equals or unit.strip().lower() != "bytes":
        return None
    if not specs.strip():
        return []
    spans: list[Span] = []
    for spec in specs.split(","):
        found = SPEC.fullmatch(spec)
        if found is None or not (found[1] or found[2]):
            return None
        if found[1]:
            start, end = int(found[1]), min(int(found[2]) if found[2] else size - 1, size - 1)
        else:
            if int(found[2]) >= size:
                return []
            if int(found[2]) == 0:
                continue
            start, end = size - int(found[2]), size - 1
        if start > end:
            return None
        spans.append((start, end - start + 1))
    return spans


def _body(blobs: BlobStore, blob_id: str, start: int, length: int) -> Body | None:
    if length <= CHUNK_BYTES:
        data = blobs.read(blob_id, start, length)
        return None if data is None else Body.make(data)
    file = blobs.open(blob_id)
    return None if file is None else Body.make(Pieces(chunks(file, start, length), file.close), length)


def _multipart(stored: Stored, headers: dict[str, str], blobs: BlobStore, spans: Sequence[Span]) -> Response | None:
    """Several parts in one answer: multipart/byteranges, RFC 9110, 14.6."""
    if not blobs.exists(stored.blob_id):
        return None
    boundary = secrets.token_hex(16)
    kind = headers.get("content-type")
    headers["content-type"] = f"multipart/byteranges; boundary={boundary}"
    headers.pop("content-length", None)
    return _response(206, headers, Body.make(Pieces(_parts(stored, blobs, spans, boundary, kind))))


def _parts(stored: Stored, blobs: BlobStore, spans: Sequence[Span], boundary: str, kind: str | None) -> Iterator[bytes]:
    for start, length in spans:
        lines = [f"--{boundary}"]
        if kind is not None:
            lines.append(f"Content-Type: {kind}")
        lines += [f"Content-Range: bytes {start}-{start + length - 1}/{stored.size}", "", ""]
        yield "\r\n".join(lines).encode()
        file = blobs.open(stored.blob_id)
        if file is not None:
            yield from chunks(file, start, length)
        yield b"\r\n"
    yield f"--{boundary}--".encode()
