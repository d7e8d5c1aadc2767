"""What R2's methods give: `R2Object`, `R2ObjectBody`, `R2Checksums`.

developers.cloudflare.com/r2/api/workers/workers-api-reference. JavaScript knows the classes by the names that the
runtime gives them: HeadResult, GetResult, Checksums.
"""

from __future__ import annotations

import datetime as dt
import json
from functools import cached_property
from typing import Any, ClassVar

from pyflare.engines.r2 import traits
from pyflare.engines.r2.digests import ALGORITHMS
from pyflare.engines.r2.store import ObjectRow
from pyflare.interop.buffers import ArrayBuffer
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import type_error
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsObject, JsProxy
from pyflare.interop.web.blob import Blob
from pyflare.interop.web.body import Body, WithBody
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.readable import ReadableStream

# R2's name -> the header it becomes
HTTP_METADATA = {
    "contentType": "content-type",
    "contentLanguage": "content-language",
    "contentDisposition": "content-disposition",
    "contentEncoding": "content-encoding",
    "cacheControl": "cache-control",
}
PROPERTIES = (
    "ssecKeyMd5",
    "storageClass",
    "range",
    "customMetadata",
    "httpMetadata",
    "uploaded",
    "checksums",
    "httpEtag",
    "etag",
    "size",
    "version",
    "key",
)  # fmt: skip  (in the runtime's order)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class Checksums(JsProxy):
    js_name: ClassVar[str] = "Checksums"

    def __init__(self, digests: dict[str, str]) -> None:
        self._digests = digests
        for name in reversed(ALGORITHMS):  # in the runtime's order
            digest = digests.get(name)
            setattr(self, name, None if digest is None else ArrayBuffer.make(bytes.fromhex(digest)))

    def toJSON(self, *_: Any) -> JsObject:
        return JsObject.make({name: self._digests.get(name) for name in ALGORITHMS})


class HeadResult(JsProxy):
    """What of it is an object is made when somebody asks, as in the runtime."""

    js_name: ClassVar[str] = "HeadResult"

    def __init__(
        self, row: ObjectRow, part: tuple[int, int] | None = None, metadata: bool = True, custom: bool = True
    ) -> None:
        """`part`: first byte and length of what was read, None where nothing was. `metadata` and `custom`: whether the
        two kinds of metadata are shown."""
        self.key = row.key
        self.version = row.version
        self.size = row.size
        self.etag = row.etag
        self.httpEtag = f'"{row.etag}"'
        self._row = row
        self._part = part
        self._metadata, self._custom = metadata, custom

    @cached_property
    def uploaded(self) -> JsDate:
        return JsDate.make(float(self._row.uploaded))

    @cached_property
    def storageClass(self) -> str:
        return traits.storage_class(self._row.http_metadata)

    @cached_property
    def ssecKeyMd5(self) -> str | None:
        return traits.key_md5(self._row.http_metadata)

    @cached_property
    def range(self) -> JsObject | None:
        if self._part is None:
            return None
        return JsObject.make({"offset": self._part[0], "length": self._part[1], "suffix": None})

    @cached_property
    def _http(self) -> dict[str, Any]:
        stored: dict[str, Any] = json.loads(self._row.http_metadata) if self._metadata else {}
        return stored

    @cached_property
    def httpMetadata(self) -> JsObject:
        return _http_metadata(self._http)

    @cached_property
    def customMetadata(self) -> JsObject:
        return JsObject.make(json.loads(self._row.custom_metadata) if self._custom else {})

    @cached_property
    def checksums(self) -> Checksums:
        return Checksums.make(digests_of(self._row))

    def js_properties(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in PROPERTIES} | super().js_properties()

    def writeHttpMetadata(self, headers: Any = None) -> None:
        if not isinstance(headers, Headers):
            raise type_error(
                "Failed to execute 'writeHttpMetadata' on 'HeadResult': parameter 1 is not of type 'Headers'."
            )
        for name, value in http_headers(self._http):
            headers.set(name, value)


class GetResult(HeadResult):
    js_name: ClassVar[str] = "GetResult"

    def __init__(self, row: ObjectRow, start: int, length: int, body: Body) -> None:
        super().__init__(row, (start, length))
        self._reader: WithBody = WithBody.make()
        self._reader._body = body

    @property
    def body(self) -> ReadableStream:
        stream: ReadableStream = self._reader.body
        return stream

    @property
    def bodyUsed(self) -> bool:
        return self._reader.bodyUsed

    def text(self) -> JsPromise:
        return self._reader.text()

    def json(self) -> JsPromise:
        return self._reader.json()

    def arrayBuffer(self) -> JsPromise:
        return self._reader.arrayBuffer()

    def bytes(self) -> JsPromise:
        promise: JsPromise = self._reader.bytes()
        return promise

    def blob(self) -> JsPromise:
        # The type as it was stored, not as a header would have it.
        kind = self._http.get("contentType") or ""
        promise: JsPromise = self._reader._whole(lambda data: Blob.make(data, kind))
        return promise


def digests_of(row: ObjectRow) -> dict[str, str]:
    """The checksums of an object; an object of parts has none."""
    own = {} if "-" in row.etag else {"md5": row.etag}
    return {**own, **json.loads(row.checksums)}


def _http_metadata(stored: dict[str, Any]) -> JsObject:
    fields: dict[str, Any] = {name: stored.get(name) for name in HTTP_METADATA}
    expiry = stored.get("cacheExpiry")
    fields["cacheExpiry"] = None if expiry is None else JsDate.make(float(expiry))
    return JsObject.make(fields)


def http_headers(stored: dict[str, Any]) -> list[tuple[str, str]]:
    """The headers of an answer that carries an object with this metadata."""
    pairs = [(header, str(stored[name])) for name, header in HTTP_METADATA.items() if stored.get(name) is not None]
    if stored.get("cacheExpiry") is not None:
        pairs.append(("expires", http_date(int(stored["cacheExpiry"]))))
    return pairs


def http_date(milliseconds: int) -> str:
    return _moment(milliseconds).strftime("%a, %d %b %Y %H:%M:%S GMT")


def iso_date(milliseconds: int) -> str:
    return _moment(milliseconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(milliseconds: int) -> dt.datetime:
    return EPOCH + dt.timedelta(milliseconds=milliseconds)
