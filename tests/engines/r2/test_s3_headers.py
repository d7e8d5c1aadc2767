"""What the S3 endpoint checks, keeps and refuses of the headers of a request."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.engines.r2.crc import CRC32C, CRC64NVME, Crc
from pyflare.engines.r2.engine import PUBLIC_PREFIX, R2
from tests.support.rooms import Bench
from tests.support.s3 import Answer, Client

SDK = "workers-sdk: packages/miniflare/src/workers/r2/s3"
KEY = bytes(range(32))


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Client]:
    room = Bench(tmp_path).open(R2, {"r2_buckets": [{"binding": "OPEN", "bucket_name": "open"}]})
    yield Client(room)
    room.close()


def told(answer: Answer) -> tuple[int, str | None, str | None]:
    return answer.status, answer.code, answer.xml.findtext("Message")


def customer(key: bytes, prefix: str = "x-amz-", changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    fields = {
        "algorithm": "AES256",
        "key": base64.b64encode(key).decode(),
        "key-MD5": base64.b64encode(hashlib.md5(key).digest()).decode(),
        **(changes or {}),
    }
    start = f"{prefix}server-side-encryption-customer-"
    return {f"{start}{name}": value for name, value in fields.items() if value is not None}


# --- what R2 has not --------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare(SDK)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-amz-tagging", "a=b"),
        ("x-amz-acl", "lol-no"),
        ("x-amz-server-side-encryption", "aws:kms"),
        ("x-amz-object-lock-mode", "GOVERNANCE"),
        ("x-amz-expected-bucket-owner", "1234"),
    ],
)
def test_a_header_that_r2_does_not_implement_is_named(call: Client, name: str, value: str) -> None:
    answer = call("PUT", "/open/a", b"hello", {name: value})
    assert told(answer) == (501, "NotImplemented", f"Header '{name}' with value '{value}' not implemented")
    assert call("GET", "/open/a").status == 404


@pytest.mark.cloudflare(SDK)
def test_what_changes_nothing_is_let_through(call: Client) -> None:
    headers = {"x-amz-acl": "public-read", "x-amz-server-side-encryption": "AES256", "x-amz-foobar": "x"}
    assert call("PUT", "/open/a", b"hello", headers).status == 200
    assert call("GET", "/open/a", headers={"x-amz-tagging": "a=b"}).status == 200
    assert call("DELETE", "/open/a", headers={"x-amz-mfa": "1"}).status == 501


@pytest.mark.cloudflare(SDK)
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("GET", "/open"), ("PUT", "/open/a"), ("DELETE", "/open/a")]
)
def test_a_session_token_is_refused(call: Client, method: str, path: str) -> None:
    answer = call(method, path, headers={"x-amz-security-token": "t"})
    assert told(answer) == (400, "InvalidArgument", "X-Amz-Security-Token")


@pytest.mark.cloudflare(SDK)
@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [
        ("GET", "/open/a?attributes", "GetObjectAttributes"),
        ("PUT", "/open/a?tagging", "PutObjectTagging"),
        ("GET", "/open?acl", "GetBucketAcl"),
        ("GET", "/open?versions", "ListObjectVersions"),
        ("PUT", "/open?cors", "PutBucketCors"),
        ("PUT", "/newb", "CreateBucket"),
        ("DELETE", "/open", "DeleteBucket"),
        ("GET", "/open?list-type=3", "ListObjectsV3"),
        ("GET", "/open?list-type=2&marker=a", "ListObjectsV2 search parameter marker"),
    ],
)
def test_an_operation_that_is_not_there_is_named(call: Client, method: str, path: str, operation: str) -> None:
    call("PUT", "/open/a", b"hello")
    assert told(call(method, path)) == (501, "NotImplemented", f"{operation} not implemented")


@pytest.mark.cloudflare(SDK)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_what_a_bucket_knows_nothing_of_is_named(call: Client, method: str) -> None:
    message = f'Unsupported search param(s) "foo", "bar" on a {method} bucket route'
    assert told(call(method, "/open?foo&bar&foo&x-id=1")) == (400, "InvalidArgument", message)


@pytest.mark.cloudflare(SDK)
def test_what_every_bucket_says_of_itself(call: Client) -> None:
    assert call("GET", "/open?encryption").texts("SSEAlgorithm") == ["AES256"]
    assert told(call("GET", "/open?tagging")) == (404, "NoSuchTagSet", "The TagSet does not exist.")


@pytest.mark.cloudflare(SDK)
@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        ("foo", (400, "InvalidArgument")),
        ("bytes=1-2,4-5", (400, "InvalidArgument")),
        ("bytes=3-1", (400, "InvalidArgument")),
        ("bytes=-0", (416, "InvalidRange")),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(call: Client, wanted: str, answer: tuple[int, str]) -> None:
    call("PUT", "/open/a", b"hello")
    found = call("GET", "/open/a", headers={"range": wanted})
    assert (found.status, found.code) == answer
    assert call("GET", "/open/a", headers={"range": wanted}, prefix=PUBLIC_PREFIX).status == answer[0]


def test_an_etag_that_is_none_is_refused(call: Client) -> None:
    assert call("PUT", "/open/a", b"hello", {"if-match": "W/x"}).code == "InvalidArgument"


# --- storage classes --------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("r2/api/s3/api")
def test_an_object_has_a_storage_class_that_a_copy_changes(call: Client) -> None:
    call("PUT", "/open/a", b"hello", {"x-amz-storage-class": "STANDARD_IA", "content-type": "a/b"})
    assert call("HEAD", "/open/a").headers["x-amz-storage-class"] == "STANDARD_IA"
    assert call("GET", "/open").texts("StorageClass") == ["STANDARD_IA"]
    call("PUT", "/open/a", headers={"x-amz-copy-source": "/open/a", "x-amz-storage-class": "STANDARD"})
    assert call("HEAD", "/open/a").headers["content-type"] == "a/b"
    assert call("GET", "/open").texts("StorageClass") == ["STANDARD"]


@pytest.mark.cloudflare(SDK)
def test_another_storage_class_is_refused(call: Client) -> None:
    answer = call("PUT", "/open/a", b"hello", {"x-amz-storage-class": "GLACIER"})
    assert told(answer) == (400, "InvalidStorageClass", "The storage class specified is not valid.")


# --- keys of the customer ---------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("r2/api/s3/api")
def test_an_encrypted_object_opens_with_its_key(call: Client) -> None:
    given = customer(KEY)
    assert given.items() - call("PUT", "/open/a", b"hello", given).headers.items() == {
        ("x-amz-server-side-encryption-customer-key", base64.b64encode(KEY).decode())
    }
    assert call("GET", "/open/a", headers={**given, "range": "bytes=1-2"}).body == b"el"
    assert call("HEAD", "/open/a", headers=given).status == 200
    assert [call(method, "/open/a").status for method in ("GET", "HEAD")] == [400, 400]
    assert told(call("GET", "/open/a", headers=customer(bytes(32)))) == (403, "AccessDenied", "Access Denied")
    assert call("GET", "/open/a", prefix=PUBLIC_PREFIX).status == 400


@pytest.mark.cloudflare(SDK)
@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"key": None}, "InvalidArgument", "must provide an appropriate secret key."),
        ({"key-MD5": None}, "InvalidArgument", "must provide the client calculated MD5 of the secret key."),
        ({"algorithm": None}, "InvalidArgument", "must provide a valid encryption algorithm."),
        ({"algorithm": "AES128"}, "InvalidEncryptionAlgorithmError", "The valid value is AES256."),
        ({"key": "AAAA"}, "InvalidArgument", "The secret key was invalid for the specified algorithm."),
        ({"key-MD5": "AAAA"}, "InvalidArgument", "did not match the hash that was provided."),
        ({}, "InvalidRequest", "The encryption parameters are not applicable to this object."),
    ],
)
def test_a_key_that_is_none_is_refused(call: Client, changes: dict[str, str | None], code: str, message: str) -> None:
    call("PUT", "/open/a", b"hello")
    status, found, text = told(call("GET", "/open/a", headers=customer(KEY, changes=changes)))
    assert (status, found) == (400, code)
    assert str(text).endswith(message)


def test_a_copy_opens_its_source_and_shuts_its_target(call: Client) -> None:
    call("PUT", "/open/a", b"hello", customer(KEY))
    source = {"x-amz-copy-source": "/open/a"}
    assert call("PUT", "/open/b", headers=source).code == "InvalidRequest"
    opened = {**source, **customer(KEY, "x-amz-copy-source-")}
    call("PUT", "/open/b", headers=opened)
    assert call("GET", "/open/b").body == b"hello"
    call("PUT", "/open/b", headers={**opened, **customer(bytes(32))})
    assert call("GET", "/open/b", headers=customer(bytes(32))).body == b"hello"


def test_all_parts_of_an_encrypted_upload_need_its_key(call: Client) -> None:
    upload = call("POST", "/open/a?uploads", headers=customer(KEY)).xml.findtext("UploadId")
    path = f"/open/a?partNumber=1&uploadId={upload}"
    assert call("PUT", path, b"hello").code == "InvalidRequest"
    etag = call("PUT", path, b"hello", customer(KEY)).headers["etag"]
    chosen = f"<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>"
    call("POST", f"/open/a?uploadId={upload}", f"<CompleteMultipartUpload>{chosen}</CompleteMultipartUpload>".encode())
    assert call("GET", "/open/a", headers=customer(KEY)).body == b"hello"


# --- checksums --------------------------------------------------------------------------------------------------------

CHECKSUMS = {
    "content-md5": hashlib.md5(b"hello").digest(),
    "x-amz-checksum-crc32": zlib.crc32(b"hello").to_bytes(4, "big"),
    "x-amz-checksum-crc32c": bytes.fromhex("9a71bb4c"),
    "x-amz-checksum-crc64nvme": bytes.fromhex("3377857006524257"),
    "x-amz-checksum-sha1": hashlib.sha1(b"hello").digest(),
    "x-amz-checksum-sha256": hashlib.sha256(b"hello").digest(),
}


@pytest.mark.cloudflare("r2/api/s3/api")
@pytest.mark.parametrize("header", CHECKSUMS)
def test_a_checksum_must_be_that_of_the_content(call: Client, header: str) -> None:
    good = base64.b64encode(CHECKSUMS[header]).decode()
    bad = base64.b64encode(bytes(len(CHECKSUMS[header]))).decode()
    assert call("PUT", "/open/a", b"hello", {header: bad}).code == "BadDigest"
    assert call("PUT", "/open/a", b"hello", {header: "AAA="}).code == "InvalidDigest"
    assert call("GET", "/open/a").status == 404
    assert call("PUT", "/open/a", b"hello", {header: good}).status == 200


def test_a_checksum_may_follow_the_content(call: Client) -> None:
    headers = {
        "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        "x-amz-decoded-content-length": "5",
        "x-amz-trailer": "x-amz-checksum-crc32",
    }
    good = base64.b64encode(CHECKSUMS["x-amz-checksum-crc32"]).decode()
    body = "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:{}\r\n\r\n"
    assert call("PUT", "/open/a", body.format("AAAAAA==").encode(), headers).code == "BadDigest"
    assert call("PUT", "/open/a", body.format(good).encode(), headers).status == 200
    assert call("GET", "/open/a").body == b"hello"


@pytest.mark.parametrize(("kind", "check"), [(CRC32C, "e3069283"), (CRC64NVME, "ae8b14860a799888")])
def test_the_crcs_of_the_nine_digits(kind: tuple[int, int], check: str) -> None:
    crc = Crc(*kind)
    crc.update(b"123456789")
    assert crc.digest().hex() == check


@given(st.binary(max_size=3000), st.integers(0, 3000))
def test_a_crc_is_that_of_its_pieces(data: bytes, cut: int) -> None:
    whole, pieces, ours = Crc(*CRC64NVME), Crc(*CRC64NVME), Crc(32, 0x04C11DB7)
    whole.update(data)
    pieces.update(data[:cut])
    pieces.update(data[cut:])
    ours.update(data)
    assert whole.digest() == pieces.digest()
    assert int.from_bytes(ours.digest(), "big") == zlib.crc32(data)
