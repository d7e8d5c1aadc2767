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
from pyflare.engines.r2.options import (
    byte_range,
    conditional,
    multipart_options,
    put_options,
    ssec_key_md5,
    text_field,
    wrong_field,
)
from pyflare.engines.r2.ranges import Range
from pyflare.engines.r2.store import Listing, ObjectRow, Part
from pyflare.interop.arguments import not_of_type, promised, requires, settings, to_int32, to_string
from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.containers import JsArray
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import JsException, error, range_error, type_error
from pyflare.interop.promise import JsPromise, confirmed, perform, start
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish, jsnull
from pyflare.interop.web.blob import Blob
from pyflare.interop.web.body import Body
from pyflare.interop.web.bytes import utf8
from pyflare.interop.web.readable import ReadableStream
from pyflare.storage.blobs import CHUNK_BYTES

UNKNOWN_LENGTH = (
    "Provided readable stream must have a known length (request/response body or readable half of FixedLengthStream)"
)
NO_PART = (  # the runtime gives its own name for the type
    "Cannot initialize N7workerd3api11public_beta17R2MultipartUpload12UploadedPartE with required members from an "
    "undefined or null value."
)
VALUE = "JsReadableStream or ArrayBuffer or ArrayBufferView or string or Blob"
PRECONDITION_FAILED = 10031
INCLUDABLE = ("httpMetadata", "customMetadata")


class R2Bucket(JsProxy):
    js_name: ClassVar[str] = "R2Bucket"

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def js_properties(self) -> dict[str, Any]:
        return {}

    @promised
    @requires("string")
    def head(self, key: Any) -> JsPromise:
        return perform(self._head, to_string(key))

    @promised
    @requires("string")
    def get(self, key: Any, options: Any = None) -> JsPromise:
        options = settings(options, self, "get", 2, "GetOptions")
        condition, wanted = conditional(get(options, "onlyIf"), "GetOptions"), byte_range(get(options, "range"))
        key_md5 = ssec_key_md5(get(options, "ssecKey"))
        return perform(self._get, to_string(key), condition, wanted, key_md5)

    @promised
    @requires("string", VALUE)
    def put(self, key: Any, value: Any, options: Any = None) -> JsPromise:
        name, wanted = to_string(key), put_options(settings(options, self, "put", 3, "PutOptions"))
        data = b"" if is_nullish(value) else _value(value, self, "put")
        if isinstance(data, bytes):
            return perform(self._put, name, data, wanted)
        return start(self._put_stream(name, data, wanted))

    @promised
    @requires("string or Array")
    def delete(self, keys: Any) -> JsPromise:
        names = [to_string(key) for key in keys] if isinstance(keys, JsArray) else [to_string(keys)]
        return perform(_calling("delete", self._bucket.delete), names)

    @promised
    @requires()
    def list(self, options: Any = None) -> JsPromise:
        options = settings(options, self, "list", 1, "ListOptions")
        limit = get(options, "limit")
        prefix, delimiter, start_after, cursor = (
            text_field(options, name, "ListOptions") for name in ("prefix", "delimiter", "startAfter", "cursor")
        )
        return perform(
            self._list,
            prefix or "",
            delimiter or "",
            start_after,
            cursor,
            MAX_LIST_OBJECTS if limit is None else to_int32(limit),
            _included(get(options, "include")),
        )

    @promised
    @requires("string")
    def createMultipartUpload(self, key: Any, options: Any = None) -> JsPromise:
        options = settings(options, self, "createMultipartUpload", 2, "MultipartOptions")
        return perform(self._create_upload, to_string(key), multipart_options(options))

    @requires("string", "string")
    def resumeMultipartUpload(self, key: Any, upload_id: Any) -> R2MultipartUpload:
        return R2MultipartUpload.make(self._bucket, to_string(key), to_string(upload_id))

    # --- behind the promises ------------------------------------------------------------------------------------------

    def _head(self, key: str) -> Any:
        row = _calling("head", self._bucket.head)(key)
        return jsnull if row is None else _seen(row)

    def _get(self, key: str, condition: Conditional | None, wanted: Range | None, key_md5: str | None) -> Any:
        got: Got | None = _calling("get", self._bucket.get)(key, condition, wanted, CHUNK_BYTES, key_md5)
        if got is None:
            return jsnull
        source = got.body if got.data is None else got.data
        if source is None:
            return _seen(got.row)
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
            "objects": JsArray.make([HeadResult.make(row, None, *shown) for row in listing.objects]),
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
        self.uploadId = upload_id
        self.key = key

    @promised
    @requires("integer", VALUE)
    def uploadPart(self, number: Any, value: Any, options: Any = None) -> JsPromise:
        options = settings(options, self, "uploadPart", 3, "UploadPartOptions")
        part, data = _part_number(number), _value(value, self, "uploadPart")
        key_md5 = ssec_key_md5(get(options, "ssecKey"))
        if isinstance(data, bytes):
            return perform(self._upload_part, part, data, key_md5)
        return start(self._upload_stream(part, data, key_md5))

    @promised
    @requires("Array")
    def complete(self, parts: Any) -> JsPromise:
        if not isinstance(parts, JsArray):
            raise not_of_type(self, "complete", 1, "Array")
        for at, part in enumerate(parts):
            if is_nullish(part):
                raise type_error(NO_PART)
            if isinstance(part, (str, int, float)):
                raise _wrong_element(at, "UploadedPart")
        chosen = [(_part_number(get(part, "partNumber")), to_string(get(part, "etag"))) for part in parts]
        return perform(self._complete, chosen)

    @promised
    @requires()
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
    """An object that was written."""
    return HeadResult.make(row)


def _seen(row: ObjectRow) -> HeadResult:
    """An object that was looked at, without its body."""
    return HeadResult.make(row, (0, row.size))


def _uploaded(part: Part) -> JsObject:
    return JsObject.make({"partNumber": part.number, "etag": part.etag})


def _part_number(value: Any) -> int:
    number = to_int32(value)
    if not 1 <= number <= MAX_PARTS:
        raise type_error(f"Part number must be between 1 and {MAX_PARTS} (inclusive). Actual value was: {number}")
    return number


def _included(fields: Any) -> Sequence[str]:
    if fields is None:
        return ()
    if not isinstance(fields, JsArray):
        raise wrong_field("include", "ListOptions", "Array")
    for at, field in enumerate(fields):
        if not isinstance(field, str):
            raise _wrong_element(at, "string")
        if field not in INCLUDABLE:
            raise range_error(f"Unsupported include value {field}")
    return list(fields)


def _wrong_element(at: int, wanted: str) -> JsException:
    return type_error(f"Incorrect type for array element {at}: the provided value is not of type '{wanted}'.")


def _value(value: Any, owner: JsProxy, method: str) -> bytes | ReadableStream:
    """What is to be stored: a copy of its bytes, or a stream whose length is known."""
    if isinstance(value, str):
        return utf8(value)
    if is_buffer(value):
        return as_bytes(value)
    value = unwrap(value)
    if isinstance(value, Blob):
        return value.data
    if not isinstance(value, ReadableStream):
        raise not_of_type(owner, method, 2, VALUE)
    if value._length is None:
        raise type_error(UNKNOWN_LENGTH)
    value.check_source()
    known = value.take_all()
    return value if known is None else known
