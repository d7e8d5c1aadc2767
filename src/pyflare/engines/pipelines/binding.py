"""`env.PIPELINE`. On Cloudflare it is a service binding, which is how the SDK converts its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from pyflare.interop import json
from pyflare.interop.arguments import promised
from pyflare.interop.containers import JsArray
from pyflare.interop.errors import error, type_error
from pyflare.interop.promise import JsPromise, perform
from pyflare.interop.proxy import JsProxy

MAX_REQUEST_BYTES = 5_000_000  # developers.cloudflare.com/pipelines/platform/limits


class Pipeline(JsProxy):
    js_name: ClassVar[str] = "Fetcher"

    def __init__(self, keep: Callable[[Sequence[str]], None]) -> None:
        self._keep = keep

    def js_properties(self) -> dict[str, Any]:
        return {}

    @promised
    def send(self, records: Any = None) -> JsPromise:
        if not isinstance(records, JsArray):
            raise type_error("A pipeline takes an array of records.")
        lines = [json.stringify(record) or "null" for record in records]
        size = sum(len(line.encode()) for line in lines)
        if size > MAX_REQUEST_BYTES:
            raise error(
                f"The records have {size} bytes, but a pipeline takes at most {MAX_REQUEST_BYTES} in one request; see "
                "https://developers.cloudflare.com/pipelines/platform/limits/"
            )
        return perform(self._keep, lines)
