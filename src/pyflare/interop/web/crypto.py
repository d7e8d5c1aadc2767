"""js.crypto: random values and `crypto.subtle`. developers.cloudflare.com/workers/runtime-apis/web-crypto

What needs more than Python's own hashes is computed by the package `cryptography` (the extra `crypto`), which is
imported by the first key that needs it.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from typing import Any, ClassVar

from pyflare.interop.arguments import not_of_type
from pyflare.interop.buffers import ArrayBuffer, BufferView, Float32Array, Float64Array, TypedArray
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import dom_exception
from pyflare.interop.global_scope import check_not_global
from pyflare.interop.promise import JsPromise
from pyflare.interop.proxy import JsProxy
from pyflare.interop.web.callback import fulfil
from pyflare.interop.web.crypto_keys import HASHES, CryptoKey, data_of, hash_name
from pyflare.interop.web.subtle import SubtleCrypto
from pyflare.interop.web.writable import WritableStream

MAX_RANDOM_BYTES = 65_536  # w3.org/TR/WebCryptoAPI, getRandomValues


class Crypto(JsProxy):
    """The object `js.crypto`."""

    js_name: ClassVar[str] = "Crypto"

    def __init__(self) -> None:
        self._subtle = SubtleCrypto.make()

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def subtle(self) -> SubtleCrypto:
        return self._subtle

    @property
    def DigestStream(self) -> type[DigestStream]:
        return DigestStream

    def randomUUID(self) -> str:
        check_not_global()
        return str(uuid.uuid4())

    def getRandomValues(self, array: Any = None) -> TypedArray:
        check_not_global()
        array = unwrap(array)
        if not isinstance(array, BufferView):
            raise not_of_type(self, "getRandomValues", 1, "ArrayBufferView")
        if not isinstance(array, TypedArray) or isinstance(array, (Float32Array, Float64Array)):
            raise dom_exception(
                "ArrayBufferView argument to getRandomValues() must be an integer-typed view.", "TypeMismatchError"
            )
        if array.byteLength > MAX_RANDOM_BYTES:
            raise dom_exception(
                f"getRandomValues() only accepts buffers of size <= 64K but provided {array.byteLength} bytes.",
                "QuotaExceededError",
            )
        array.assign(os.urandom(array.byteLength))
        return array


class DigestStream(WritableStream):
    """`crypto.DigestStream`: a digest of what is written to it."""

    js_name: ClassVar[str] = "DigestStream"
    digest: JsPromise

    @classmethod
    def construct(cls, algorithm: Any = None, *_: Any) -> DigestStream:
        sink = DigestSink(hash_name(algorithm))
        stream = cls.make(sink)
        stream.digest = sink.result
        return stream


class DigestSink:
    def __init__(self, name: str) -> None:
        self._hash = hashlib.new(HASHES[name], usedforsecurity=False)
        self.result: JsPromise = JsPromise.make()

    def start(self, controller: Any) -> None:
        return None

    def write(self, chunk: Any, controller: Any) -> None:
        self._hash.update(chunk.encode() if isinstance(chunk, str) else data_of(chunk, "write", "DigestStream", 1))

    def close(self) -> None:
        fulfil(self.result, ArrayBuffer.make(self._hash.digest()))

    def abort(self, reason: Any) -> None:
        self.result._reject(reason)


crypto: Crypto = Crypto.make()

__all__ = ["Crypto", "CryptoKey", "DigestStream", "crypto"]
