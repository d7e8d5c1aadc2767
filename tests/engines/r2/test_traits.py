"""Keys of the customer (SSE-C) and storage classes, as `env.BUCKET` has them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from pyflare.engines.r2.engine import R2
from pyflare.interop.proxy import jsnull
from pyflare.interop.web.readable import ReadableStream
from tests.support.rooms import Bench, js, refusal, settle

SECTIONS = {"r2_buckets": [{"binding": "BUCKET", "bucket_name": "files"}]}
KEY, OTHER = bytes(range(32)), bytes(32)
KEY_MD5 = hashlib.md5(KEY).hexdigest()


@pytest.fixture
def bucket(bench: Bench) -> Iterator[Any]:
    room = bench.open(R2, SECTIONS)
    yield room.bindings("w")["BUCKET"]
    room.close()


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("r2/api/workers/workers-api-reference")
@pytest.mark.parametrize("key", [js(KEY), KEY.hex()])
def test_an_encrypted_object_tells_the_md5_of_its_key_and_opens_with_it(bucket: Any, key: Any) -> None:
    assert settle(bucket.put("k", "hello", ssecKey=key)).ssecKeyMd5 == KEY_MD5
    assert settle(bucket.head("k")).ssecKeyMd5 == KEY_MD5
    found = settle(bucket.get("k", ssecKey=key))
    assert (found.ssecKeyMd5, settle(found.text())) == (KEY_MD5, "hello")


def test_without_its_key_an_encrypted_object_stays_shut(bucket: Any) -> None:
    settle(bucket.put("k", "hello", ssecKey=KEY.hex()))
    assert refusal(bucket.get("k")).startswith(
        "Error: get: The object was stored using a form of Server Side Encryption"
    )
    assert refusal(bucket.get("k", ssecKey=OTHER.hex())) == "Error: get: Access Denied (10003)"


@pytest.mark.cloudflare("workers-sdk: packages/miniflare/src/workers/r2/s3")
def test_a_key_opens_nothing_that_is_open(bucket: Any) -> None:
    assert settle(bucket.put("k", "hello")).ssecKeyMd5 is None
    message = "Error: get: The encryption parameters are not applicable to this object. (10029)"
    assert refusal(bucket.get("k", ssecKey=KEY.hex())) == message


def test_an_object_can_be_overwritten_without_its_key(bucket: Any) -> None:
    settle(bucket.put("k", "hello", ssecKey=KEY.hex()))
    settle(bucket.put("k", "open"))
    assert settle(settle(bucket.get("k")).text()) == "open"


@pytest.mark.cloudflare("workerd 1.20260426.1, through miniflare")
@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("zz", "Error: SSE-C Key has invalid format"),
        ("", "Error: SSE-C Key has invalid format"),
        (jsnull, "Error: SSE-C Key has invalid format"),
        (KEY.hex().upper(), "Error: SSE-C Key has invalid format"),
        ("ab", "Error: SSE-C Key must be 32 bytes in length"),
        (5, "Error: SSE-C Key must be 32 bytes in length"),
        (js(bytes(16)), "Error: SSE-C Key must be 32 bytes in length"),
    ],
)
def test_what_is_no_key_is_refused(bucket: Any, key: Any, message: str) -> None:
    assert refusal(bucket.put("k", "x", ssecKey=key)) == message
    assert refusal(bucket.get("k", ssecKey=key)) == message
    assert refusal(bucket.createMultipartUpload("k", ssecKey=key)) == message
    assert refusal(bucket.resumeMultipartUpload("k", "u").uploadPart(1, "x", ssecKey=key)) == message
    assert settle(bucket.head("k")) is jsnull


def test_all_parts_of_an_encrypted_upload_need_its_key(bucket: Any) -> None:
    upload = settle(bucket.createMultipartUpload("k", ssecKey=KEY.hex()))
    assert "Subsequent part requests must include" in refusal(upload.uploadPart(1, "x"))
    assert "did not match the ones used originally" in refusal(upload.uploadPart(1, "x", ssecKey=OTHER.hex()))
    part = settle(upload.uploadPart(1, ReadableStream.of_bytes(b"hello"), ssecKey=js(KEY)))
    assert settle(upload.complete(js([{"partNumber": 1, "etag": part.etag}]))).ssecKeyMd5 == KEY_MD5
    assert refusal(bucket.get("k")).startswith("Error: get: The object was stored")
    assert settle(settle(bucket.get("k", ssecKey=js(KEY))).text()) == "hello"


def test_a_part_of_an_open_upload_takes_no_key(bucket: Any) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    assert "did not request encryption" in refusal(upload.uploadPart(1, "x", ssecKey=KEY.hex()))


# --- storage classes --------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("r2/api/workers/workers-api-reference")
def test_an_object_has_its_storage_class(bucket: Any) -> None:
    assert settle(bucket.put("a", "x")).storageClass == "Standard"
    settle(bucket.put("b", "x", storageClass="InfrequentAccess", httpMetadata=js({"contentType": "a/b"})))
    assert settle(bucket.head("b")).storageClass == "InfrequentAccess"
    assert [found.storageClass for found in settle(bucket.list()).objects] == ["Standard", "InfrequentAccess"]
    upload = settle(bucket.createMultipartUpload("c", storageClass="InfrequentAccess"))
    part = settle(upload.uploadPart(1, "x"))
    assert settle(upload.complete(js([{"partNumber": 1, "etag": part.etag}]))).storageClass == "InfrequentAccess"


def test_traits_are_no_http_metadata(bucket: Any) -> None:
    found = settle(bucket.put("k", "x", storageClass="InfrequentAccess", ssecKey=KEY.hex()))
    assert "storageClass" not in found.httpMetadata.js_properties()
    settle(bucket.put("l", "x", httpMetadata=js({"contentType": 'ssecKeyMd5"storageClass'})))
    assert settle(bucket.head("l")).storageClass == "Standard"


@pytest.mark.cloudflare("workers-sdk: packages/wrangler/src/__tests__/r2")
def test_another_storage_class_is_refused(bucket: Any) -> None:
    message = "The storage class specified is not valid. (10062)"
    assert refusal(bucket.put("k", "x", storageClass="Cold")) == f"Error: put: {message}"
    upload = bucket.createMultipartUpload("k", storageClass="Cold")
    assert refusal(upload) == f"Error: createMultipartUpload: {message}"
    assert settle(bucket.head("k")) is jsnull
