"""`env.POINTS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from pyflare.engines.analytics.config import (
    MAX_BLOB_BYTES,
    MAX_BLOBS,
    MAX_DOUBLES,
    MAX_INDEX_BYTES,
    MAX_INDEXES,
)
from pyflare.interop.arguments import to_number, to_string
from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.errors import type_error
from pyflare.interop.promise import perform
from pyflare.interop.proxy import JsProxy, get, is_nullish, options

Write = Callable[[str, Sequence[str | None], Sequence[float]], None]
PREFIX = "writeDataPoint(): "


class AnalyticsEngine(JsProxy):
    """`count()` raises when the event wrote too many points, `write(index, blobs, doubles)` keeps one."""

    js_name: ClassVar[str] = "AnalyticsEngine"

    def __init__(self, count: Callable[[], None], write: Write) -> None:
        self._count = count
        self._write = write

    def js_properties(self) -> dict[str, Any]:
        return {}

    @options
    def writeDataPoint(self, point: Any = None) -> None:
        indexes = _texts(get(point, "indexes"))
        if len(indexes) > MAX_INDEXES:
            raise type_error(f"{PREFIX}Maximum of {MAX_INDEXES} indexes supported.")
        if indexes and len((indexes[0] or "").encode()) > MAX_INDEX_BYTES:
            raise type_error(f"{PREFIX}Size of indexes[0] exceeds {MAX_INDEX_BYTES} bytes).")
        blobs = _texts(get(point, "blobs"))
        if len(blobs) > MAX_BLOBS:
            raise type_error(f"{PREFIX}Maximum of {MAX_BLOBS} blobs supported.")
        if sum(len(blob.encode()) for blob in blobs if blob is not None) > MAX_BLOB_BYTES:
            raise type_error(f"{PREFIX}Cumulative size of blobs exceeds {MAX_BLOB_BYTES} bytes).")
        given = get(point, "doubles")
        doubles = [] if given is None else [float(to_number(number)) for number in given]
        if len(doubles) > MAX_DOUBLES:
            raise type_error(f"{PREFIX}Maximum of {MAX_DOUBLES} doubles supported.")
        self._count()
        perform(self._write, (indexes[0] or "") if indexes else "", blobs, doubles)


def _texts(values: Any) -> list[str | None]:
    if values is None:
        return []
    return [None if is_nullish(value) else _text(value) for value in values]


def _text(value: Any) -> str:
    return as_bytes(value).decode("utf-8", "replace") if is_buffer(value) else to_string(value)
