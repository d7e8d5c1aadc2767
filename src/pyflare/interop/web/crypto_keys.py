"""CryptoKey, and how algorithms and data are named in arguments."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, ClassVar

from pyflare.interop.buffers import as_bytes, is_buffer
from pyflare.interop.containers import JsArray, to_text
from pyflare.interop.convert import unwrap
from pyflare.interop.errors import JsException, dom_exception, type_error
from pyflare.interop.proxy import JsObject, JsProxy, get, is_nullish

# WebCrypto's name -> hashlib's
HASHES = {"SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512", "MD5": "md5"}

NAMES = {
    name.lower(): name
    for name in (
        *HASHES, "HMAC", "AES-GCM", "AES-CBC", "AES-CTR", "AES-KW", "HKDF", "PBKDF2", "RSASSA-PKCS1-v1_5", "RSA-PSS",
        "RSA-OAEP", "ECDSA", "ECDH", "Ed25519", "X25519",
    )
}  # fmt: skip

USAGES = ("encrypt", "decrypt", "sign", "verify", "deriveKey", "deriveBits", "wrapKey", "unwrapKey")


class CryptoKey(JsProxy):
    """`handle` is the key itself: bytes, or an object of the package `cryptography`."""

    js_name: ClassVar[str] = "CryptoKey"

    def __init__(
        self, type: str, extractable: bool, algorithm: dict[str, Any], usages: Iterable[str], handle: Any
    ) -> None:
        self._type, self._extractable = type, extractable
        self._algorithm = algorithm
        self._usages = [usage for usage in USAGES if usage in set(usages)]
        self.__dict__["_handle"] = handle

    @classmethod
    def construct(cls, *_: Any) -> CryptoKey:
        raise type_error("Illegal constructor")

    def js_properties(self) -> dict[str, Any]:
        return {}

    @property
    def handle(self) -> Any:
        return self.__dict__["_handle"]

    @property
    def name(self) -> str:
        """The algorithm's."""
        return str(self._algorithm["name"])

    @property
    def type(self) -> str:
        return self._type

    @property
    def extractable(self) -> bool:
        return self._extractable

    @property
    def algorithm(self) -> JsObject:
        parts = {
            key: JsObject.make(value) if isinstance(value, dict) else value for key, value in self._algorithm.items()
        }
        return JsObject.make(parts)

    @property
    def usages(self) -> JsArray:
        return JsArray.make(list(self._usages))

    @property
    def hash(self) -> str:
        """Of keys that have one: "SHA-256"."""
        return str(self._algorithm["hash"]["name"])

    def check(self, usage: str, algorithm: str | None = None) -> None:
        """InvalidAccessError unless the key may be used for `usage` with `algorithm`."""
        if algorithm is not None and algorithm != self.name:
            raise dom_exception(
                f'Requested algorithm "{algorithm}" does not match this CryptoKey\'s algorithm "{self.name}".',
                "InvalidAccessError",
            )
        if usage not in self._usages:
            raise dom_exception(
                f'Requested key usage "{usage}" does not match any usage listed in this CryptoKey.',
                "InvalidAccessError",
            )


def algorithm_name(algorithm: Any) -> str:
    """WebCrypto's spelling of an algorithm given as a name or as an object with one."""
    given = to_text(algorithm if isinstance(algorithm, str) else get(unwrap(algorithm), "name"))
    return NAMES.get(given.lower(), given)


def hash_name(algorithm: Any) -> str:
    if algorithm is None:
        raise type_error('Missing field "hash" in "algorithm".')
    name = algorithm_name(algorithm)
    if name not in HASHES:
        raise not_supported("Unrecognized or unimplemented digest algorithm requested.")
    return name


def not_supported(message: str) -> JsException:
    return dom_exception(message, "NotSupportedError")


def data_of(value: Any, method: str, owner: str = "SubtleCrypto", number: int = 2) -> bytes:
    """The bytes of a BufferSource; Python's own bytes are none before `to_js`."""
    value = unwrap(value)
    if not is_buffer(value):
        raise type_error(
            f"Failed to execute '{method}' on '{owner}': parameter {number} is not of type 'BufferSource'."
        )
    return as_bytes(value)


def option_bytes(algorithm: Any, name: str, default: bytes | None = None) -> bytes:
    """A buffer in an algorithm's parameters."""
    value = unwrap(get(algorithm, name))
    if is_nullish(value) and default is not None:
        return default
    if not is_buffer(value):
        raise type_error(f'Missing field "{name}" in "algorithm".')
    return as_bytes(value)


def usage_list(usages: Any, key_type: str, name: str, allowed: Iterable[str], action: str) -> list[str]:
    """The usages asked for; SyntaxError for one that such a key cannot have."""
    if not isinstance(usages, (JsArray, list)):
        raise type_error(f"Failed to execute '{action}Key' on 'SubtleCrypto': parameter 5 is not of type 'Array'.")
    wanted = [to_text(usage) for usage in usages]
    fitting = set(allowed)
    for usage in wanted:
        if usage not in fitting:
            raise dom_exception(
                f'Attempt to {action} {key_type} {name} key with invalid usage "{usage}".', "SyntaxError"
            )
    if not wanted and key_type in ("secret", "private"):
        raise dom_exception("Secret/private CryptoKeys must have at least one usage.", "SyntaxError")
    return wanted


def encode_url(data: bytes) -> str:
    """base64url without padding (RFC 7515)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_url(text: Any) -> bytes:
    value = to_text(text)
    try:
        return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        raise dom_exception("Invalid JWK: a field is not base64url.", "DataError") from None
