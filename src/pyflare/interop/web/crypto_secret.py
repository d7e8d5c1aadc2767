"""Algorithms with a secret key: HMAC, AES, HKDF and PBKDF2."""

from __future__ import annotations

import hashlib
import hmac
import os
from typing import Any

from pyflare.interop.errors import JsException, dom_exception, type_error
from pyflare.interop.proxy import get, is_nullish
from pyflare.interop.web.crypto_keys import (
    HASHES,
    CryptoKey,
    data_of,
    decode_url,
    encode_url,
    hash_name,
    not_supported,
    option_bytes,
    usage_list,
)

HASH_BLOCK_BITS = {"SHA-1": 512, "SHA-256": 512, "SHA-384": 1024, "SHA-512": 1024, "MD5": 512}
AES_BITS = (128, 192, 256)


def require_cryptography(purpose: str) -> None:
    """Raise a NotSupportedError that names the extra when the package `cryptography` is not installed."""
    try:
        import cryptography as _package  # noqa: F401, PLC0415  (an optional extra)
    except ImportError:
        raise not_supported(f'{purpose} needs the Python package "cryptography": install pyflare-dev[crypto]') from None


def operation_error(message: str) -> JsException:
    return dom_exception(message, "OperationError")


def data_error(message: str) -> JsException:
    return dom_exception(message, "DataError")


class Family:
    """What an algorithm cannot do."""

    usages: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name

    def _cannot(self, what: str) -> JsException:
        return not_supported(f'The {what} operation is not implemented for "{self.name}".')

    def import_key(self, form: str, data: Any, algorithm: Any, extractable: bool, usages: Any) -> CryptoKey:
        raise self._cannot("importKey")

    def generate(self, algorithm: Any, extractable: bool, usages: Any) -> Any:
        raise self._cannot("generateKey")

    def export(self, form: str, key: CryptoKey) -> Any:
        raise self._cannot("exportKey")

    def sign(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        raise self._cannot("sign")

    def verify(self, algorithm: Any, key: CryptoKey, signature: bytes, data: bytes) -> bool:
        raise self._cannot("verify")

    def encrypt(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        raise self._cannot("encrypt")

    def decrypt(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        raise self._cannot("decrypt")

    def derive(self, algorithm: Any, key: CryptoKey, bits: int | None) -> bytes:
        raise self._cannot("deriveBits")

    def key_bits(self, algorithm: Any) -> int | None:
        raise self._cannot("deriveKey")


class Secret(Family):
    """Keys that are bytes: raw or as a JWK of the kind "oct"."""

    def material(self, form: str, data: Any) -> bytes:
        if form == "raw":
            return data_of(data, "importKey")
        if form != "jwk":
            raise not_supported(f'Unrecognized key import format "{form}".')
        if get(data, "kty") != "oct":
            raise data_error(
                f'Symmetric "jwk" key import requires a JSON Web Key with Key Type parameter "kty" equal to '
                f'"oct" (encountered "{get(data, "kty")}").'
            )
        return decode_url(get(data, "k"))

    def jwk_name(self, key: CryptoKey) -> str:
        raise NotImplementedError

    def export(self, form: str, key: CryptoKey) -> Any:
        if form == "raw":
            return key.handle
        if form != "jwk":
            raise not_supported(f'Unrecognized key export format "{form}".')
        return {"kty": "oct", "k": encode_url(key.handle), "alg": self.jwk_name(key)}


class Hmac(Secret):
    usages = ("sign", "verify")

    def import_key(self, form: str, data: Any, algorithm: Any, extractable: bool, usages: Any) -> CryptoKey:
        return self._make(self.material(form, data), algorithm, extractable, usages, "import")

    def generate(self, algorithm: Any, extractable: bool, usages: Any) -> CryptoKey:
        bits = self.key_bits(algorithm) or 0
        return self._make(os.urandom((bits + 7) // 8), algorithm, extractable, usages, "generate")

    def _make(self, secret: bytes, algorithm: Any, extractable: bool, usages: Any, action: str) -> CryptoKey:
        wanted = usage_list(usages, "secret", self.name, self.usages, action)
        described = {"name": self.name, "hash": {"name": hash_name(get(algorithm, "hash"))}, "length": len(secret) * 8}
        return CryptoKey.make("secret", extractable, described, wanted, secret)

    def key_bits(self, algorithm: Any) -> int | None:
        length = get(algorithm, "length")
        return HASH_BLOCK_BITS[hash_name(get(algorithm, "hash"))] if is_nullish(length) else int(length)

    def jwk_name(self, key: CryptoKey) -> str:
        return key.hash.replace("SHA-", "HS")

    def sign(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        return hmac.digest(key.handle, data, HASHES[key.hash])

    def verify(self, algorithm: Any, key: CryptoKey, signature: bytes, data: bytes) -> bool:
        return hmac.compare_digest(self.sign(algorithm, key, data), signature)


class Aes(Secret):
    usages = ("encrypt", "decrypt", "wrapKey", "unwrapKey")

    def import_key(self, form: str, data: Any, algorithm: Any, extractable: bool, usages: Any) -> CryptoKey:
        secret = self.material(form, data)
        if len(secret) * 8 not in AES_BITS:
            raise data_error(f"Imported AES key length must be 128, 192, or 256 bits but provided {len(secret) * 8}.")
        return self._make(secret, extractable, usages, "import")

    def generate(self, algorithm: Any, extractable: bool, usages: Any) -> CryptoKey:
        return self._make(os.urandom((self.key_bits(algorithm) or 0) // 8), extractable, usages, "generate")

    def _make(self, secret: bytes, extractable: bool, usages: Any, action: str) -> CryptoKey:
        require_cryptography(self.name)
        allowed = ("wrapKey", "unwrapKey") if self.name == "AES-KW" else self.usages
        wanted = usage_list(usages, "secret", self.name, allowed, action)
        described = {"name": self.name, "length": len(secret) * 8}
        return CryptoKey.make("secret", extractable, described, wanted, secret)

    def key_bits(self, algorithm: Any) -> int | None:
        length = get(algorithm, "length")
        if length not in AES_BITS:
            raise operation_error(f'Generated AES key length must be 128, 192, or 256 bits but requested "{length}".')
        return int(length)

    def jwk_name(self, key: CryptoKey) -> str:
        return f"A{len(key.handle) * 8}{self.name.removeprefix('AES-')}"

    def encrypt(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        from cryptography.hazmat.primitives import padding  # noqa: PLC0415  (see `require_cryptography`)

        if self.name == "AES-KW":
            from cryptography.hazmat.primitives.keywrap import aes_key_wrap  # noqa: PLC0415  (see above)

            return aes_key_wrap(key.handle, data)
        if self.name == "AES-CBC":
            padder = padding.PKCS7(128).padder()
            data = padder.update(data) + padder.finalize()
        encryptor: Any = self._cipher(algorithm, key, None).encryptor()
        if self.name == "AES-GCM":
            encryptor.authenticate_additional_data(option_bytes(algorithm, "additionalData", b""))
        sealed: bytes = encryptor.update(data) + encryptor.finalize()
        return sealed + encryptor.tag[: _tag_bytes(algorithm)] if self.name == "AES-GCM" else sealed

    def decrypt(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415  (see `require_cryptography`)
        from cryptography.hazmat.primitives import padding  # noqa: PLC0415  (see above)
        from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap  # noqa: PLC0415  (see above)

        tag = None
        try:
            if self.name == "AES-KW":
                return aes_key_unwrap(key.handle, data)
            if self.name == "AES-GCM":
                data, tag = _split_tag(data, _tag_bytes(algorithm))
            decryptor: Any = self._cipher(algorithm, key, tag).decryptor()
            if self.name == "AES-GCM":
                decryptor.authenticate_additional_data(option_bytes(algorithm, "additionalData", b""))
            plain: bytes = decryptor.update(data) + decryptor.finalize()
            if self.name == "AES-CBC":
                unpadder = padding.PKCS7(128).unpadder()
                plain = unpadder.update(plain) + unpadder.finalize()
            return plain
        except (InvalidTag, InvalidUnwrap, ValueError):
            raise operation_error(
                "Decryption failed. This could be due to a ciphertext authentication failure, bad padding, incorrect "
                f"CryptoKey, or another algorithm-specific reason. Input length was {len(data)}, output length "
                f"expected to be {len(data)} for {self.name}"
            ) from None

    def _cipher(self, algorithm: Any, key: CryptoKey, tag: bytes | None) -> Any:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415  (see above)

        mode: Any
        if self.name == "AES-GCM":
            iv = option_bytes(algorithm, "iv")
            if not iv:
                raise operation_error("AES-GCM IV must not be empty.")
            mode = modes.GCM(iv, tag, min_tag_length=_tag_bytes(algorithm))
        elif self.name == "AES-CBC":
            iv = option_bytes(algorithm, "iv")
            if len(iv) != 16:
                raise operation_error(f"AES-CBC IV must be 16 bytes long (provided {len(iv)} bytes).")
            mode = modes.CBC(iv)
        else:
            mode = modes.CTR(option_bytes(algorithm, "counter"))
        return Cipher(algorithms.AES(key.handle), mode)


def _tag_bytes(algorithm: Any) -> int:
    length = get(algorithm, "tagLength")
    return 16 if is_nullish(length) else int(length) // 8


def _split_tag(data: bytes, size: int) -> tuple[bytes, bytes]:
    if len(data) < size:
        raise operation_error(
            f"Ciphertext length of {len(data) * 8} bits must be greater than or equal to the size of the AES-GCM tag "
            f"length of {size * 8} bits."
        )
    return data[:-size], data[-size:]


class Derivation(Secret):
    """HKDF and PBKDF2: keys that other keys are derived from."""

    usages = ("deriveKey", "deriveBits")

    def import_key(self, form: str, data: Any, algorithm: Any, extractable: bool, usages: Any) -> CryptoKey:
        secret = self.material(form, data)
        wanted = usage_list(usages, "secret", self.name, self.usages, "import")
        if extractable:
            raise dom_exception(f"{self.name} key cannot be extractable.", "SyntaxError")
        return CryptoKey.make("secret", False, {"name": self.name}, wanted, secret)

    def key_bits(self, algorithm: Any) -> int | None:
        return None

    def derive(self, algorithm: Any, key: CryptoKey, bits: int | None) -> bytes:
        if bits is None or bits % 8:
            raise operation_error("Derived key length must be a multiple of 8 bits.")
        name, salt = HASHES[hash_name(get(algorithm, "hash"))], option_bytes(algorithm, "salt")
        if self.name == "HKDF":
            return _hkdf(name, key.handle, salt, option_bytes(algorithm, "info"), bits // 8)
        iterations = get(algorithm, "iterations")
        if not isinstance(iterations, int) or iterations < 1:
            raise type_error('Missing field "iterations" in "algorithm".')
        return hashlib.pbkdf2_hmac(name, key.handle, salt, iterations, bits // 8)


def _hkdf(name: str, secret: bytes, salt: bytes, info: bytes, size: int) -> bytes:
    """RFC 5869."""
    digest_size = hashlib.new(name).digest_size
    if size > 255 * digest_size:
        raise operation_error("HKDF deriveBits failed: the requested length is too large.")
    extracted = hmac.digest(salt or bytes(digest_size), secret, name)
    block = output = b""
    for counter in range(1, -(-size // digest_size) + 1):
        block = hmac.digest(extracted, block + info + bytes([counter]), name)
        output += block
    return output[:size]


FAMILIES: dict[str, type[Family]] = {
    "HMAC": Hmac, "AES-GCM": Aes, "AES-CBC": Aes, "AES-CTR": Aes, "AES-KW": Aes, "HKDF": Derivation,
    "PBKDF2": Derivation,
}  # fmt: skip
