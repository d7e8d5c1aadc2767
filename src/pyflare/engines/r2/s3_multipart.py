"""Multipart uploads over S3. The etag of a part is its MD5 here, as clients expect that compute it themselves."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from pyflare.engines.r2 import s3_xml as xml
from pyflare.engines.r2.bucket import Bucket, PutOptions
from pyflare.engines.r2.faults import BAD_UPLOAD, R2Fault, bad_upload, invalid_part, unequal_parts
from pyflare.engines.r2.http import Call, Reply
from pyflare.engines.r2.payload import content, length_of
from pyflare.engines.r2.s3_headers import count, invalid_argument, key_headers

MAX_LISTED = 1000


class Multipart:
    def __init__(self, bucket: Bucket, name: str) -> None:
        self._bucket = bucket
        self._name = name

    def create(self, key: str, options: PutOptions) -> Reply:
        upload_id = self._bucket.create_upload(key, options)
        found = (("Bucket", self._name), ("Key", key), ("UploadId", upload_id))
        return xml.reply("InitiateMultipartUploadResult", xml.fields(found))

    async def put(self, call: Call, key: str, upload_id: str, number: int, key_md5: str | None) -> Reply:
        length = length_of(call)
        part = await self._bucket.put_part_stream(key, upload_id, number, content(call), length, key_md5)
        return Reply(200, [("etag", f'"{part.md5}"'), *key_headers(key_md5)])

    async def complete(self, call: Call, key: str, upload_id: str) -> Reply:
        root = xml.parse(b"".join([piece async for piece in content(call)]), "CompleteMultipartUpload")
        given = [_named_part(found) for found in root.iter("Part")]
        if not given:
            raise xml.malformed()
        known = {part.number: part for part in self._bucket.store.parts(upload_id, key)}
        chosen: list[tuple[int, str]] = []
        for number, etag in given:
            part = known.get(number)
            if part is None or etag not in (part.md5, part.etag):
                raise invalid_part()
            chosen.append((number, part.etag))
        if len(dict(chosen)) < len(chosen):
            raise bad_upload()
        try:
            row = self._bucket.complete(key, upload_id, chosen)
        except R2Fault as fault:
            raise unequal_parts() if fault.code == BAD_UPLOAD else fault from None
        location = f"http://{call.header('host')}{call.raw_path}"
        fields = (("Location", location), ("Bucket", self._name), ("Key", key), ("ETag", f'"{row.etag}"'))
        return xml.reply("CompleteMultipartUploadResult", xml.fields(fields))

    def uploads(self, call: Call) -> Reply:
        """A page of uploads, those of one key in the order of their ids."""
        encode = xml.encoder(call.parameter("encoding-type"))
        prefix, delimiter = call.parameter("prefix") or "", call.parameter("delimiter") or ""
        key_marker, id_marker = call.parameter("key-marker") or "", call.parameter("upload-id-marker") or ""
        limit = count(call, "max-uploads", MAX_LISTED)
        entries: dict[tuple[str, str], str] = {}  # key or group, id -> what is shown
        for upload_id, key in self._bucket.store.uploads(prefix):
            at = key.find(delimiter, len(prefix)) if delimiter else -1
            group = key[: at + len(delimiter)] if at >= 0 else None
            place = (key, upload_id) if group is None else (group, "")
            if place > (key_marker, id_marker) and (place[0] != key_marker or (id_marker and group is None)):
                entries[place] = (
                    xml.element("Upload", (("Key", encode(key)), ("UploadId", upload_id)))
                    if group is None
                    else xml.element("CommonPrefixes", [("Prefix", encode(group))])
                )
        page = sorted(entries)[:limit]
        more = len(entries) > limit
        last_key, last_id = page[-1] if page and more else ("", "")
        head = (
            ("Bucket", self._name),
            ("KeyMarker", encode(key_marker)),
            ("UploadIdMarker", id_marker),
            ("NextKeyMarker", encode(last_key) or None),
            ("NextUploadIdMarker", last_id or None),
            ("Delimiter", encode(delimiter) or None),
            ("Prefix", encode(prefix)),
            ("MaxUploads", limit),
            ("EncodingType", call.parameter("encoding-type")),
            ("IsTruncated", more),
        )
        return xml.reply("ListMultipartUploadsResult", xml.fields(head) + "".join(entries[place] for place in page))

    def parts(self, call: Call, key: str, upload_id: str) -> Reply:
        limit, marker = count(call, "max-parts", MAX_LISTED), call.parameter("part-number-marker") or "0"
        if not marker.isdecimal():
            raise invalid_argument("part-number-marker must be a positive integer")
        found = [part for part in self._bucket.store.parts(upload_id, key) if part.number > int(marker)]
        page, more = found[:limit], len(found) > limit
        head = (
            ("Bucket", self._name),
            ("Key", key),
            ("UploadId", upload_id),
            ("PartNumberMarker", marker),
            ("NextPartNumberMarker", page[-1].number if page and more else None),
            ("MaxParts", limit),
            ("IsTruncated", more),
        )
        rows = (
            xml.element("Part", (("PartNumber", part.number), ("ETag", f'"{part.md5}"'), ("Size", part.size)))
            for part in page
        )
        return xml.reply("ListPartsResult", xml.fields(head) + "".join(rows))


def _named_part(found: Element) -> tuple[int, str]:
    """Number and etag of a part that is to be in the object."""
    number, etag = (found.findtext("PartNumber") or "").strip(), found.findtext("ETag")
    if not number.isdecimal() or etag is None:
        raise xml.malformed()
    return int(number), etag.strip('"')
