"""Algorithms with a secret key: HMAC, AES, HKDF and PBKDF2."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from typing import Any

from pyflare.interop.arguments import to_int32
from pyflare.interop.containers import to_text
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
GCM_TAG_BITS = (32, 64, 96, 104, 112, 120, 128)
AES_BLOCK = 16  # bytes

_BASE64_URL = re.compile("[A-Za-z0-9_-]+")


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
                f'"oct" (encountered "{to_text(get(data, "kty"))}").'
            )
        if not _BASE64_URL.fullmatch(to_text(get(data, "k", ""))):
            raise data_error(f'{self.name} "jwk" key import requires a base64Url encoding of the key')
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
        secret, given = self.material(form, data), get(algorithm, "length")
        self._check_jwk(data if form == "jwk" else None, hash_name(get(algorithm, "hash")), extractable)
        most = len(secret) * 8
        bits = most if given is None else to_int32(given)
        if not max(most - 8, 0) < bits <= most:
            raise data_error(
                f"Imported HMAC key length ({bits}) must be a non-zero value up to 7 bits less than, and no greater "
                f"than, the bit length of the raw key data ({most})."
            )
        return self._make(secret, bits, algorithm, extractable, usages, "import")

    def _check_jwk(self, jwk: Any, hash_algorithm: str, extractable: bool) -> None:
        name, expected = get(jwk, "alg"), hash_algorithm.replace("SHA-", "HS")
        if not is_nullish(name) and name != expected:
            raise data_error(
                'HMAC "jwk" key import specifies "alg" that is incompatible with the hash name (encountered '
                f'"{to_text(name)}", expected "{expected}").'
            )
        if get(jwk, "ext") is False and extractable:
            raise data_error('JWK ext field for "HMAC" is set to false but extractable is true')

    def generate(self, algorithm: Any, extractable: bool, usages: Any) -> CryptoKey:
        bits = self.key_bits(algorithm) or 0
        if not bits:
            raise operation_error("HMAC key length must be a non-zero unsigned long integer (requested 0).")
        return self._make(os.urandom((bits + 7) // 8), bits, algorithm, extractable, usages, "generate")

    def _make(self, secret: bytes, bits: int, algorithm: Any, extractable: bool, usages: Any, action: str) -> CryptoKey:
        wanted = usage_list(usages, "secret", self.name, self.usages, action)
        described = {"name": self.name, "hash": {"name": hash_name(get(algorithm, "hash"))}, "length": bits}
        return CryptoKey.make("secret", extractable, described, wanted, secret)

    def key_bits(self, algorithm: Any) -> int | None:
        length = get(algorithm, "length")
        return HASH_BLOCK_BITS[hash_name(get(algorithm, "hash"))] if is_nullish(length) else to_int32(length)

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
            raise operation_error(
                f"Generated AES key length must be 128, 192, or 256 bits but requested {to_int32(length)}."
            )
        return int(length)

    def jwk_name(self, key: CryptoKey) -> str:
        return f"A{len(key.handle) * 8}{self.name.removeprefix('AES-')}"

    def encrypt(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        from cryptography.hazmat.primitives import padding  # noqa: PLC0415  (see `require_cryptography`)

        if self.name == "AES-KW":
            from cryptography.hazmat.primitives.keywrap import aes_key_wrap  # noqa: PLC0415  (see above)

            return aes_key_wrap(key.handle, data)
        if self.name == "AES-CTR":
            return self._count(algorithm, key, data)
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

        if self.name == "AES-CTR":
            return self._count(algorithm, key, data)
        tag, expected = None, len(data)
        if self.name == "AES-CBC":
            expected = max(len(data) - 1, 0) // AES_BLOCK * AES_BLOCK
        try:
            if self.name == "AES-KW":
                return aes_key_unwrap(key.handle, data)
            if self.name == "AES-GCM":
                data, tag = _split_tag(data, _tag_bytes(algorithm))
                expected = len(data)
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
                f"expected to be {expected} for {self.name}"
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
        return Cipher(algorithms.AES(key.handle), mode)

    def _count(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        """AES-CTR: the last `length` bits of the counter begin again after their last value."""
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415  (see above)

        counter, bits = option_bytes(algorithm, "counter"), to_int32(get(algorithm, "length"))
        if len(counter) != AES_BLOCK:
            raise operation_error(f"Counter must have length of {AES_BLOCK} bytes (provided {len(counter)}).")
        if not 0 < bits <= AES_BLOCK * 8:
            raise operation_error(f"Invalid counter of {bits} bits length provided.")
        if -(-len(data) // AES_BLOCK) > 1 << bits:
            raise operation_error("Counter block values will repeat.")
        start = int.from_bytes(counter, "big")
        first = start >> bits << bits  # the same with a count of zero
        until_zero = ((1 << bits) - (start - first)) * AES_BLOCK
        done = b""
        for value, piece in ((start, data[:until_zero]), (first, data[until_zero:])):
            encryptor: Any = Cipher(algorithms.AES(key.handle), modes.CTR(value.to_bytes(AES_BLOCK, "big"))).encryptor()
            done += encryptor.update(piece) + encryptor.finalize()
        return done


def _tag_bytes(algorithm: Any) -> int:
    given = get(algorithm, "tagLength")
    bits = 128 if given is None else to_int32(given)
    if bits not in GCM_TAG_BITS:
        raise operation_error(f"Invalid AES-GCM tag length {bits}.")
    return bits // 8


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
        if bits is None:
            raise operation_error(f"{self.name} cannot derive a key with null length.")
        if bits % 8:
            raise operation_error(
                f"{self.name} requires a derived key length that is a multiple of eight (requested {bits})."
            )
        name, salt = HASHES[hash_name(get(algorithm, "hash"))], option_bytes(algorithm, "salt")
        if self.name == "HKDF":
            return _hkdf(name, key.handle, salt, option_bytes(algorithm, "info"), bits // 8)
        given = get(algorithm, "iterations")
        if given is None:
            raise type_error('Missing field "iterations" in "algorithm".')
        iterations = to_int32(given)
        if iterations < 1:
            raise operation_error(f"PBKDF2 requires a positive iteration count (requested {iterations}).")
        return hashlib.pbkdf2_hmac(name, key.handle, salt, iterations, bits // 8) if bits else b""


def _hkdf(name: str, secret: bytes, salt: bytes, info: bytes, size: int) -> bytes:
    """RFC 5869."""
    digest_size = hashlib.new(name).digest_size
    if size > 255 * digest_size:
        raise operation_error("HKDF deriveBits failed.")
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
