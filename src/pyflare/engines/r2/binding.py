"""`env.BUCKET`: Cloudflare's names, checks and conversions.

developers.cloudflare.com/r2/api/workers/workers-api-reference
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from pyflare.engines.r2.bucket import Bucket, Got, PutOptions
from pyflare.engines.r2.conditional import Conditional
from pyflare.engines.r2.config import MAX_LIST_OBJECTS, MAX_PARTS
from pyflare.engines.r2.faults import R2Fault
from pyflare.engines.r2.objects import GetResult, HeadResult
from pyflare.engines.r2.options import byte_range, conditional, put_options, ssec_key_md5
from pyflare.engines.r2.ranges import Range
from pyflare.engines.r2.store import Listing, ObjectRow, Part
from pyflare.interop.arguments import optional_text, promised, to_int32, to_string
from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.containers import JsArray
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import JsException, error, range_error, type_error
from pyflare.interop.promise import JsPromise, confirmed, perform, start
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish, jsnull
from pyflare.interop.web.blob import Blob
from pyflare.interop.web.body import BODY_DISTURBED, BODY_LOCKED, Body
from pyflare.interop.web.bytes import utf8
from pyflare.interop.web.readable import ReadableStream
from pyflare.storage.blobs import CHUNK_BYTES

UNKNOWN_LENGTH = (
    "Provided readable stream must have a known length (request/response body or readable half of FixedLengthStream)"
)
PRECONDITION_FAILED = 10031
INCLUDABLE = ("httpMetadata", "customMetadata")


class R2Bucket(JsProxy):
    js_name: ClassVar[str] = "R2Bucket"

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def js_properties(self) -> dict[str, Any]:
        return {}

    @promised
    def head(self, key: Any = None) -> JsPromise:
        return perform(self._head, to_string(key))

    @promised
    def get(self, key: Any = None, options: Any = None) -> JsPromise:
        condition, wanted = conditional(get(options, "onlyIf")), byte_range(get(options, "range"))
        key_md5 = ssec_key_md5(get(options, "ssecKey"))
        return perform(self._get, to_string(key), condition, wanted, key_md5)

    @promised
    def put(self, key: Any = None, value: Any = None, options: Any = None) -> JsPromise:
        name, settings = to_string(key), put_options(options)
        data = _value(value, "put")
        if isinstance(data, bytes):
            return perform(self._put, name, data, settings)
        return start(self._put_stream(name, data, settings))

    @promised
    def delete(self, keys: Any = None) -> JsPromise:
        names = [to_string(key) for key in keys] if isinstance(keys, JsArray) else [to_string(keys)]
        return perform(_calling("delete", self._bucket.delete), names)

    @promised
    def list(self, options: Any = None) -> JsPromise:
        limit = get(options, "limit")
        include = get(options, "include")
        fields = None if include is None else tuple(to_string(field) for field in include)
        for field in fields or ():
            if field not in INCLUDABLE:
                raise range_error(f"Unsupported include value {field}")
        return perform(
            self._list,
            optional_text(get(options, "prefix")) or "",
            optional_text(get(options, "delimiter")) or "",
            optional_text(get(options, "startAfter")),
            optional_text(get(options, "cursor")),
            MAX_LIST_OBJECTS if limit is None else to_int32(limit),
            fields or (),
        )

    @promised
    def createMultipartUpload(self, key: Any = None, options: Any = None) -> JsPromise:
        return perform(self._create_upload, to_string(key), put_options(options))

    def resumeMultipartUpload(self, key: Any = None, upload_id: Any = None) -> R2MultipartUpload:
        return R2MultipartUpload.make(self._bucket, to_string(key), to_string(upload_id))

    # --- behind the promises ------------------------------------------------------------------------------------------

    def _head(self, key: str) -> Any:
        row = _calling("head", self._bucket.head)(key)
        return jsnull if row is None else _object(row)

    def _get(self, key: str, condition: Conditional | None, wanted: Range | None, key_md5: str | None) -> Any:
        got: Got | None = _calling("get", self._bucket.get)(key, condition, wanted, CHUNK_BYTES, key_md5)
        if got is None:
            return jsnull
        source = got.body if got.data is None else got.data
        if source is None:
            return _object(got.row)
        return GetResult.make(got.row, got.start, got.length, Body.make(source, got.length))

    def _put(self, key: str, data: bytes, settings: PutOptions) -> Any:
        try:
            return _object(self._bucket.put(key, data, settings))
        except R2Fault as fault:
            return _refused_put(fault)

    async def _put_stream(self, key: str, stream: ReadableStream, settings: PutOptions) -> Any:
        await confirmed()
        try:
            return _object(await self._bucket.put_stream(key, stream.drain(), stream._length, settings))
        except R2Fault as fault:
            return _refused_put(fault)

    def _list(
        self,
        prefix: str,
        delimiter: str,
        start_after: str | None,
        cursor: str | None,
        limit: int,
        fields: Sequence[str],
    ) -> JsObject:
        find: Callable[..., tuple[Listing, str | None]] = _calling("list", self._bucket.list)
        listing, following = find(prefix, delimiter, start_after, cursor, limit, bool(fields))
        shown = [field in fields for field in INCLUDABLE]
        result: dict[str, Any] = {
            "objects": JsArray.make([HeadResult.make(row, 0, row.size, *shown) for row in listing.objects]),
            "truncated": following is not None,
            "cursor": following,
            "delimitedPrefixes": JsArray.make(list(listing.prefixes)),
        }
        return JsObject.make(result)

    def _create_upload(self, key: str, settings: PutOptions) -> R2MultipartUpload:
        upload_id = _calling("createMultipartUpload", self._bucket.create_upload)(key, settings)
        return R2MultipartUpload.make(self._bucket, key, upload_id)


class R2MultipartUpload(JsProxy):
    js_name: ClassVar[str] = "R2MultipartUpload"

    def __init__(self, bucket: Bucket, key: str, upload_id: str) -> None:
        self._bucket = bucket
        self.key = key
        self.uploadId = upload_id

    @promised
    def uploadPart(self, number: Any = None, value: Any = None, options: Any = None) -> JsPromise:
        part = _part_number(number)
        data, key_md5 = _value(value, "uploadPart"), ssec_key_md5(get(options, "ssecKey"))
        if isinstance(data, bytes):
            return perform(self._upload_part, part, data, key_md5)
        return start(self._upload_stream(part, data, key_md5))

    @promised
    def complete(self, parts: Any = None) -> JsPromise:
        if not isinstance(parts, JsArray):
            raise type_error("Failed to execute 'complete' on 'R2MultipartUpload': parameter 1 is not of type 'Array'.")
        chosen = [(_part_number(get(part, "partNumber")), to_string(get(part, "etag"))) for part in parts]
        return perform(self._complete, chosen)

    @promised
    def abort(self) -> JsPromise:
        return perform(_calling("abortMultipartUpload", self._bucket.abort), self.key, self.uploadId)

    def _upload_part(self, number: int, data: bytes, key_md5: str | None) -> JsObject:
        put_part = _calling("uploadPart", self._bucket.put_part)
        return _uploaded(put_part(self.key, self.uploadId, number, data, key_md5))

    async def _upload_stream(self, number: int, stream: ReadableStream, key_md5: str | None) -> JsObject:
        await confirmed()
        try:
            part = await self._bucket.put_part_stream(
                self.key, self.uploadId, number, stream.drain(), stream._length, key_md5
            )
        except R2Fault as fault:
            raise _failed("uploadPart", fault) from None
        return _uploaded(part)

    def _complete(self, parts: list[tuple[int, str]]) -> HeadResult:
        complete = _calling("completeMultipartUpload", self._bucket.complete)
        return _object(complete(self.key, self.uploadId, parts))


def _failed(operation: str, fault: R2Fault) -> JsException:
    return error(f"{operation}: {fault}")


def _calling(operation: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with its refusals in the words that workers see."""

    def call(*args: Any) -> Any:
        try:
            return method(*args)
        except R2Fault as fault:
            raise _failed(operation, fault) from None

    return call


def _refused_put(fault: R2Fault) -> Any:
    """A put whose condition does not hold gives null."""
    if fault.code == PRECONDITION_FAILED:
        return jsnull
    raise _failed("put", fault) from None


def _object(row: ObjectRow) -> HeadResult:
    return HeadResult.make(row, 0, row.size)


def _uploaded(part: Part) -> JsObject:
    return JsObject.make({"partNumber": part.number, "etag": part.etag})


def _part_number(value: Any) -> int:
    number = to_int32(value)
    if not 1 <= number <= MAX_PARTS:
        raise type_error(f"Part number must be between 1 and {MAX_PARTS} (inclusive). Actual value was: {number}")
    return number


def _value(value: Any, method: str) -> bytes | ReadableStream:
    """What is to be stored: a copy of its bytes, or a stream whose length is known."""
    if isinstance(value, str):
        return utf8(value)
    if is_nullish(value):
        return b""
    if is_buffer(value):
        return as_bytes(value)
    value = unwrap(value)
    if isinstance(value, Blob):
        return value.data
    if not isinstance(value, ReadableStream):
        raise type_error(
            f"Failed to execute '{method}' on 'R2Bucket': parameter 2 is not of type 'ReadableStream or ArrayBuffer or "
            "ArrayBufferView or string or Blob'."
        )
    if value.locked:
        raise type_error(BODY_LOCKED)
    if value._disturbed:
        raise type_error(BODY_DISTURBED)
    if value._length is None:
        raise type_error(UNKNOWN_LENGTH)
    known = value.take_all()
    return value if known is None else known
