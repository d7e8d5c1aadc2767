"""What headers ask of an S3 operation: refused where R2 has nothing of the kind, else read.

developers.cloudflare.com/r2/api/s3/api. Headers that R2 does not know are ignored.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import partial

from pyflare.engines.r2.config import MAX_PARTS
from pyflare.engines.r2.faults import R2Fault, invalid_storage_class
from pyflare.engines.r2.http import Call
from pyflare.engines.r2.traits import INFREQUENT_ACCESS, SSEC_KEY_BYTES, STANDARD

OWNER = ("x-amz-expected-bucket-owner",)
SOURCE_OWNER = ("x-amz-source-expected-bucket-owner",)
DELETE = (*OWNER, "x-amz-mfa", "x-amz-bypass-governance-retention")
WRITE = (
    *OWNER,
    "x-amz-tagging",
    "x-amz-grant-full-control",
    "x-amz-grant-read",
    "x-amz-grant-read-acp",
    "x-amz-grant-write",
    "x-amz-grant-write-acp",
    "x-amz-website-redirect-location",
    "x-amz-object-lock-mode",
    "x-amz-object-lock-retain-until-date",
    "x-amz-object-lock-legal-hold",
    "x-amz-server-side-encryption-aws-kms-key-id",
    "x-amz-server-side-encryption-context",
    "x-amz-server-side-encryption-bucket-key-enabled",
)
COPY = (*WRITE, *SOURCE_OWNER, "x-amz-tagging-directive", "x-amz-checksum-algorithm")
PART = (*OWNER, "x-amz-server-side-encryption")
PART_COPY = (
    *OWNER,
    *SOURCE_OWNER,
    *(
        f"x-amz-copy-source-if-{condition}"
        for condition in ("match", "none-match", "modified-since", "unmodified-since")
    ),
)

# Buckets have no ACLs: these change nothing.
CANNED_ACLS = (
    "private",
    "public-read",
    "public-read-write",
    "authenticated-read",
    "aws-exec-read",
    "bucket-owner-read",
    "bucket-owner-full-control",
)
STORAGE_CLASSES = {"STANDARD": STANDARD, "STANDARD_IA": INFREQUENT_ACCESS}
S3_STORAGE_CLASSES = {own: name for name, own in STORAGE_CLASSES.items()}
CUSTOMER = "server-side-encryption-customer-"
SOURCE = "x-amz-copy-source-"

invalid_argument = partial(R2Fault, 400, 10029, "InvalidArgument")


def part_number(call: Call) -> int:
    text = call.parameter("partNumber") or ""
    if not text.isdecimal() or not 1 <= int(text) <= MAX_PARTS:
        raise invalid_argument(f"Part number must be an integer between 1 and {MAX_PARTS}, inclusive.")
    return int(text)


def count(call: Call, name: str, highest: int) -> int:
    """A parameter that is a number of things; without it, or above `highest`, that many."""
    text = call.parameter(name)
    if text is None:
        return highest
    if not text.isdecimal():
        raise invalid_argument(f"{name} must be a positive integer")
    return min(int(text), highest)


def not_implemented(what: str) -> R2Fault:
    return R2Fault(501, 10041, "NotImplemented", f"{what} not implemented")


def refuse(call: Call, names: Iterable[str]) -> None:
    """Raises for the first of these headers that the request has."""
    if call.header("x-amz-security-token") is not None:
        raise invalid_argument("X-Amz-Security-Token")
    for name in names:
        value = call.header(name)
        if value is not None:
            raise _unknown(name, value)


def refuse_write(call: Call, names: Iterable[str] = WRITE) -> None:
    """The same, and what else a new object cannot have."""
    refuse(call, names)
    for name, known in (("x-amz-server-side-encryption", ("AES256",)), ("x-amz-acl", CANNED_ACLS)):
        value = call.header(name)
        if value is not None and value not in known:
            raise _unknown(name, value)


def _unknown(name: str, value: str) -> R2Fault:
    return not_implemented(f"Header '{name}' with value '{value}'")


def storage_class(call: Call) -> str:
    """R2's name of the one that is asked for."""
    try:
        return STORAGE_CLASSES[call.header("x-amz-storage-class") or "STANDARD"]
    except KeyError:
        raise invalid_storage_class() from None


def key_md5(call: Call, prefix: str = "x-amz-") -> str | None:
    """The MD5, in hex, of the customer's key; `prefix` is SOURCE for the one that opens the source of a copy."""
    algorithm, key, digest = (call.header(f"{prefix}{CUSTOMER}{part}") for part in ("algorithm", "key", "key-md5"))
    if algorithm is key is digest is None:
        return None
    if key is None:
        raise _missing("an appropriate secret key")
    if digest is None:
        raise _missing("the client calculated MD5 of the secret key")
    if algorithm is None:
        raise _missing("a valid encryption algorithm")
    if algorithm != "AES256":
        message = "The encryption request that you specified is not valid. The valid value is AES256."
        raise R2Fault(400, 10029, "InvalidEncryptionAlgorithmError", message)
    actual = hashlib.md5(_key(key), usedforsecurity=False)
    if base64.b64encode(actual.digest()).decode() != digest:
        raise invalid_argument("The calculated MD5 hash of the key did not match the hash that was provided.")
    return actual.hexdigest()


def _missing(what: str) -> R2Fault:
    return invalid_argument(
        f"Requests specifying Server Side Encryption with Customer provided keys must provide {what}."
    )


def _key(encoded: str) -> bytes:
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        key = b""
    if len(key) != SSEC_KEY_BYTES:
        raise invalid_argument("The secret key was invalid for the specified algorithm.")
    return key


def key_headers(md5: str | None) -> list[tuple[str, str]]:
    """Of an answer: that the object is encrypted, and with what key."""
    if md5 is None:
        return []
    encoded = base64.b64encode(bytes.fromhex(md5)).decode()
    return [(f"x-amz-{CUSTOMER}algorithm", "AES256"), (f"x-amz-{CUSTOMER}key-MD5", encoded)]
