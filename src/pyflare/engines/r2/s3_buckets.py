"""ListBuckets, with R2's search parameters, which clients may send as headers, too.

developers.cloudflare.com/r2/api/s3/extensions
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyflare.engines.r2 import s3_xml as xml
from pyflare.engines.r2.bucket import decode_cursor, encode_cursor
from pyflare.engines.r2.faults import invalid_max_keys
from pyflare.engines.r2.http import Call, Reply
from pyflare.engines.r2.objects import iso_date
from pyflare.engines.r2.s3_headers import not_implemented
from pyflare.engines.r2.s3_operations import parameters

MAX_BUCKETS = 1000
PARAMETERS = ("prefix", "start-after", "continuation-token", "max-keys")


def list_buckets(call: Call, names: Sequence[str]) -> Reply:
    """A page of these, which are sorted."""
    for name in parameters(call):
        if name not in PARAMETERS:
            raise not_implemented(f"ListBuckets search parameter {name}")
    prefix, after, token, limit = (call.header(f"cf-{name}") or call.parameter(name) for name in PARAMETERS)
    if limit is not None and not (limit.isdecimal() and int(limit)):
        raise invalid_max_keys()
    most = MAX_BUCKETS if limit is None else min(int(limit), MAX_BUCKETS)
    behind = max(after or "", decode_cursor(token))
    found = [name for name in names if name.startswith(prefix or "") and name > behind]
    page, more = found[:most], len(found) > most
    following = encode_cursor(page[-1]) if more else None
    # Local buckets have no day of birth, but the aws command asks for one.
    shown = "".join(xml.element("Bucket", [("Name", name), ("CreationDate", iso_date(0))]) for name in page)
    fields = xml.fields(
        (
            ("IsTruncated", more),
            ("NextContinuationToken", following),
            ("ContinuationToken", token),
            ("StartAfter", after),
            ("KeyCount", len(page)),
            ("MaxKeys", most),
        )
    )
    reply = xml.reply("ListAllMyBucketsResult", f"<Buckets>{shown}</Buckets>{fields}")
    told = [("cf-is-truncated", "true"), ("cf-next-continuation-token", following)] if following is not None else []
    return replace(reply, headers=[*reply.headers, *told])
