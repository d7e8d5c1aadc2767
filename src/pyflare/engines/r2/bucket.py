"""One bucket and its rules, for the binding, the S3 endpoint and the command line alike.

Refusals are `R2Fault`. Values come as bytes or as an async iterator of bytes of a known length; bodies go out as
`Pieces`, which open their files one after the other.
"""

from __future__ import annotations

import base64
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyflare.engines.r2.body import cut, open_body, read_body
from pyflare.engines.r2.conditional import Conditional
from pyflare.engines.r2.config import (
    MAX_DELETED_KEYS,
    MAX_KEY_BYTES,
    MAX_LIST_OBJECTS,
    MAX_LIST_OBJECTS_WITH_METADATA,
    MAX_METADATA_BYTES,
    MAX_OBJECT_BYTES,
)
from pyflare.engines.r2.digests import Digests, Expected
from pyflare.engines.r2.faults import (
    R2Fault,
    check_key,
    check_part_key,
    incomplete_body,
    invalid_max_keys,
    invalid_name,
    invalid_storage_class,
    metadata_too_large,
    too_large,
)
from pyflare.engines.r2.ranges import Range
from pyflare.engines.r2.store import Listing, ObjectRow, ObjectStore, Part
from pyflare.engines.r2.traits import INFREQUENT_ACCESS, STANDARD, key_md5, to_json, written
from pyflare.storage.blobs import BlobStore, BlobWriter
from pyflare.storage.pieces import Pieces


@dataclass(frozen=True, slots=True)
class PutOptions:
    """What is written with a value; `http_metadata` has R2's names, cacheExpiry in milliseconds."""

    http_metadata: Mapping[str, str | int] = field(default_factory=dict)
    custom_metadata: Mapping[str, str] = field(default_factory=dict)
    condition: Conditional | None = None
    expected: Expected | None = None
    storage_class: str = STANDARD
    key_md5: str | None = None  # of the key that encrypts it

    @property
    def stored_metadata(self) -> str:
        return written(self.http_metadata, self.storage_class, self.key_md5)


@dataclass(frozen=True, slots=True)
class Got:
    """An object, the part of it that was asked for, and the body of that part, as `data` if it was read already. With
    neither, the condition does not hold."""

    row: ObjectRow
    start: int
    length: int
    body: Pieces | None = None
    data: bytes | None = None


class Bucket:
    def __init__(
        self,
        store: ObjectStore,
        blobs: BlobStore,
        now: Callable[[], float],
        warn: Callable[[str], None],
        enforce_limits: bool = True,
    ) -> None:
        self.store = store
        self._blobs = blobs
        self._now = now
        self._warn = warn
        self._enforce = enforce_limits
        self._reading: Counter[str] = Counter()  # blobs that bodies still need
        self._doomed: set[str] = set()  # of these, what goes when they are done

    # --- reading ------------------------------------------------------------------------------------------------------

    def head(self, key: str) -> ObjectRow | None:
        self.check_key(key)
        return self.store.get(key)

    def get(
        self,
        key: str,
        condition: Conditional | None = None,
        wanted: Range | None = None,
        at_once: int = -1,
        given_md5: str | None = None,
    ) -> Got | None:
        """A body of up to `at_once` bytes is read right away. `given_md5`: of the key that decrypts it."""
        self.check_key(key)
        row = self.store.get(key)
        if row is None:
            return None
        check_key(key_md5(row.http_metadata), given_md5)
        if condition is not None and not condition.holds(row.etag, row.uploaded):
            return Got(row, 0, row.size)
        start, length = (0, row.size) if wanted is None else wanted.resolve(row.size)
        segments = cut(self.store.segments(row), start, length)
        if length <= at_once:
            data = read_body(self._blobs, segments)
            return None if data is None else Got(row, start, length, data=data)
        if not all(self._blobs.exists(blob_id) for blob_id, _, _ in segments):
            return None
        return Got(row, start, length, open_body(self._blobs, segments, self._acquire, self._release))

    def list(
        self,
        prefix: str = "",
        delimiter: str = "",
        start_after: str | None = None,
        cursor: str | None = None,
        limit: int = MAX_LIST_OBJECTS,
        with_metadata: bool = False,
    ) -> tuple[Listing, str | None]:
        """A page, and the cursor of the next one (None: this is the last)."""
        if not 1 <= limit <= MAX_LIST_OBJECTS:
            raise invalid_max_keys()
        if with_metadata:
            limit = min(limit, MAX_LIST_OBJECTS_WITH_METADATA)
        after = max(start_after or "", decode_cursor(cursor))
        listing = self.store.list(prefix, delimiter, after, limit)
        return listing, None if listing.last is None else encode_cursor(listing.last)

    # --- writing ------------------------------------------------------------------------------------------------------

    def put(self, key: str, value: bytes, options: PutOptions) -> ObjectRow:
        """Write an object; raises precondition_failed when the condition does not hold."""
        self._check_put(key, len(value), options)
        digests = Digests(options.expected)
        digests.update(value)
        checksums = digests.check()
        return self._keep(key, self._blobs.put(value, self._now()), len(value), digests.md5, checksums, options)

    async def put_stream(
        self, key: str, chunks: AsyncIterator[bytes], length: int | None, options: PutOptions
    ) -> ObjectRow:
        """Like `put`, of a value that comes in pieces; `length` None: it is not known and not checked."""
        self._check_put(key, length or 0, options)
        digests = Digests(options.expected)
        writer = await self._receive(chunks, length, digests)
        try:
            checksums = digests.check()
        except BaseException:
            writer.abort()
            raise
        writer.close()
        return self._keep(key, writer.id, writer.size, digests.md5, checksums, options)

    def delete(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.check_key(key)
        if len(keys) > MAX_DELETED_KEYS:
            self._limit(
                R2Fault(
                    400,
                    10029,
                    "MalformedXML",
                    f"{len(keys)} keys were given, but one call deletes at most {MAX_DELETED_KEYS}; see "
                    "https://developers.cloudflare.com/r2/api/workers/workers-api-reference/#bucket-method-definitions",
                )
            )
        self._discard(self.store.delete(keys))

    def _keep(
        self, key: str, blob_id: str, size: int, etag: str, checksums: Mapping[str, str], options: PutOptions
    ) -> ObjectRow:
        row = ObjectRow(
            key=key,
            blob_id=blob_id,
            version=secrets.token_hex(16),
            size=size,
            etag=etag,
            uploaded=int(self._now() * 1000),
            checksums=to_json(checksums),
            http_metadata=options.stored_metadata,
            custom_metadata=to_json(options.custom_metadata),
        )
        try:
            superfluous = self.store.put(row, options.condition)
        except BaseException:
            self._discard((blob_id,))
            raise
        self._discard(superfluous, replaced=True)
        return row

    async def _receive(self, chunks: AsyncIterator[bytes], length: int | None, digests: Digests) -> BlobWriter:
        writer = self._blobs.writer(self._now())
        try:
            async for chunk in chunks:
                if length is not None and writer.size + len(chunk) > length:
                    raise incomplete_body(writer.size + len(chunk), length)
                writer.write(chunk)
                digests.update(chunk)
                if writer.size > MAX_OBJECT_BYTES:
                    self._limit(too_large())
            if length is not None and writer.size != length:
                raise incomplete_body(writer.size, length)
        except BaseException:
            writer.abort()
            raise
        return writer

    # --- multipart uploads --------------------------------------------------------------------------------------------

    def create_upload(self, key: str, options: PutOptions) -> str:
        """The id of a new upload."""
        self._check_put(key, 0, options)
        upload_id = base64.urlsafe_b64encode(secrets.token_bytes(128)).rstrip(b"=").decode()
        self.store.create_upload(upload_id, key, options.stored_metadata, to_json(options.custom_metadata))
        return upload_id

    def put_part(self, key: str, upload_id: str, number: int, value: bytes, given_md5: str | None = None) -> Part:
        self._check_part(key, upload_id, given_md5)
        digests = Digests()
        digests.update(value)
        return self._keep_part(key, upload_id, number, self._blobs.put(value, self._now()), len(value), digests)

    async def put_part_stream(
        self,
        key: str,
        upload_id: str,
        number: int,
        chunks: AsyncIterator[bytes],
        length: int | None,
        given_md5: str | None = None,
    ) -> Part:
        self._check_part(key, upload_id, given_md5)
        digests = Digests()
        writer = await self._receive(chunks, length, digests)
        writer.close()
        return self._keep_part(key, upload_id, number, writer.id, writer.size, digests)

    def _keep_part(self, key: str, upload_id: str, number: int, blob_id: str, size: int, digests: Digests) -> Part:
        etag = base64.urlsafe_b64encode(secrets.token_bytes(128)).rstrip(b"=").decode()
        part = Part(number, blob_id, size, etag, digests.md5)
        try:
            superfluous = self.store.put_part(upload_id, key, part)
        except BaseException:
            self._discard((blob_id,))
            raise
        self._discard(superfluous)
        return part

    def complete(self, key: str, upload_id: str, parts: Sequence[tuple[int, str]]) -> ObjectRow:
        """Make an object of uploaded parts: their numbers and etags."""
        self.check_key(key)
        row, superfluous = self.store.complete(upload_id, key, parts, secrets.token_hex(16), int(self._now() * 1000))
        self._discard(superfluous)
        return row

    def abort(self, key: str, upload_id: str) -> None:
        self.check_key(key)
        self._discard(self.store.abort(upload_id, key))

    # --- rules --------------------------------------------------------------------------------------------------------

    def check_key(self, key: str) -> None:
        if not key or len(key.encode()) > MAX_KEY_BYTES:
            raise invalid_name()

    def _check_put(self, key: str, size: int, options: PutOptions) -> None:
        self.check_key(key)
        if options.storage_class not in (STANDARD, INFREQUENT_ACCESS):
            raise invalid_storage_class()
        if size > MAX_OBJECT_BYTES:
            self._limit(too_large())
        self._check_metadata(options.custom_metadata)

    def _check_part(self, key: str, upload_id: str, given_md5: str | None) -> None:
        self.check_key(key)
        check_part_key(key_md5(self.store.upload_metadata(upload_id, key)), given_md5)

    def _check_metadata(self, metadata: Mapping[str, str]) -> None:
        if sum(_stored_length(name) + _stored_length(value) for name, value in metadata.items()) > MAX_METADATA_BYTES:
            self._limit(metadata_too_large())

    def _limit(self, fault: R2Fault) -> None:
        if self._enforce:
            raise fault
        self._warn(f"R2 would refuse: {fault}")

    # --- blobs that are in use ----------------------------------------------------------------------------------------

    def _acquire(self, blob_ids: Iterable[str]) -> None:
        self._reading.update(blob_ids)

    def _release(self, blob_ids: Iterable[str]) -> None:
        for blob_id in blob_ids:
            self._reading[blob_id] -= 1
            if self._reading[blob_id] <= 0:
                del self._reading[blob_id]
                if blob_id in self._doomed:
                    self._doomed.discard(blob_id)
                    self._blobs.delete((blob_id,))

    def _discard(self, blob_ids: Iterable[str], replaced: bool = False) -> None:
        remove = self._blobs.replaced if replaced else self._blobs.delete
        for blob_id in blob_ids:
            if blob_id in self._reading:
                self._doomed.add(blob_id)
            else:
                remove((blob_id,))

    def close(self) -> None:
        self._blobs.delete(self._doomed)
        self._blobs.close()
        self.store.close()


def _stored_length(text: str) -> int:
    """The bytes that R2 counts for a text: Latin-1 or UTF-16."""
    try:
        return len(text.encode("latin-1"))
    except UnicodeEncodeError:
        return len(text.encode("utf-16-le"))


def encode_cursor(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def decode_cursor(cursor: str | None) -> str:
    """The key behind which a page begins; what is no cursor begins at the start."""
    try:
        return base64.b64decode(cursor or "", validate=True).decode()
    except ValueError:
        return ""
