"""S3's protocol on local buckets: `/cdn-cgi/local/r2/s3/<bucket>/<key>`, for boto3, rclone, the aws command.

developers.cloudflare.com/r2/api/s3/api. Where `local_dev.experimental_s3_credentials` of the binding are set, requests
must be signed with them; without, any credentials will do. What R2's own endpoint does not implement is refused here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyflare.engines.r2 import s3_xml as xml
from pyflare.engines.r2.bucket import Bucket, PutOptions
from pyflare.engines.r2.conditional import Conditional, from_headers
from pyflare.engines.r2.config import MAX_DELETED_KEYS, MAX_LIST_OBJECTS
from pyflare.engines.r2.faults import R2Fault, no_such_key, precondition_failed
from pyflare.engines.r2.http import Asgi, Call, ClientGone, Reply, app_of
from pyflare.engines.r2.objects import iso_date
from pyflare.engines.r2.options import metadata_of_headers
from pyflare.engines.r2.payload import content, length_of
from pyflare.engines.r2.ranges import Range
from pyflare.engines.r2.s3_multipart import Multipart
from pyflare.engines.r2.serving import serve
from pyflare.engines.r2.sigv4 import verify

if TYPE_CHECKING:
    from pyflare.engines.r2.engine import R2

CORS = (("access-control-allow-origin", "*"), ("access-control-expose-headers", "*"))
META = "x-amz-meta-"
# Sub-resources of a bucket that R2's endpoint does not have.
UNKNOWN_OF_BUCKET = ("acl", "cors", "lifecycle", "policy", "tagging", "website", "logging", "notification")


def s3_app(room: R2) -> Asgi:
    endpoint = Endpoint(room)
    return app_of(endpoint.answer)


class Endpoint:
    def __init__(self, room: R2) -> None:
        self._room = room

    async def answer(self, call: Call) -> Reply:
        try:
            reply = await self._answer(call)
        except R2Fault as fault:
            reply = xml.error(fault.status, fault.name, fault.message)
        except ClientGone:
            reply = xml.error(400, "IncompleteBody", "The request body ended too early.")
        return Reply(reply.status, [*reply.headers, *CORS], reply.body, reply.length)

    async def _answer(self, call: Call) -> Reply:
        if call.method == "OPTIONS":
            allowed = ("access-control-allow-methods", "GET, HEAD, PUT, POST, DELETE")
            return Reply(204, [allowed, ("access-control-allow-headers", "*")])
        name, key = call.bucket_and_key
        if not name:
            return self._buckets(call)
        if name not in self._room.bucket_names:
            return xml.error(404, "NoSuchBucket", "The specified bucket does not exist.")
        credentials = self._room.credentials(name)
        if credentials is not None:
            verify(call, credentials, self._room.now())
        bucket = self._room.bucket(name)
        return await (self._object(call, bucket, name, key) if key else self._bucket(call, bucket, name))

    def _buckets(self, call: Call) -> Reply:
        """ListBuckets: those that the signature opens."""
        if call.method != "GET":
            raise _not_implemented(call)
        names = [name for name in self._room.bucket_names if self._opens(call, name)]
        shown = "".join(xml.element("Bucket", [("Name", name)]) for name in names)
        return xml.reply("ListAllMyBucketsResult", f"<Buckets>{shown}</Buckets>")

    def _opens(self, call: Call, name: str) -> bool:
        """Whether the request may see a bucket; raises for a signature that is wrong."""
        credentials = self._room.credentials(name)
        if credentials is None:
            return True
        if call.header("authorization") is None and not call.has("X-Amz-Signature"):
            return False
        try:
            verify(call, credentials, self._room.now())
        except R2Fault as fault:
            if fault.name != "Unauthorized":
                raise
            return False
        return True

    # --- buckets ------------------------------------------------------------------------------------------------------

    async def _bucket(self, call: Call, bucket: Bucket, name: str) -> Reply:
        if call.method in ("HEAD", "PUT") and not call.query:
            return Reply(200)
        if call.method == "POST" and call.has("delete"):
            return await self._delete_many(call, bucket)
        if call.method != "GET" or any(call.has(part) for part in UNKNOWN_OF_BUCKET):
            raise _not_implemented(call)
        if call.has("location"):
            return xml.reply("LocationConstraint", "auto")
        if call.has("versioning"):
            return xml.reply("VersioningConfiguration", "")
        if call.has("uploads"):
            return Multipart(bucket, name).uploads(call)
        return _listing(call, bucket, name)

    async def _delete_many(self, call: Call, bucket: Bucket) -> Reply:
        root = xml.parse(b"".join([piece async for piece in content(call)]))
        keys = [found.findtext("Key") or "" for found in root.iter("Object")]
        if not keys or len(keys) > MAX_DELETED_KEYS:
            raise xml.malformed()
        bucket.delete(keys)
        if (root.findtext("Quiet") or "").lower() == "true":
            return xml.reply("DeleteResult", "")
        return xml.reply("DeleteResult", "".join(xml.element("Deleted", [("Key", key)]) for key in keys))

    # --- objects ------------------------------------------------------------------------------------------------------

    async def _object(self, call: Call, bucket: Bucket, name: str, key: str) -> Reply:
        if call.has("uploadId") or call.has("uploads"):
            return await self._multipart(call, bucket, name, key)
        if call.query and any(call.has(part) for part in ("acl", "tagging", "retention", "legal-hold", "torrent")):
            raise _not_implemented(call)
        if call.method in ("GET", "HEAD"):
            return serve(bucket, key, call)
        if call.method == "DELETE":
            bucket.delete([key])
            return Reply(204)
        if call.method != "PUT":
            raise _not_implemented(call)
        if call.header("x-amz-copy-source") is not None:
            return await self._copy(call, bucket, key)
        options = PutOptions(_http_metadata(call), _custom_metadata(call), _write_condition(call))
        row = await bucket.put_stream(key, content(call), length_of(call), options)
        return Reply(200, [("etag", f'"{row.etag}"'), ("x-amz-version-id", row.version)])

    async def _multipart(self, call: Call, bucket: Bucket, name: str, key: str) -> Reply:
        multipart = Multipart(bucket, name)
        if call.method == "POST" and call.has("uploads"):
            return multipart.create(key, PutOptions(_http_metadata(call), _custom_metadata(call)))
        upload_id = call.parameter("uploadId") or ""
        if call.method == "POST":
            return await multipart.complete(call, key, upload_id)
        if call.method == "DELETE":
            bucket.abort(key, upload_id)
            return Reply(204)
        if call.method == "GET":
            return multipart.parts(key, upload_id)
        if call.method != "PUT":
            raise _not_implemented(call)
        number = _part_number(call)
        if call.header("x-amz-copy-source") is None:
            return await multipart.put(call, key, upload_id, number)
        source, source_key = self._source(call)
        got = source.get(source_key, _copy_condition(call), _copy_range(call))
        if got is None:
            raise no_such_key()
        if got.body is None:
            raise precondition_failed()
        part = await bucket.put_part_stream(key, upload_id, number, got.body, got.length)
        return xml.reply(
            "CopyPartResult",
            xml.fields((("LastModified", iso_date(int(self._room.now() * 1000))), ("ETag", f'"{part.md5}"'))),
        )

    def _source(self, call: Call) -> tuple[Bucket, str]:
        """Bucket and key of `x-amz-copy-source`."""
        text = unquote((call.header("x-amz-copy-source") or "").partition("?")[0]).lstrip("/")
        name, _, key = text.partition("/")
        if name not in self._room.bucket_names:
            raise R2Fault(404, 10006, "NoSuchBucket", "The specified bucket does not exist.")
        credentials = self._room.credentials(name)
        if credentials is not None:
            verify(call, credentials, self._room.now())
        return self._room.bucket(name), key

    async def _copy(self, call: Call, bucket: Bucket, key: str) -> Reply:
        source, source_key = self._source(call)
        got = source.get(source_key, _copy_condition(call))
        if got is None:
            raise no_such_key()
        if got.body is None:
            raise precondition_failed()
        replace = (call.header("x-amz-metadata-directive") or "COPY").upper() == "REPLACE"
        options = PutOptions(
            _http_metadata(call) if replace else json.loads(got.row.http_metadata),
            _custom_metadata(call) if replace else json.loads(got.row.custom_metadata),
            _write_condition(call),
        )
        row = await bucket.put_stream(key, got.body, got.length, options)
        return xml.reply(
            "CopyObjectResult", xml.fields((("LastModified", iso_date(row.uploaded)), ("ETag", f'"{row.etag}"')))
        )


def _not_implemented(call: Call) -> R2Fault:
    what = call.query[0][0] if call.query else call.method
    return R2Fault(501, 10041, "NotImplemented", f"{what} not implemented")


def _listing(call: Call, bucket: Bucket, name: str) -> Reply:
    """ListObjects and ListObjectsV2."""
    second = call.parameter("list-type") == "2"
    limit_text = call.parameter("max-keys") or str(MAX_LIST_OBJECTS)
    if not limit_text.isdecimal():
        raise R2Fault(400, 10022, "InvalidArgument", "MaxKeys params must be positive integer <= 1000.")
    limit = min(int(limit_text), MAX_LIST_OBJECTS)
    prefix, delimiter = call.parameter("prefix") or "", call.parameter("delimiter") or ""
    after = call.parameter("start-after" if second else "marker")
    token = call.parameter("continuation-token")
    encode = xml.encoder(call.parameter("encoding-type"))
    listing, following = bucket.list(prefix, delimiter, after, token, limit) if limit else (None, None)
    objects = listing.objects if listing is not None else ()
    prefixes = listing.prefixes if listing is not None else ()
    head: list[tuple[str, object]] = [
        ("Name", name),
        ("Prefix", encode(prefix)),
        ("Delimiter", encode(delimiter) if delimiter else None),
        ("MaxKeys", limit),
        ("EncodingType", call.parameter("encoding-type")),
        ("IsTruncated", following is not None),
    ]
    if second:
        head += [("KeyCount", len(objects) + len(prefixes)), ("ContinuationToken", token), ("StartAfter", after)]
        head.append(("NextContinuationToken", following))
    else:
        last = listing.last if listing is not None and following is not None else None
        head += [("Marker", after or ""), ("NextMarker", None if last is None else encode(last))]
    groups = (xml.element("CommonPrefixes", [("Prefix", encode(group))]) for group in prefixes)
    rows = (xml.contents(row, encode) for row in objects)
    return xml.reply("ListBucketResult", xml.fields(head) + "".join(rows) + "".join(groups))


def _http_metadata(call: Call) -> dict[str, str | int]:
    found = metadata_of_headers(call.header)
    encoding = str(found.get("contentEncoding", ""))
    if "aws-chunked" in encoding:
        rest = [part.strip() for part in encoding.split(",") if part.strip() != "aws-chunked"]
        found.pop("contentEncoding")
        if rest:
            found["contentEncoding"] = ",".join(rest)
    return found


def _custom_metadata(call: Call) -> dict[str, str]:
    return {name.removeprefix(META): value for name, value in call.headers.items() if name.startswith(META)}


def _write_condition(call: Call) -> Conditional | None:
    if call.header("if-match") is None and call.header("if-none-match") is None:
        return None
    return from_headers(lambda name: call.header(name) if name in ("if-match", "if-none-match") else None)


def _copy_condition(call: Call) -> Conditional:
    return from_headers(lambda name: call.header(f"x-amz-copy-source-{name}"))


def _copy_range(call: Call) -> Range | None:
    text = call.header("x-amz-copy-source-range")
    if text is None:
        return None
    first, _, last = text.removeprefix("bytes=").partition("-")
    if not first.isdecimal() or not last.isdecimal():
        raise R2Fault(400, 10029, "InvalidArgument", "The x-amz-copy-source-range must be bytes=first-last.")
    return Range(int(first), int(last) - int(first) + 1)


def _part_number(call: Call) -> int:
    text = call.parameter("partNumber") or ""
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise R2Fault(400, 10029, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive")
    return int(text)
