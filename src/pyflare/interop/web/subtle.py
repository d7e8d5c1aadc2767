"""crypto.subtle: finds out who knows the algorithm, and asks. w3.org/TR/WebCryptoAPI"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from pyflare.interop import json as js_json
from pyflare.interop.buffers import ArrayBuffer
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import dom_exception, type_error
from pyflare.interop.promise import JsPromise, inside
from pyflare.interop.proxy import JsObject, JsProxy, is_nullish
from pyflare.interop.web import crypto_public, crypto_secret
from pyflare.interop.web.crypto_keys import (
    HASHES,
    CryptoKey,
    algorithm_name,
    data_of,
    hash_name,
    not_supported,
)


class Algorithm(Protocol):
    """What a family of algorithms can do; each raises NotSupportedError for the rest."""

    name: str

    def import_key(self, form: str, data: Any, algorithm: Any, extractable: bool, usages: Any) -> CryptoKey: ...

    def generate(self, algorithm: Any, extractable: bool, usages: Any) -> Any: ...

    def export(self, form: str, key: CryptoKey) -> Any: ...

    def sign(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes: ...

    def verify(self, algorithm: Any, key: CryptoKey, signature: bytes, data: bytes) -> bool: ...

    def encrypt(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes: ...

    def decrypt(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes: ...

    def derive(self, algorithm: Any, key: CryptoKey, bits: int | None) -> bytes: ...

    def key_bits(self, algorithm: Any) -> int | None: ...


def family(name: str, purpose: str) -> Algorithm:
    """Who implements the algorithm `name`."""
    found = crypto_secret.FAMILIES.get(name) or crypto_public.FAMILIES.get(name)
    if found is None:
        raise not_supported(f'Unrecognized {purpose} algorithm "{name}" requested.')
    return found(name)


class SubtleCrypto(JsProxy):
    js_name: ClassVar[str] = "SubtleCrypto"

    def js_properties(self) -> dict[str, Any]:
        return {}

    def digest(self, algorithm: Any = None, data: Any = None) -> JsPromise:
        def work() -> ArrayBuffer:
            content = data_of(data, "digest")
            return ArrayBuffer.make(hashlib.new(HASHES[hash_name(algorithm)], content, usedforsecurity=False).digest())

        return inside(work)

    def sign(self, algorithm: Any = None, key: Any = None, data: Any = None) -> JsPromise:
        return inside(self._use, "sign", "sign", algorithm, key, data)

    def encrypt(self, algorithm: Any = None, key: Any = None, data: Any = None) -> JsPromise:
        return inside(self._use, "encrypt", "encrypt", algorithm, key, data)

    def decrypt(self, algorithm: Any = None, key: Any = None, data: Any = None) -> JsPromise:
        return inside(self._use, "decrypt", "decrypt", algorithm, key, data)

    def _use(self, method: str, usage: str, algorithm: Any, key: Any, data: Any) -> ArrayBuffer:
        name, key = algorithm_name(algorithm), _key(key, method)
        content = data_of(data, method, number=3)
        key.check(usage, name)
        work: Callable[..., bytes] = getattr(family(name, method), method)
        return ArrayBuffer.make(work(unwrap(algorithm), key, content))

    def verify(self, algorithm: Any = None, key: Any = None, signature: Any = None, data: Any = None) -> JsPromise:
        def work() -> bool:
            name, checked = algorithm_name(algorithm), _key(key, "verify")
            given, content = data_of(signature, "verify", number=3), data_of(data, "verify", number=4)
            checked.check("verify", name)
            return family(name, "verify").verify(unwrap(algorithm), checked, given, content)

        return inside(work)

    def importKey(
        self, form: Any = None, data: Any = None, algorithm: Any = None, extractable: Any = None, usages: Any = None
    ) -> JsPromise:
        name = algorithm_name(algorithm)
        return inside(
            lambda: family(name, "key import").import_key(
                str(form), unwrap(data), unwrap(algorithm), bool(extractable), unwrap(usages)
            )
        )

    def generateKey(self, algorithm: Any = None, extractable: Any = None, usages: Any = None) -> JsPromise:
        name = algorithm_name(algorithm)
        return inside(
            lambda: family(name, "key generation").generate(unwrap(algorithm), bool(extractable), unwrap(usages))
        )

    def exportKey(self, form: Any = None, key: Any = None) -> JsPromise:
        return inside(self._export, str(form), key)

    def _export(self, form: str, key: Any) -> Any:
        key = _key(key, "exportKey")
        if not key.extractable:
            raise dom_exception(f"Attempt to export non-extractable {key.name} key.", "InvalidAccessError")
        exported = family(key.name, "key export").export(form, key)
        if isinstance(exported, bytes):
            return ArrayBuffer.make(exported)
        return JsObject.make({**exported, "key_ops": key.usages, "ext": True})

    def deriveBits(self, algorithm: Any = None, key: Any = None, length: Any = None) -> JsPromise:
        return inside(
            lambda: ArrayBuffer.make(self._derive("deriveBits", algorithm, key, None if is_nullish(length) else length))
        )

    def _derive(self, usage: str, algorithm: Any, key: Any, bits: int | None) -> bytes:
        name, key = algorithm_name(algorithm), _key(key, usage)
        key.check(usage, name)
        return family(name, "derivation").derive(unwrap(algorithm), key, bits)

    def deriveKey(
        self, algorithm: Any = None, key: Any = None, kind: Any = None, extractable: Any = None, usages: Any = None
    ) -> JsPromise:
        def work() -> CryptoKey:
            target = family(algorithm_name(kind), "key derivation")
            data = self._derive("deriveKey", algorithm, key, target.key_bits(unwrap(kind)))
            material = ArrayBuffer.make(data)
            return target.import_key("raw", material, unwrap(kind), bool(extractable), unwrap(usages))

        return inside(work)

    def wrapKey(self, form: Any = None, key: Any = None, wrapping: Any = None, algorithm: Any = None) -> JsPromise:
        def work() -> ArrayBuffer:
            exported = self._export(str(form), key)
            data = (
                (js_json.stringify(exported) or "").encode() if isinstance(exported, JsObject) else exported.to_bytes()
            )
            name, by = algorithm_name(algorithm), _key(wrapping, "wrapKey")
            by.check("wrapKey", name)
            return ArrayBuffer.make(family(name, "wrap").encrypt(unwrap(algorithm), by, data))

        return inside(work)

    def unwrapKey(
        self,
        form: Any = None,
        wrapped: Any = None,
        unwrapping: Any = None,
        algorithm: Any = None,
        kind: Any = None,
        extractable: Any = None,
        usages: Any = None,
    ) -> JsPromise:
        def work() -> CryptoKey:
            name, by = algorithm_name(algorithm), _key(unwrapping, "unwrapKey")
            by.check("unwrapKey", name)
            data = family(name, "unwrap").decrypt(unwrap(algorithm), by, data_of(wrapped, "unwrapKey"))
            material = js_json.parse(data.decode()) if form == "jwk" else ArrayBuffer.make(data)
            target = family(algorithm_name(kind), "key import")
            return target.import_key(str(form), material, unwrap(kind), bool(extractable), unwrap(usages))

        return inside(work)

    def timingSafeEqual(self, left: Any = None, right: Any = None) -> bool:
        one, other = data_of(left, "timingSafeEqual", number=1), data_of(right, "timingSafeEqual")
        if len(one) != len(other):
            raise type_error("Input buffers must have the same byte length.")
        return hmac.compare_digest(one, other)


def _key(value: Any, method: str) -> CryptoKey:
    value = unwrap(value)
    if not isinstance(value, CryptoKey):
        raise type_error(f"Failed to execute '{method}' on 'SubtleCrypto': parameter 2 is not of type 'CryptoKey'.")
    return value
