"""Algorithms with a pair of keys: RSA, ECDSA, ECDH, Ed25519 and X25519, computed by the package `cryptography`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyflare.interop.containers import to_text
from pyflare.interop.errors import dom_exception, type_error
from pyflare.interop.proxy import JsObject, get, is_nullish
from pyflare.interop.web.bytes import byte_array
from pyflare.interop.web.crypto_keys import (
    CryptoKey,
    data_of,
    decode_url,
    encode_url,
    hash_name,
    not_supported,
    option_bytes,
    usage_list,
)
from pyflare.interop.web.crypto_secret import Family, data_error, operation_error, require_cryptography

EC_FIELD_BYTES = {"P-256": 32, "P-384": 48, "P-521": 66}


class Pair(Family):
    """Keys in the formats spki, pkcs8, raw and jwk. `private_usages`, `public_usages`: what each half may do."""

    private_usages: tuple[str, ...] = ("sign",)
    public_usages: tuple[str, ...] = ("verify",)

    def import_key(self, form: str, data: Any, algorithm: Any, extractable: bool, usages: Any) -> CryptoKey:
        require_cryptography(self.name)
        try:
            handle = self._read(form, data, algorithm)
        except (ValueError, TypeError) as raised:
            raise data_error(f"Invalid {self.name} key: {raised}") from None
        kind = "private" if hasattr(handle, "public_key") else "public"
        wanted = usage_list(usages, kind, self.name, self._allowed(kind), "import")
        return CryptoKey.make(kind, extractable, self.describe(handle, algorithm), wanted, handle)

    def _read(self, form: str, data: Any, algorithm: Any) -> Any:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  (see `require_cryptography`)

        if form == "spki":
            return serialization.load_der_public_key(data_of(data, "importKey"))
        if form == "pkcs8":
            return serialization.load_der_private_key(data_of(data, "importKey"), None)
        if form == "jwk":
            return self.from_jwk(data)
        if form == "raw":
            return self.from_raw(data_of(data, "importKey"), algorithm)
        raise not_supported(f'Unrecognized key import format "{form}".')

    def generate(self, algorithm: Any, extractable: bool, usages: Any) -> JsObject:
        require_cryptography(self.name)
        private = self.new_key(algorithm)
        allowed = (*self.private_usages, *self.public_usages)
        wanted = set(usage_list(usages, "public", self.name, allowed, "generate"))
        if not wanted & set(self.private_usages):
            raise dom_exception("Attempt to generate asymmetric keys with no valid private key usages.", "SyntaxError")
        described = self.describe(private, algorithm)
        halves = {
            "publicKey": CryptoKey.make(
                "public", True, described, wanted & set(self.public_usages), private.public_key()
            ),
            "privateKey": CryptoKey.make("private", extractable, described, wanted & set(self.private_usages), private),
        }
        return JsObject.make(halves)

    def export(self, form: str, key: CryptoKey) -> Any:
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415  (see `require_cryptography`)
            Encoding,
            NoEncryption,
            PrivateFormat,
            PublicFormat,
        )

        if form == "jwk":
            return self.to_jwk(key)
        if form == "spki" and key.type == "public":
            return key.handle.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        if form == "pkcs8" and key.type == "private":
            return key.handle.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        if form == "raw" and key.type == "public":
            return self.to_raw(key.handle)
        raise dom_exception(f'Cannot export a {key.type} {self.name} key as "{form}".', "InvalidAccessError")

    def _allowed(self, kind: str) -> tuple[str, ...]:
        return self.private_usages if kind == "private" else self.public_usages

    def describe(self, handle: Any, algorithm: Any) -> dict[str, Any]:
        return {"name": self.name}

    def new_key(self, algorithm: Any) -> Any:
        raise NotImplementedError

    def from_jwk(self, data: Any) -> Any:
        raise NotImplementedError

    def to_jwk(self, key: CryptoKey) -> dict[str, Any]:
        raise NotImplementedError

    def from_raw(self, data: bytes, algorithm: Any) -> Any:
        raise self._cannot("raw import")

    def to_raw(self, handle: Any) -> bytes:
        raise self._cannot("raw export")


def _hash(name: str) -> Any:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415  (see `require_cryptography`)

    return getattr(hashes, name.replace("-", ""))()


def _checked(verify: Callable[..., None], *args: Any) -> bool:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415  (see `require_cryptography`)

    try:
        verify(*args)
    except InvalidSignature:
        return False
    return True


def _number(text: Any) -> int:
    return int.from_bytes(decode_url(text), "big")


def _bytes_of(number: int) -> bytes:
    return number.to_bytes(max(1, (number.bit_length() + 7) // 8), "big")


def _number_text(number: int, size: int | None = None) -> str:
    return encode_url(_bytes_of(number) if size is None else number.to_bytes(size, "big"))


class Rsa(Pair):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        if name == "RSA-OAEP":
            self.private_usages, self.public_usages = ("decrypt", "unwrapKey"), ("encrypt", "wrapKey")

    def describe(self, handle: Any, algorithm: Any) -> dict[str, Any]:
        public = handle.public_key() if hasattr(handle, "public_key") else handle
        return {
            "name": self.name,
            "hash": {"name": hash_name(get(algorithm, "hash"))},
            "modulusLength": handle.key_size,
            "publicExponent": byte_array(_bytes_of(public.public_numbers().e)),
        }

    def new_key(self, algorithm: Any) -> Any:
        from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415  (see `require_cryptography`)

        exponent = int.from_bytes(option_bytes(algorithm, "publicExponent"), "big")
        try:
            return rsa.generate_private_key(exponent, int(get(algorithm, "modulusLength", 2048)))
        except ValueError as raised:
            raise operation_error(str(raised)) from None

    def from_jwk(self, data: Any) -> Any:
        from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415  (see `require_cryptography`)

        public = rsa.RSAPublicNumbers(_number(get(data, "e")), _number(get(data, "n")))
        if is_nullish(get(data, "d")):
            return public.public_key()
        p, q, d, dp, dq, qi = (_number(get(data, name)) for name in ("p", "q", "d", "dp", "dq", "qi"))
        return rsa.RSAPrivateNumbers(p, q, d, dp, dq, qi, public).private_key()

    def to_jwk(self, key: CryptoKey) -> dict[str, Any]:
        prefix = {"RSASSA-PKCS1-v1_5": "RS", "RSA-PSS": "PS", "RSA-OAEP": "RSA-OAEP-"}[self.name]
        private = key.handle.private_numbers() if key.type == "private" else None
        public = private.public_numbers if private else key.handle.public_numbers()
        fields = {"kty": "RSA", "alg": prefix + key.hash.removeprefix("SHA-")}
        fields |= {"n": _number_text(public.n), "e": _number_text(public.e)}
        if private is not None:
            numbers = {"d": private.d, "p": private.p, "q": private.q, "dp": private.dmp1, "dq": private.dmq1}
            fields |= {name: _number_text(number) for name, number in (*numbers.items(), ("qi", private.iqmp))}
        return fields

    def _padding(self, algorithm: Any, key: CryptoKey) -> Any:
        from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415  (see `require_cryptography`)

        if self.name == "RSA-PSS":
            return padding.PSS(padding.MGF1(_hash(key.hash)), int(get(algorithm, "saltLength", 0)))
        if self.name == "RSA-OAEP":
            label = option_bytes(algorithm, "label", b"") or None
            return padding.OAEP(padding.MGF1(_hash(key.hash)), _hash(key.hash), label)
        return padding.PKCS1v15()

    def sign(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        return bytes(key.handle.sign(data, self._padding(algorithm, key), _hash(key.hash)))

    def verify(self, algorithm: Any, key: CryptoKey, signature: bytes, data: bytes) -> bool:
        return _checked(key.handle.verify, signature, data, self._padding(algorithm, key), _hash(key.hash))

    def encrypt(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        try:
            return bytes(key.handle.encrypt(data, self._padding(algorithm, key)))
        except ValueError as raised:
            raise operation_error(str(raised)) from None

    def decrypt(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        try:
            return bytes(key.handle.decrypt(data, self._padding(algorithm, key)))
        except ValueError as raised:
            raise operation_error(f"RSA-OAEP failed decrypt: {raised}") from None


class Elliptic(Pair):
    """ECDSA and ECDH over the curves of NIST."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        if name == "ECDH":
            self.private_usages, self.public_usages = ("deriveKey", "deriveBits"), ()

    def describe(self, handle: Any, algorithm: Any) -> dict[str, Any]:
        return {"name": self.name, "namedCurve": _curve_name(handle.curve)}

    def new_key(self, algorithm: Any) -> Any:
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415  (see `require_cryptography`)

        return ec.generate_private_key(_curve(get(algorithm, "namedCurve")))

    def from_raw(self, data: bytes, algorithm: Any) -> Any:
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415  (see `require_cryptography`)

        return ec.EllipticCurvePublicKey.from_encoded_point(_curve(get(algorithm, "namedCurve")), data)

    def to_raw(self, handle: Any) -> bytes:
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415  (see `require_cryptography`)
            Encoding,
            PublicFormat,
        )

        return bytes(handle.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    def from_jwk(self, data: Any) -> Any:
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415  (see `require_cryptography`)

        x, y = _number(get(data, "x")), _number(get(data, "y"))
        public = ec.EllipticCurvePublicNumbers(x, y, _curve(get(data, "crv")))
        if is_nullish(get(data, "d")):
            return public.public_key()
        return ec.EllipticCurvePrivateNumbers(_number(get(data, "d")), public).private_key()

    def to_jwk(self, key: CryptoKey) -> dict[str, Any]:
        curve = _curve_name(key.handle.curve)
        size = EC_FIELD_BYTES[curve]
        private = key.handle.private_numbers() if key.type == "private" else None
        public = private.public_numbers if private else key.handle.public_numbers()
        fields = {"kty": "EC", "crv": curve, "x": _number_text(public.x, size), "y": _number_text(public.y, size)}
        return fields if private is None else fields | {"d": _number_text(private.private_value, size)}

    def sign(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415  (see `require_cryptography`)

        signature = key.handle.sign(data, ec.ECDSA(_hash(hash_name(get(algorithm, "hash")))))
        size = EC_FIELD_BYTES[_curve_name(key.handle.curve)]
        return b"".join(number.to_bytes(size, "big") for number in utils.decode_dss_signature(signature))

    def verify(self, algorithm: Any, key: CryptoKey, signature: bytes, data: bytes) -> bool:
        from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415  (see `require_cryptography`)

        size = EC_FIELD_BYTES[_curve_name(key.handle.curve)]
        if len(signature) != 2 * size:
            return False
        r, s = (int.from_bytes(half, "big") for half in (signature[:size], signature[size:]))
        scheme = ec.ECDSA(_hash(hash_name(get(algorithm, "hash"))))
        return _checked(key.handle.verify, utils.encode_dss_signature(r, s), data, scheme)

    def derive(self, algorithm: Any, key: CryptoKey, bits: int | None) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415  (see `require_cryptography`)

        return _cut(key.handle.exchange(ec.ECDH(), _peer(algorithm).handle), bits)


def _curve_name(curve: Any) -> str:
    return {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}.get(curve.name, str(curve.name))


def _curve(name: Any) -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415  (see `require_cryptography`)

    curves: dict[Any, Any] = {"P-256": ec.SECP256R1, "P-384": ec.SECP384R1, "P-521": ec.SECP521R1}
    if name not in curves:
        raise not_supported(f'Unrecognized or unimplemented EC curve "{to_text(name)}" requested.')
    return curves[name]()


def _peer(algorithm: Any) -> CryptoKey:
    peer = get(algorithm, "public")
    if not isinstance(peer, CryptoKey):
        raise type_error('Missing field "public" in "derivedKeyParams".')
    if peer.type != "public":
        raise dom_exception(f'The provided key has type "{peer.type}", not "public"', "InvalidAccessError")
    return peer


def _cut(secret: bytes, bits: int | None) -> bytes:
    if bits is None:
        return secret
    if bits > len(secret) * 8:
        raise operation_error(
            f"Derived key length ({bits} bits) is too long (should be at most {len(secret) * 8} bits)."
        )
    whole, odd = divmod(bits, 8)
    return secret[:whole] + (bytes([secret[whole] & (0xFF00 >> odd) & 0xFF]) if odd else b"")


class Edwards(Pair):
    """Ed25519 and X25519: keys of 32 bytes."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        if name == "X25519":
            self.private_usages, self.public_usages = ("deriveKey", "deriveBits"), ()

    def _classes(self) -> tuple[Any, Any]:
        from cryptography.hazmat.primitives.asymmetric import ed25519, x25519  # noqa: PLC0415  (see `require_cryptography`)

        if self.name == "Ed25519":
            return ed25519.Ed25519PrivateKey, ed25519.Ed25519PublicKey
        return x25519.X25519PrivateKey, x25519.X25519PublicKey

    def new_key(self, algorithm: Any) -> Any:
        return self._classes()[0].generate()

    def from_raw(self, data: bytes, algorithm: Any) -> Any:
        return self._classes()[1].from_public_bytes(data)

    def to_raw(self, handle: Any) -> bytes:
        return bytes(handle.public_bytes_raw())

    def from_jwk(self, data: Any) -> Any:
        private, public = self._classes()
        secret = get(data, "d")
        if is_nullish(secret):
            return public.from_public_bytes(decode_url(get(data, "x")))
        return private.from_private_bytes(decode_url(secret))

    def to_jwk(self, key: CryptoKey) -> dict[str, Any]:
        public = key.handle.public_key() if key.type == "private" else key.handle
        fields = {"kty": "OKP", "crv": self.name, "x": encode_url(public.public_bytes_raw())}
        return fields if key.type == "public" else fields | {"d": encode_url(key.handle.private_bytes_raw())}

    def sign(self, algorithm: Any, key: CryptoKey, data: bytes) -> bytes:
        return bytes(key.handle.sign(data))

    def verify(self, algorithm: Any, key: CryptoKey, signature: bytes, data: bytes) -> bool:
        return _checked(key.handle.verify, signature, data)

    def derive(self, algorithm: Any, key: CryptoKey, bits: int | None) -> bytes:
        return _cut(key.handle.exchange(_peer(algorithm).handle), bits)


FAMILIES: dict[str, type[Family]] = {
    "RSASSA-PKCS1-v1_5": Rsa, "RSA-PSS": Rsa, "RSA-OAEP": Rsa, "ECDSA": Elliptic, "ECDH": Elliptic,
    "Ed25519": Edwards, "X25519": Edwards,
}  # fmt: skip
