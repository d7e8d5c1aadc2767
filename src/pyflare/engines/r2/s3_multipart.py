"""Multipart uploads over S3. The etag of a part is its MD5 here, as clients expect that compute it themselves."""

from __future__ import annotations

from pyflare.engines.r2 import s3_xml as xml
from pyflare.engines.r2.bucket import Bucket, PutOptions
from pyflare.engines.r2.faults import invalid_part
from pyflare.engines.r2.http import Call, Reply
from pyflare.engines.r2.payload import content, length_of
from pyflare.engines.r2.s3_headers import key_headers


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
        root = xml.parse(b"".join([piece async for piece in content(call)]))
        known = {part.number: part for part in self._bucket.store.parts(upload_id, key)}
        chosen: list[tuple[int, str]] = []
        for found in root.iter("Part"):
            number = int(found.findtext("PartNumber") or 0)
            etag = (found.findtext("ETag") or "").strip('"')
            part = known.get(number)
            if part is None or etag not in (part.md5, part.etag):
                raise invalid_part()
            chosen.append((number, part.etag))
        if not chosen:
            raise xml.malformed()
        row = self._bucket.complete(key, upload_id, chosen)
        fields = (("Bucket", self._name), ("Key", key), ("ETag", f'"{row.etag}"'))
        return xml.reply("CompleteMultipartUploadResult", xml.fields(fields))

    def uploads(self, call: Call) -> Reply:
        encode = xml.encoder(call.parameter("encoding-type"))
        prefix = call.parameter("prefix") or ""
        head = (("Bucket", self._name), ("Prefix", encode(prefix)), ("IsTruncated", False))
        rows = (
            xml.element("Upload", (("Key", encode(key)), ("UploadId", upload_id)))
            for upload_id, key in self._bucket.store.uploads(prefix)
        )
        return xml.reply("ListMultipartUploadsResult", xml.fields(head) + "".join(rows))

    def parts(self, key: str, upload_id: str) -> Reply:
        head = (("Bucket", self._name), ("Key", key), ("UploadId", upload_id), ("IsTruncated", False))
        rows = (
            xml.element("Part", (("PartNumber", part.number), ("ETag", f'"{part.md5}"'), ("Size", part.size)))
            for part in self._bucket.store.parts(upload_id, key)
        )
        return xml.reply("ListPartsResult", xml.fields(head) + "".join(rows))
