"""S3's protocol on local buckets: `/cdn-cgi/local/r2/s3/<bucket>/<key>`, for boto3, rclone, the aws command.

developers.cloudflare.com/r2/api/s3/api. Where `local_dev.experimental_s3_credentials` of the binding are set, requests
must be signed with them; without, any credentials will do. What R2's own endpoint does not implement is refused here.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyflare.engines.r2 import s3_headers as headers
from pyflare.engines.r2 import s3_operations as operations
from pyflare.engines.r2 import s3_xml as xml
from pyflare.engines.r2.bucket import Bucket, Got, PutOptions
from pyflare.engines.r2.conditional import Conditional
from pyflare.engines.r2.config import MAX_DELETED_KEYS, MAX_LIST_OBJECTS
from pyflare.engines.r2.faults import R2Fault, invalid_max_keys, invalid_range, no_such_key, precondition_failed
from pyflare.engines.r2.http import Asgi, Call, ClientGone, Reply, app_of
from pyflare.engines.r2.objects import iso_date
from pyflare.engines.r2.options import metadata_of_headers
from pyflare.engines.r2.payload import CHECKSUMS, content, length_of
from pyflare.engines.r2.ranges import Range
from pyflare.engines.r2.s3_buckets import list_buckets
from pyflare.engines.r2.s3_headers import not_implemented
from pyflare.engines.r2.s3_metadata import custom_metadata
from pyflare.engines.r2.s3_multipart import Multipart
from pyflare.engines.r2.serving import conditions, serve
from pyflare.engines.r2.sigv4 import is_signed, verify
from pyflare.engines.r2.traits import http_metadata
from pyflare.storage.pieces import Pieces

if TYPE_CHECKING:
    from pyflare.engines.r2.engine import R2

CORS = (("access-control-allow-origin", "*"), ("access-control-expose-headers", "*"))
CONDITIONS = ("if-match", "if-none-match", "if-modified-since", "if-unmodified-since")
LAST_CHARACTER = "\U0010ffff"
QUIET = (None, "true", "false")


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
            # "*" would not let a signature pass.
            names = call.header("access-control-request-headers") or "*"
            return Reply(204, [allowed, ("access-control-allow-headers", names)])
        name, key = call.bucket_and_key
        if not name:
            return self._buckets(call)
        if name not in self._room.bucket_names:
            if call.method == "PUT" and not key and not operations.parameters(call):
                raise not_implemented("CreateBucket")
            return xml.error(404, "NoSuchBucket", "The specified bucket does not exist.")
        credentials = self._room.credentials(name)
        if credentials is not None:
            verify(call, credentials, self._room.now())
        bucket = self._room.bucket(name)
        return await (self._object(call, bucket, name, key) if key else self._bucket(call, bucket, name))

    def _buckets(self, call: Call) -> Reply:
        """ListBuckets: those that the signature opens."""
        if call.method != "GET":
            raise not_implemented(call.method)
        headers.refuse(call, ())
        return list_buckets(call, sorted(name for name in self._room.bucket_names if self._opens(call, name)))

    def _opens(self, call: Call, name: str) -> bool:
        """Whether the request may see a bucket; raises for a signature that is wrong."""
        credentials = self._room.credentials(name)
        if credentials is None:
            return True
        if not is_signed(call):
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
        headers.refuse(call, headers.DELETE if call.method == "POST" else headers.OWNER)
        if call.method in ("HEAD", "PUT") and not operations.parameters(call):
            return Reply(200)
        if call.method == "POST" and call.has("delete"):
            return await self._delete_many(call, bucket)
        if call.method == "POST":
            raise not_implemented("Presigned post requests are not yet implemented")
        found = operations.configuration(call) if call.method == "GET" else None
        if found is not None:
            return found
        operations.refuse_of_bucket(call)
        if call.method != "GET":
            raise not_implemented("DeleteBucket" if call.method == "DELETE" else call.method)
        if call.has("uploads"):
            return Multipart(bucket, name).uploads(call)
        operations.check_listing(call)
        return _listing(call, bucket, name)

    async def _delete_many(self, call: Call, bucket: Bucket) -> Reply:
        root = xml.parse(b"".join([piece async for piece in content(call)]), "Delete")
        keys = [found.findtext("Key") for found in root.iter("Object")]
        named = [key for key in keys if key is not None]
        # R2 reads `Quiet`, and then tells of every key all the same.
        if not 0 < len(keys) <= MAX_DELETED_KEYS or named != keys or root.findtext("Quiet") not in QUIET:
            raise xml.malformed()
        bucket.delete(named)
        return xml.reply("DeleteResult", "".join(xml.element("Deleted", [("Key", key)]) for key in named))

    # --- objects ------------------------------------------------------------------------------------------------------

    async def _object(self, call: Call, bucket: Bucket, name: str, key: str) -> Reply:
        if call.has("uploadId") or call.has("uploads"):
            return await self._multipart(call, bucket, name, key)
        operations.refuse_of_object(call)
        if call.method in ("GET", "HEAD"):
            headers.refuse(call, headers.OWNER)
            number = headers.part_number(call) if call.has("partNumber") else None
            return serve(bucket, key, call, headers.key_md5(call), number)
        if call.method == "DELETE":
            headers.refuse(call, headers.DELETE)
            bucket.delete([key])
            return Reply(204)
        if call.method != "PUT":
            raise not_implemented(call.method)
        if call.header("x-amz-copy-source") is not None:
            return await self._copy(call, bucket, key)
        headers.refuse_write(call)
        options = _put_options(call, _write_condition(call))
        row = await bucket.put_stream(key, content(call), length_of(call), options)
        sent = [(name, value) for name in CHECKSUMS if name != "content-md5" and (value := call.header(name))]
        found = [("etag", f'"{row.etag}"'), ("x-amz-version-id", row.version), *sent]
        return Reply(200, [*found, *headers.key_headers(options.key_md5)])

    async def _multipart(self, call: Call, bucket: Bucket, name: str, key: str) -> Reply:
        multipart = Multipart(bucket, name)
        if call.method == "POST" and call.has("uploads"):
            headers.refuse_write(call)
            row, condition = bucket.store.get(key), _write_condition(call)
            if row is not None and condition is not None and not condition.holds(row.etag, row.uploaded):
                raise precondition_failed()
            return multipart.create(key, _put_options(call))
        upload_id = call.parameter("uploadId") or ""
        if call.method == "POST":
            headers.refuse(call, headers.OWNER)
            return await multipart.complete(call, key, upload_id)
        if call.method == "DELETE":
            headers.refuse(call, ())
            bucket.abort(key, upload_id)
            return Reply(204)
        if call.method == "GET":
            headers.refuse(call, headers.OWNER)
            return multipart.parts(call, key, upload_id)
        if call.method != "PUT":
            raise not_implemented(call.method)
        number, key_md5 = headers.part_number(call), headers.key_md5(call)
        if call.header("x-amz-copy-source") is None:
            headers.refuse(call, headers.PART)
            return await multipart.put(call, key, upload_id, number, key_md5)
        headers.refuse(call, headers.PART_COPY)
        wanted = _copy_range(call)
        got, body = self._source(call, wanted=wanted)
        if wanted is not None and not got.length:
            raise invalid_range()
        part = await bucket.put_part_stream(key, upload_id, number, body, got.length, key_md5)
        return xml.reply(
            "CopyPartResult",
            xml.fields((("LastModified", iso_date(int(self._room.now() * 1000))), ("ETag", f'"{part.md5}"'))),
        )

    def _source(
        self, call: Call, condition: Conditional | None = None, wanted: Range | None = None
    ) -> tuple[Got, Pieces]:
        """What `x-amz-copy-source` names, and its body."""
        text = unquote((call.header("x-amz-copy-source") or "").partition("?")[0]).lstrip("/")
        name, _, key = text.partition("/")
        if not key:
            raise headers.invalid_argument("copy source bucket name")
        if name not in self._room.bucket_names:
            raise R2Fault(404, 10006, "NoSuchBucket", "The specified bucket does not exist.")
        credentials = self._room.credentials(name)
        if credentials is not None:
            verify(call, credentials, self._room.now())
        key_md5 = headers.key_md5(call, headers.SOURCE)
        got = self._room.bucket(name).get(key, condition, wanted, given_md5=key_md5)
        if got is None:
            raise no_such_key()
        if got.body is None:
            raise precondition_failed()
        return got, got.body

    async def _copy(self, call: Call, bucket: Bucket, key: str) -> Reply:
        headers.refuse_write(call, headers.COPY)
        directive = call.header("x-amz-metadata-directive") or "COPY"
        if directive not in ("COPY", "REPLACE", "MERGE"):
            raise headers.invalid_argument(f"metadata directive {directive}.")
        options = _put_options(call, _write_condition(call, "cf-copy-destination-") or _write_condition(call))
        got, body = self._source(call, _copy_condition(call))
        if directive != "REPLACE":
            custom, http = json.loads(got.row.custom_metadata), http_metadata(got.row.http_metadata)
            if directive == "MERGE":  # an extension of R2's
                custom, http = {**custom, **options.custom_metadata}, {**http, **options.http_metadata}
            options = replace(options, http_metadata=http, custom_metadata=custom)
        row = await bucket.put_stream(key, body, got.length, options)
        return xml.reply(
            "CopyObjectResult", xml.fields((("LastModified", iso_date(row.uploaded)), ("ETag", f'"{row.etag}"')))
        )


def _listing(call: Call, bucket: Bucket, name: str) -> Reply:
    """ListObjects and ListObjectsV2."""
    second = call.parameter("list-type") == "2"
    wanted = _max_keys(call)
    limit = min(wanted, MAX_LIST_OBJECTS)
    prefix, delimiter = call.parameter("prefix") or "", call.parameter("delimiter") or ""
    after = call.parameter("start-after" if second else "marker")
    token = call.parameter("continuation-token")
    encode = xml.encoder(call.parameter("encoding-type"))
    if not second and delimiter and after and after.startswith(prefix) and after[len(prefix) :].endswith(delimiter):
        after += LAST_CHARACTER  # a group that was the last of a page is not told again
    # Of none, too, it is said whether there would be more.
    listing, following = bucket.list(prefix, delimiter, after, token, limit or 1)
    objects, prefixes = (listing.objects, listing.prefixes) if limit else ((), ())
    more = following is not None if limit else bool(listing.objects or listing.prefixes)
    head: list[tuple[str, object]] = [
        ("Name", name),
        ("Prefix", encode(prefix)),
        ("Delimiter", encode(delimiter) if delimiter else None),
        ("MaxKeys", wanted),
        ("EncodingType", call.parameter("encoding-type")),
        ("IsTruncated", more),
    ]
    if second:
        head += [
            ("KeyCount", len(objects) + len(prefixes)),
            ("ContinuationToken", token),
            ("NextContinuationToken", following if limit else None),
            ("StartAfter", None if after is None else encode(after)),
        ]
    else:
        last = max([row.key for row in objects[-1:]] + list(prefixes[-1:]), default="") if more else ""
        head += [("Marker", encode(call.parameter("marker") or "")), ("NextMarker", encode(last) or None)]
    groups = (xml.element("CommonPrefixes", [("Prefix", encode(group))]) for group in prefixes)
    rows = (xml.contents(row, encode) for row in objects)
    return xml.reply("ListBucketResult", xml.fields(head) + "".join(rows) + "".join(groups))


def _max_keys(call: Call) -> int:
    text = call.parameter("max-keys")
    try:
        number = float(MAX_LIST_OBJECTS if text is None else text)
    except ValueError:
        raise invalid_max_keys() from None
    if not 0 <= number < math.inf:
        raise invalid_max_keys()
    return int(number)


def _put_options(call: Call, condition: Conditional | None = None) -> PutOptions:
    return PutOptions(
        _http_metadata(call),
        custom_metadata(call.headers),
        condition,
        storage_class=headers.storage_class(call),
        key_md5=headers.key_md5(call),
    )


def _http_metadata(call: Call) -> dict[str, str | int]:
    found = metadata_of_headers(call.header)
    encoding = str(found.get("contentEncoding", ""))
    if "aws-chunked" in encoding:
        rest = [part.strip() for part in encoding.split(",") if part.strip() != "aws-chunked"]
        found.pop("contentEncoding")
        if rest:
            found["contentEncoding"] = ",".join(rest)
    return found


def _write_condition(call: Call, prefix: str = "") -> Conditional | None:
    """What must hold of the object that is there before."""
    if all(call.header(prefix + name) is None for name in CONDITIONS):
        return None
    return conditions(lambda name: call.header(prefix + name))


def _copy_condition(call: Call) -> Conditional:
    return conditions(lambda name: call.header(f"x-amz-copy-source-{name}"))


def _copy_range(call: Call) -> Range | None:
    text = call.header("x-amz-copy-source-range")
    if text is None:
        return None
    first, _, last = text.removeprefix("bytes=").partition("-")
    if not first.isdecimal() or not last.isdecimal():
        raise headers.invalid_argument(f"Invalid x-amz-copy-source-range: {text}")
    if int(last) < int(first):
        raise headers.invalid_argument("x-amz-copy-source-range must be positive.")
    return Range(int(first), int(last) - int(first) + 1)
