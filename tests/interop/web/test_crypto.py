import sys
from typing import Any

import pytest

from pyflare.interop.buffers import Float32Array, Uint8Array
from pyflare.interop.web.crypto import crypto
from tests.support.web import inside_worker, js, rejection, run, thrown

subtle = crypto.subtle


async def key(name: str, usages: list[str], secret: bytes = b"0123456789abcdef", **rest: Any) -> Any:
    return await subtle.importKey("raw", js(secret), js({"name": name, **rest}), True, js(usages))


def test_a_uuid_has_version_4() -> None:
    assert crypto.randomUUID()[14] == "4"


def test_random_values_fill_integer_arrays_up_to_64_kib() -> None:
    array = Uint8Array.new(32)
    assert crypto.getRandomValues(array) is array
    assert any(array)
    assert thrown(lambda: crypto.getRandomValues(Uint8Array.new(65_537))).startswith("QuotaExceededError: ")
    assert thrown(lambda: crypto.getRandomValues(Float32Array.new(1))).startswith("TypeMismatchError: ")
    assert thrown(lambda: crypto.getRandomValues("x")) == (
        "TypeError: Failed to execute 'getRandomValues' on 'Crypto': parameter 1 is not of type 'ArrayBufferView'."
    )


def test_random_values_are_refused_while_the_module_is_imported() -> None:
    with inside_worker() as running:
        running.global_scope = True
        assert "Disallowed operation" in thrown(crypto.randomUUID)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("SHA-1", "da39a3ee"),
        ("sha-256", "e3b0c442"),
        ("SHA-384", "38b060a7"),
        ("SHA-512", "cf83e135"),
        ("MD5", "d41d8cd9"),
    ],
)
def test_digests(name: str, start: str) -> None:
    async def main() -> str:
        return str((await subtle.digest(name, js(b""))).to_bytes().hex())

    assert run(main).startswith(start)


def test_a_digest_wants_a_buffer_and_a_known_algorithm() -> None:
    async def main() -> list[str]:
        return [
            await rejection(subtle.digest("SHA-256", "abc")),
            await rejection(subtle.digest("SHA-256", b"abc")),
            await rejection(subtle.digest("nope", js(b""))),
        ]

    wrong = "TypeError: Failed to execute 'digest' on 'SubtleCrypto': parameter 2 is not of type 'BufferSource'."
    unknown = "NotSupportedError: Unrecognized or unimplemented digest algorithm requested."
    assert run(main) == [wrong, wrong, unknown]


def test_hmac_signs_and_verifies() -> None:
    async def main() -> list[object]:
        secret = await key("HMAC", ["sign", "verify"], b"top secret", hash="SHA-256")
        signature = await subtle.sign("HMAC", secret, js(b"message"))
        good = await subtle.verify("HMAC", secret, signature, js(b"message"))
        bad = await subtle.verify("HMAC", secret, signature, js(b"massage"))
        return [signature.to_bytes().hex()[:16], good, bad]

    assert run(main) == ["34f60e468fe3d8c0", True, False]


def test_hmac_works_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)

    async def main() -> str:
        secret = await key("HMAC", ["sign"], hash="SHA-256")
        await subtle.sign("HMAC", secret, js(b""))
        return await rejection(key("AES-GCM", ["encrypt"]))

    message = run(main)
    assert message.startswith('NotSupportedError: AES-GCM needs the Python package "cryptography"')
    assert "pyflare-dev[crypto]" in message


def test_a_key_describes_itself() -> None:
    async def main() -> Any:
        return await key("HMAC", ["verify", "sign"], b"x" * 16, hash="SHA-256")

    made = run(main)
    assert (made.type, made.extractable, list(made.usages)) == ("secret", True, ["sign", "verify"])
    assert made.algorithm.to_py() == {"name": "HMAC", "hash": {"name": "SHA-256"}, "length": 128}


def test_a_key_may_be_used_only_for_what_was_asked() -> None:
    async def main() -> list[str]:
        verifier = await key("HMAC", ["verify"], hash="SHA-256")
        cbc = await key("AES-CBC", ["decrypt"])
        gcm = js({"name": "AES-GCM", "iv": b"0" * 12})
        return [
            await rejection(subtle.sign("HMAC", verifier, js(b""))),
            await rejection(subtle.decrypt(gcm, cbc, js(b""))),
        ]

    assert run(main) == [
        'InvalidAccessError: Requested key usage "sign" does not match any usage listed in this CryptoKey.',
        'InvalidAccessError: Requested algorithm "AES-GCM" does not match this CryptoKey\'s algorithm "AES-CBC".',
    ]


def test_what_cannot_be_imported_is_refused() -> None:
    async def main() -> list[str]:
        return [
            await rejection(key("nope", ["sign"])),
            await rejection(key("AES-GCM", ["encrypt"], b"1234")),
            await rejection(key("AES-GCM", ["sign"])),
            await rejection(key("AES-GCM", [])),
        ]

    assert run(main) == [
        'NotSupportedError: Unrecognized key import algorithm "nope" requested.',
        "DataError: Imported AES key length must be 128, 192, or 256 bits but provided 32.",
        'SyntaxError: Attempt to import secret AES-GCM key with invalid usage "sign".',
        "SyntaxError: Secret/private CryptoKeys must have at least one usage.",
    ]


def test_a_key_that_is_not_extractable_stays_inside() -> None:
    async def main() -> str:
        algorithm = js({"name": "HMAC", "hash": "SHA-256"})
        hidden = await subtle.importKey("raw", js(b"x"), algorithm, False, js(["sign"]))
        return await rejection(subtle.exportKey("raw", hidden))

    assert run(main) == "InvalidAccessError: Attempt to export non-extractable HMAC key."


@pytest.mark.parametrize(
    "parameters",
    [
        {"name": "AES-GCM", "iv": b"1" * 12},
        {"name": "AES-GCM", "iv": b"1" * 12, "additionalData": b"with", "tagLength": 96},
        {"name": "AES-CBC", "iv": b"1" * 16},
        {"name": "AES-CTR", "counter": b"1" * 16, "length": 64},
    ],
)
def test_aes_comes_back(parameters: dict[str, Any]) -> None:
    async def main() -> bytes:
        secret = await key(parameters["name"], ["encrypt", "decrypt"])
        sealed = await subtle.encrypt(js(parameters), secret, js(b"hello"))
        plain = await subtle.decrypt(js(parameters), secret, sealed)
        return bytes(plain.to_bytes())

    assert run(main) == b"hello"


def test_a_forged_message_is_an_operation_error() -> None:
    async def main() -> str:
        secret = await key("AES-GCM", ["decrypt"])
        return await rejection(subtle.decrypt(js({"name": "AES-GCM", "iv": b"0" * 12}), secret, js(bytes(32))))

    assert run(main).startswith("OperationError: Decryption failed.")


PAIRS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"name": "ECDSA", "namedCurve": "P-256"}, {"name": "ECDSA", "hash": "SHA-256"}),
    ({"name": "Ed25519"}, {"name": "Ed25519"}),
    (
        {"name": "RSA-PSS", "modulusLength": 1024, "publicExponent": b"\x01\x00\x01", "hash": "SHA-256"},
        {"name": "RSA-PSS", "saltLength": 32},
    ),
    (
        {"name": "RSASSA-PKCS1-v1_5", "modulusLength": 1024, "publicExponent": b"\x01\x00\x01", "hash": "SHA-256"},
        {"name": "RSASSA-PKCS1-v1_5"},
    ),
]


@pytest.mark.parametrize(("kind", "scheme"), PAIRS)
@pytest.mark.parametrize(("private_form", "public_form"), [("pkcs8", "spki"), ("jwk", "jwk")])
def test_key_pairs_sign_also_after_a_trip(
    kind: dict[str, Any], scheme: dict[str, Any], private_form: str, public_form: str
) -> None:
    async def main() -> list[bool]:
        made = await subtle.generateKey(js(kind), True, js(["sign", "verify"]))
        private = await subtle.importKey(
            private_form, await subtle.exportKey(private_form, made.privateKey), js(kind), True, js(["sign"])
        )
        public = await subtle.importKey(
            public_form, await subtle.exportKey(public_form, made.publicKey), js(kind), True, js(["verify"])
        )
        signature = await subtle.sign(js(scheme), private, js(b"message"))
        return [
            await subtle.verify(js(scheme), public, signature, js(b"message")),
            await subtle.verify(js(scheme), public, signature, js(b"massage")),
        ]

    assert run(main) == [True, False]


@pytest.mark.parametrize("name", ["X25519", "ECDH"])
def test_two_sides_derive_the_same_bits(name: str) -> None:
    async def main() -> list[bytes]:
        kind = js({"name": name, "namedCurve": "P-256"})
        one, other = [await subtle.generateKey(kind, True, js(["deriveBits"])) for _ in range(2)]
        halves = ((one.privateKey, other.publicKey), (other.privateKey, one.publicKey))
        return [
            (await subtle.deriveBits(js({"name": name, "public": public}), private, 256)).to_bytes()
            for private, public in halves
        ]

    first, second = run(main)
    assert len(first) == 32
    assert first == second


def test_pbkdf2_and_hkdf_follow_their_rfcs() -> None:
    async def main() -> list[str]:
        password = await subtle.importKey("raw", js(b"password"), "PBKDF2", False, js(["deriveBits"]))
        parameters = {"name": "PBKDF2", "hash": "SHA-1", "salt": b"salt", "iterations": 2}
        secret = await subtle.importKey("raw", js(b"\x0b" * 22), "HKDF", False, js(["deriveBits"]))
        expand = {"name": "HKDF", "hash": "SHA-256", "salt": bytes(range(13)), "info": bytes(range(0xF0, 0xFA))}
        return [
            (await subtle.deriveBits(js(parameters), password, 160)).to_bytes().hex(),
            (await subtle.deriveBits(js(expand), secret, 336)).to_bytes().hex(),
        ]

    # RFC 6070, the second vector; RFC 5869, test case 1
    assert run(main) == [
        "ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ]


def test_a_key_can_be_derived_wrapped_and_unwrapped() -> None:
    async def main() -> bool:
        password = await subtle.importKey("raw", js(b"pw"), "PBKDF2", False, js(["deriveKey"]))
        parameters = {"name": "PBKDF2", "hash": "SHA-256", "salt": b"salt", "iterations": 10}
        wrapping = await subtle.deriveKey(
            js(parameters), password, js({"name": "AES-KW", "length": 256}), True, js(["wrapKey", "unwrapKey"])
        )
        secret = await key("AES-GCM", ["encrypt"])
        wrapped = await subtle.wrapKey("raw", secret, wrapping, "AES-KW")
        back = await subtle.unwrapKey("raw", wrapped, wrapping, "AES-KW", "AES-GCM", True, js(["encrypt"]))
        return bool((await subtle.exportKey("raw", back)).to_bytes() == b"0123456789abcdef")

    assert run(main) is True


def test_a_digest_stream_gathers() -> None:
    async def main() -> str:
        stream = crypto.DigestStream.new("SHA-256")
        writer = stream.getWriter()
        await writer.write(js(b"a"))
        await writer.write(js(b"bc"))
        await writer.close()
        return str((await stream.digest).to_bytes().hex())

    assert run(main).startswith("ba7816bf")


def test_comparing_in_constant_time() -> None:
    assert subtle.timingSafeEqual(js(b"abc"), js(b"abc")) is True
    assert subtle.timingSafeEqual(js(b"abc"), js(b"abd")) is False
    message = thrown(lambda: subtle.timingSafeEqual(js(b"a"), js(b"ab")))
    assert message == "TypeError: Input buffers must have the same byte length."


COUNTER = bytes(range(1, 107, 7))  # its last byte is 106: 0b1101010


@pytest.mark.parametrize(
    ("bits", "size", "message"),
    [
        (1, 33, "Counter block values will repeat."),
        (0, 5, "Invalid counter of 0 bits length provided."),
        (129, 5, "Invalid counter of 129 bits length provided."),
    ],
)
def test_a_counter_that_would_repeat_is_refused(bits: int, size: int, message: str) -> None:
    async def main() -> str:
        secret = await key("AES-CTR", ["encrypt"])
        how = js({"name": "AES-CTR", "counter": COUNTER, "length": bits})
        return await rejection(subtle.encrypt(how, secret, js(bytes(size))))

    assert run(main) == f"OperationError: {message}"


def test_a_counter_begins_again_after_its_last_value() -> None:
    async def main() -> tuple[bytes, bytes]:
        secret = await key("AES-CTR", ["encrypt"])

        async def stream(counter: bytes, blocks: int) -> bytes:
            how = js({"name": "AES-CTR", "counter": counter, "length": 2})
            sealed = await subtle.encrypt(how, secret, js(bytes(16 * blocks)))
            return bytes(sealed.to_bytes())

        return await stream(COUNTER, 4), await stream(COUNTER[:-1] + bytes([COUNTER[-1] & ~3]), 2)

    four, first_two = run(main)
    assert four[32:] == first_two


@pytest.mark.parametrize("bits", [0, 33, 100])
def test_a_tag_of_gcm_has_one_of_seven_lengths(bits: int) -> None:
    async def main() -> str:
        secret = await key("AES-GCM", ["encrypt"])
        return await rejection(
            subtle.encrypt(js({"name": "AES-GCM", "iv": b"x" * 12, "tagLength": bits}), secret, js(b""))
        )

    assert run(main) == f"OperationError: Invalid AES-GCM tag length {bits}."


@pytest.mark.parametrize("bits", [120, 129, 0])
def test_a_key_of_hmac_is_as_long_as_its_bytes(bits: int) -> None:
    async def main() -> str:
        return await rejection(key("HMAC", ["sign"], hash="SHA-256", length=bits))

    assert run(main).startswith(f"DataError: Imported HMAC key length ({bits}) must be a non-zero value")


@pytest.mark.parametrize(
    ("jwk", "text"),
    [
        ({"alg": "HS512"}, '(encountered "HS512", expected "HS256")'),
        ({"ext": False}, "is set to false but extractable is true"),
        ({"k": "!!"}, "requires a base64Url encoding of the key"),
    ],
)
def test_a_jwk_of_hmac_must_agree_with_the_call(jwk: dict[str, object], text: str) -> None:
    async def main() -> str:
        how = js({"name": "HMAC", "hash": "SHA-256"})
        whole = js({"kty": "oct", "k": "a2V5", **jwk})
        return await rejection(subtle.importKey("jwk", whole, how, True, js(["sign"])))

    assert text in run(main)


@pytest.mark.parametrize(
    ("iterations", "bits", "message"),
    [
        (0, 256, "OperationError: PBKDF2 requires a positive iteration count (requested 0)."),
        (9, 7, "OperationError: PBKDF2 requires a derived key length that is a multiple of eight (requested 7)."),
        (9, None, "OperationError: PBKDF2 cannot derive a key with null length."),
    ],
)
def test_what_pbkdf2_cannot_derive(iterations: int, bits: int | None, message: str) -> None:
    async def main() -> str:
        secret = await subtle.importKey("raw", js(b"pass"), "PBKDF2", False, js(["deriveBits"]))
        how = js({"name": "PBKDF2", "hash": "SHA-256", "salt": b"salt", "iterations": iterations})
        return await rejection(subtle.deriveBits(how, secret, bits))

    assert run(main) == message


def test_a_pair_without_use_for_its_private_key_is_not_generated() -> None:
    async def main() -> str:
        return await rejection(subtle.generateKey(js({"name": "ECDSA", "namedCurve": "P-256"}), True, js(["verify"])))

    assert run(main) == ("SyntaxError: Attempt to generate asymmetric keys with no valid private key usages.")


def test_a_secret_is_shared_with_a_public_key_alone() -> None:
    async def main() -> str:
        pair = await subtle.generateKey(js({"name": "ECDH", "namedCurve": "P-256"}), True, js(["deriveBits"]))
        how = js({"name": "ECDH", "public": pair.privateKey})
        return await rejection(subtle.deriveBits(how, pair.privateKey, 128))

    assert run(main) == 'InvalidAccessError: The provided key has type "private", not "public"'
