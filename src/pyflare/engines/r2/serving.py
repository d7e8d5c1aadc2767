"""GET and HEAD of an object over HTTP, with conditions and ranges: what the S3 endpoint and the public path share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from pyflare.engines.r2.bucket import Bucket
from pyflare.engines.r2.conditional import Conditional, from_headers
from pyflare.engines.r2.faults import R2Fault, invalid_range, no_such_key, precondition_failed
from pyflare.engines.r2.http import Call, Reply
from pyflare.engines.r2.objects import http_date, http_headers
from pyflare.engines.r2.ranges import Range
from pyflare.engines.r2.s3_headers import S3_STORAGE_CLASSES, invalid_argument, key_headers
from pyflare.engines.r2.s3_metadata import metadata_headers
from pyflare.engines.r2.store import ObjectRow
from pyflare.engines.r2.traits import key_md5, storage_class

ONE_RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)")
OVERRIDES = (
    "content-type",
    "content-language",
    "content-disposition",
    "content-encoding",
    "cache-control",
    "expires",
)


def serve(bucket: Bucket, key: str, call: Call, given_md5: str | None = None, number: int | None = None) -> Reply:
    """Raises R2Fault. `given_md5`: of the key that decrypts the object. `number`: of the part that is wanted."""
    condition = conditions(call.header)
    got = bucket.get(key, condition, given_md5=given_md5)
    if got is None:
        raise no_such_key()
    row = got.row
    headers = object_headers(row, {name: value for name in OVERRIDES if (value := call.parameter(f"response-{name}"))})
    if got.body is None:
        if _not_modified(call, condition, row):
            return Reply(304, headers)
        raise precondition_failed()
    got.body.close()
    wanted = _range(call, row)
    if number is not None:
        if wanted is not None:
            raise invalid_argument("Cannot specify both Range header and partNumber query parameter")
        sizes = [size for _, size in bucket.store.segments(row)]
        wanted = _part(sizes, number)
        if row.blob_id is None:
            headers.append(("x-amz-mp-parts-count", str(len(sizes))))
    start, length = (0, row.size) if wanted is None else wanted
    if wanted is not None:
        headers.append(("content-range", f"bytes {start}-{start + length - 1}/{row.size}"))
    if call.method == "HEAD":
        return Reply(200 if wanted is None else 206, headers, b"", length)
    part = bucket.get(key, None, Range(start, length), given_md5=given_md5) if length else None
    if length and (part is None or part.body is None or part.row.version != row.version):
        raise no_such_key()
    body = part.body if part is not None and part.body is not None else b""
    return Reply(200 if wanted is None else 206, headers, body, length)


def object_headers(row: ObjectRow, overrides: Mapping[str, str]) -> list[tuple[str, str]]:
    headers = {"content-type": "application/octet-stream", **dict(http_headers(json.loads(row.http_metadata)))}
    headers.update(overrides)
    headers |= {"etag": f'"{row.etag}"', "last-modified": http_date(row.uploaded), "accept-ranges": "bytes"}
    kept = S3_STORAGE_CLASSES[storage_class(row.http_metadata)]
    if kept != "STANDARD":
        headers["x-amz-storage-class"] = kept
    headers |= dict(key_headers(key_md5(row.http_metadata)))
    return [*headers.items(), *metadata_headers(json.loads(row.custom_metadata))]


def conditions(header: Callable[[str], str | None]) -> Conditional:
    """Those of a request's headers; R2Fault for an etag that is none."""
    try:
        return from_headers(header)
    except ValueError as wrong:
        raise invalid_argument(str(wrong)) from None


def _not_modified(call: Call, condition: Conditional, row: ObjectRow) -> bool:
    """Whether it is the client's copy that made the condition fail, rather than another's write."""
    writes = Conditional(condition.matches, None, condition.uploaded_before, None, True)
    return writes.holds(row.etag, row.uploaded)


def _range(call: Call, row: ObjectRow) -> tuple[int, int] | None:
    header = call.header("range")
    if header is None or not _range_counts(call, row):
        return None
    found = ONE_RANGE.fullmatch(header.strip())
    if found is None or not (found[1] or found[2]):
        # The stray quote is R2's.
        raise invalid_argument("range must be in format 'bytes=start-end', 'bytes=start-' or 'bytes=-suffix'.'")
    first, last = found[1], found[2]
    if not first:
        return Range(suffix=int(last)).resolve(row.size)
    if last and int(last) < int(first):
        raise invalid_argument("range must be positive.")
    if int(first) >= row.size:
        raise invalid_range()
    return Range(int(first), int(last) - int(first) + 1 if last else None).resolve(row.size)


def _part(sizes: Sequence[int], number: int) -> tuple[int, int] | None:
    """First byte and length of a part; None for the only one of an empty object."""
    if number > len(sizes):
        raise R2Fault(416, 10039, "InvalidPartNumber", "The requested partnumber is not satisfiable")
    return (sum(sizes[: number - 1]), sizes[number - 1]) if sizes[number - 1] else None


def _range_counts(call: Call, row: ObjectRow) -> bool:
    """If-Range: only the part of the object that the client knows is of use to it."""
    known = call.header("if-range")
    return known is None or known in (f'"{row.etag}"', http_date(row.uploaded))
