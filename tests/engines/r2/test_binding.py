"""`env.BUCKET` as the SDK calls it."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyflare.engines.r2.config import MIN_PART_BYTES
from pyflare.engines.r2.engine import R2
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import jsnull
from pyflare.interop.web.blob import Blob
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.readable import ReadableStream
from tests.support.rooms import NOW, Bench, js, refusal, run, settle

SECTIONS = {"r2_buckets": [{"binding": "BUCKET", "bucket_name": "files"}]}
HELLO = "5d41402abc4b2a76b9719d911017c592"  # MD5 of "hello"


@pytest.fixture
def room(bench: Bench) -> Iterator[R2]:
    room = bench.open(R2, SECTIONS)
    yield room
    room.close()


@pytest.fixture
def bucket(room: R2) -> Any:
    return room.bindings("w")["BUCKET"]


def text(found: Any) -> str:
    return str(settle(found.text()))


def keys(listed: Any) -> list[str]:
    return [item.key for item in listed.objects]


def files(bench: Bench) -> list[Path]:
    return list((bench.folder / "v3/r2/files/blobs").iterdir())


async def _twice(data: bytes) -> AsyncIterator[bytes]:
    yield data
    yield data


# --- put, head, get ---------------------------------------------------------------------------------------------------


def test_the_sdk_knows_the_classes_by_their_names(bucket: Any) -> None:
    assert bucket.constructor.name == "R2Bucket"
    assert settle(bucket.put("k", "x")).constructor.name == "HeadResult"
    assert settle(bucket.get("k")).constructor.name == "GetResult"


def test_the_etag_is_the_md5_of_the_body(bucket: Any) -> None:
    stored = settle(bucket.put("k", "hello"))
    assert (stored.etag, stored.httpEtag) == (HELLO, f'"{HELLO}"')


def test_text_comes_back(bucket: Any) -> None:
    settle(bucket.put("k", "héllo"))
    assert text(settle(bucket.get("k"))) == "héllo"


def test_a_missing_object_is_null(bucket: Any) -> None:
    assert [settle(bucket.get("k")), settle(bucket.head("k"))] == [jsnull, jsnull]


def test_head_has_no_body(bucket: Any) -> None:
    settle(bucket.put("k", "hello"))
    found = settle(bucket.head("k"))
    assert (found.size, hasattr(found, "body"), hasattr(found, "text")) == (5, False, False)


def test_an_object_says_when_it_was_uploaded(bucket: Any) -> None:
    assert settle(bucket.put("k", "x")).uploaded.getTime() == NOW * 1000


def test_what_is_known_of_an_object_is_listed_in_its_order(bucket: Any) -> None:
    settle(bucket.put("k", "hello", httpMetadata=js({"contentType": "text/plain"})))
    found = settle(bucket.get("k"))
    assert list(found.object_keys()) == [
        "ssecKeyMd5", "storageClass", "range", "customMetadata", "httpMetadata", "uploaded", "checksums", "httpEtag",
        "etag", "size", "version", "key",
    ]  # fmt: skip
    assert found.range is found.range


@pytest.mark.cloudflare("workerd, HeadResult")
def test_only_what_was_read_has_a_range(bucket: Any) -> None:
    written = settle(bucket.put("k", "hello"))
    listed = settle(bucket.list()).objects[0]
    assert (written.range, listed.range) == (None, None)
    assert settle(bucket.head("k")).range.js_properties() == {"offset": 0, "length": 5, "suffix": None}


def test_json_and_bytes_are_read(bucket: Any) -> None:
    settle(bucket.put("k", '{"a": [1, null]}'))
    assert settle(settle(bucket.get("k")).json()).a[1] is jsnull
    assert settle(settle(bucket.get("k")).bytes()).to_bytes() == b'{"a": [1, null]}'


def test_a_body_can_be_read_once(bucket: Any) -> None:
    settle(bucket.put("k", "hello"))
    found = settle(bucket.get("k"))
    assert not found.bodyUsed
    text(found)
    assert found.bodyUsed
    assert refusal(found.text()) == (
        "TypeError: Body has already been used. It can only be used once. Use tee() first if you need to read it twice."
    )


def test_a_blob_has_the_content_type(bucket: Any) -> None:
    settle(bucket.put("k", "abc", httpMetadata=js({"contentType": "image/png"})))
    blob = settle(settle(bucket.get("k")).blob())
    assert (blob.constructor.name, blob.size, blob.type) == ("Blob", 3, "image/png")


@pytest.mark.parametrize(
    ("value", "stored"), [(jsnull, b""), (None, b""), (js(b"\x00\xff"), b"\x00\xff"), (Blob.make(b"blob"), b"blob")]
)
def test_what_may_be_stored(bucket: Any, value: Any, stored: bytes) -> None:
    assert settle(bucket.put("k", value)).size == len(stored)
    assert settle(settle(bucket.get("k")).arrayBuffer()).to_bytes() == stored


def test_numbers_are_refused(bucket: Any) -> None:
    assert refusal(bucket.put("k", 5)).startswith("TypeError: Failed to execute 'put' on 'R2Bucket': parameter 2")


@pytest.mark.parametrize("value", ["v", ReadableStream.of_bytes(b"v")])
def test_a_put_needs_no_await(bucket: Any, value: Any) -> None:
    bucket.put("k", value)
    assert text(settle(bucket.get("k"))) == "v"


def test_an_object_whose_file_was_removed_is_null(bucket: Any, bench: Bench) -> None:
    settle(bucket.put("k", "v"))
    files(bench)[0].unlink()
    assert settle(bucket.get("k")) is jsnull


def test_an_overwritten_object_leaves_one_file_and_another_version(bucket: Any, bench: Bench) -> None:
    first, second = settle(bucket.put("k", "same")), settle(bucket.put("k", "same"))
    assert first.version != second.version
    bucket._bucket.close()
    assert len(files(bench)) == 1


def test_http_metadata_has_six_fields(bucket: Any) -> None:
    names = ("contentType", "contentLanguage", "contentDisposition", "contentEncoding", "cacheControl", "cacheExpiry")
    assert settle(bucket.put("k", "x")).httpMetadata.js_properties() == dict.fromkeys(names)


def test_http_metadata_comes_back_and_fills_headers(bucket: Any) -> None:
    metadata = {"contentType": "text/plain", "cacheControl": "max-age=5", "cacheExpiry": JsDate.make(1893553445000.0)}
    settle(bucket.put("k", "x", httpMetadata=js(metadata)))
    found = settle(bucket.head("k"))
    assert found.httpMetadata.cacheExpiry.getTime() == 1893553445000
    headers: Headers = Headers.make()
    found.writeHttpMetadata(headers)
    assert headers.combined() == [
        ("cache-control", "max-age=5"),
        ("content-type", "text/plain"),
        ("expires", "Wed, 02 Jan 2030 03:04:05 GMT"),
    ]


def test_http_metadata_may_be_headers(bucket: Any) -> None:
    headers = Headers.make([("Content-Type", "a/b"), ("Expires", "Wed, 02 Jan 2030 03:04:05 GMT"), ("X-Own", "1")])
    found = settle(bucket.put("k", "x", httpMetadata=headers)).httpMetadata
    assert (found.contentType, found.cacheExpiry.getTime()) == ("a/b", 1893553445000)


def test_custom_metadata_are_texts(bucket: Any) -> None:
    settle(bucket.put("k", "x", customMetadata=js({"n": 5, "flag": True, "é": "ü"})))
    assert settle(bucket.head("k")).customMetadata.js_properties() == {"n": "5", "flag": "true", "é": "ü"}


# --- streams ----------------------------------------------------------------------------------------------------------


def test_a_stream_of_known_length_is_stored(bucket: Any) -> None:
    async def scenario() -> Any:
        return await bucket.put("k", ReadableStream.of(_twice(b"abc"), 6))

    assert run(scenario()).etag == hashlib.md5(b"abcabc").hexdigest()
    assert text(settle(bucket.get("k"))) == "abcabc"


@pytest.mark.cloudflare("R1 of the reported problems")
def test_a_stream_of_unknown_length_is_refused(bucket: Any) -> None:
    assert refusal(bucket.put("k", ReadableStream.of(_twice(b"abc")))) == (
        "TypeError: Provided readable stream must have a known length (request/response body or readable half of "
        "FixedLengthStream)"
    )


@pytest.mark.parametrize("length", [5, 7])
def test_a_stream_of_another_length_than_announced_writes_nothing(bucket: Any, bench: Bench, length: int) -> None:
    async def scenario() -> None:
        with pytest.raises(JsException, match="were announced"):
            await bucket.put("k", ReadableStream.of(_twice(b"abc"), length))

    run(scenario())
    assert settle(bucket.head("k")) is jsnull
    assert files(bench) == []


def test_a_large_body_is_a_stream_of_pieces(bucket: Any) -> None:
    settle(bucket.put("k", js(bytes(500_000))))

    async def scenario() -> list[int]:
        found = await bucket.get("k")
        return [len(chunk) async for chunk in found.body.drain()]

    sizes = run(scenario())
    assert (sum(sizes), max(sizes)) == (500_000, 131_072)


def test_a_body_that_is_being_read_outlives_its_object(bucket: Any, bench: Bench) -> None:
    settle(bucket.put("k", js(b"x" * 500_000)))

    async def scenario() -> int:
        pieces = (await bucket.get("k")).body.drain()
        first = await anext(pieces)
        await bucket.delete("k")
        return len(first) + sum([len(chunk) async for chunk in pieces])

    assert run(scenario()) == 500_000
    assert files(bench) == []


def test_a_copy_through_the_body(bucket: Any) -> None:
    settle(bucket.put("original", js(b"x" * 300_000)))

    async def scenario() -> Any:
        original = await bucket.get("original")
        return await bucket.put("copy", original.body), original

    copy, original = run(scenario())
    assert copy.etag == original.etag


# --- checksums --------------------------------------------------------------------------------------------------------


def test_an_object_has_always_its_md5(bucket: Any) -> None:
    checksums = settle(bucket.put("k", "hello")).checksums
    assert (checksums.md5.to_bytes().hex(), checksums.sha256) == (HELLO, None)


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha384", "sha512"])
def test_a_given_checksum_is_kept(bucket: Any, algorithm: str) -> None:
    digest = hashlib.new(algorithm, b"hello")
    settle(bucket.put("k", "hello", **{algorithm: js(digest.digest())}))
    assert getattr(settle(bucket.head("k")).checksums.toJSON(), algorithm) == digest.hexdigest()


def test_a_wrong_checksum_writes_nothing(bucket: Any, bench: Bench) -> None:
    assert refusal(bucket.put("k", "hello", md5="0" * 32)) == (
        "Error: put: The MD5 checksum you specified did not match what we received.\n"
        f"You provided a MD5 checksum with value: {'0' * 32}\nActual MD5 was: {HELLO} (10037)"
    )
    assert (settle(bucket.head("k")), files(bench)) == (jsnull, [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"md5": "0" * 32, "sha1": "0" * 40}, "TypeError: You cannot specify multiple hashing algorithms."),
        ({"md5": js(b"x")}, "TypeError: MD5 is 16 bytes, not 1"),
        ({"sha256": "00"}, "TypeError: SHA-256 is 64 hex characters, not 2"),
        ({"sha1": "z" * 40}, "TypeError: Provided SHA-1 wasn't a valid hex string"),
    ],
)
def test_bad_checksums_are_refused(bucket: Any, options: dict[str, Any], message: str) -> None:
    assert refusal(bucket.put("k", "x", **options)) == message


# --- ranges -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "body", "offset"),
    [
        ({"offset": 2, "length": 3}, "234", 2),
        ({"offset": 7}, "789", 7),
        ({"length": 2}, "01", 0),
        ({"suffix": 3}, "789", 7),
        ({"suffix": 99}, "0123456789", 0),
        ({"offset": 8, "length": 99}, "89", 8),
    ],
)
def test_a_range_gives_a_part(bucket: Any, wanted: dict[str, int], body: str, offset: int) -> None:
    settle(bucket.put("k", "0123456789"))
    found = settle(bucket.get("k", range=js(wanted)))
    assert found.range.js_properties() == {"offset": offset, "length": len(body), "suffix": None}
    assert (found.size, text(found)) == (10, body)


@pytest.mark.parametrize("wanted", [{"offset": 10}, {"offset": 11}, {"length": 0}, {"suffix": 0}])
def test_a_range_outside_of_the_object_is_refused(bucket: Any, wanted: dict[str, int]) -> None:
    settle(bucket.put("k", "0123456789"))
    assert refusal(bucket.get("k", range=js(wanted))) == "Error: get: The requested range is not satisfiable (10039)"


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"offset": -1}, "RangeError: Invalid range. Starting offset (-1) must be greater than or equal to 0."),
        ({"offset": 1.5}, "RangeError: Invalid range. Starting offset (1.5) must be an integer, not floating point."),
        ({"length": -1}, "RangeError: Invalid range. Length (-1) must be greater than or equal to 0."),
        ({"suffix": 1, "offset": 1}, "TypeError: Suffix is incompatible with offset."),
        ({"suffix": 1, "length": 1}, "TypeError: Suffix is incompatible with length."),
    ],
)
def test_bad_ranges_are_refused(bucket: Any, wanted: dict[str, float], message: str) -> None:
    settle(bucket.put("k", "0123456789"))
    assert refusal(bucket.get("k", range=js(wanted))) == message


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("bytes=2-4", "234"),
        ("bytes=-3", "789"),
        ("bytes=8-", "89"),
        ("bytes=0-1,3-4", "0123456789"),
        ("bytes=90-", "0123456789"),
        ("lines=1-2", "0123456789"),
    ],
)
def test_a_range_header_that_makes_no_sense_asks_for_everything(bucket: Any, header: str, body: str) -> None:
    settle(bucket.put("k", "0123456789"))
    assert text(settle(bucket.get("k", range=Headers.make([("range", header)])))) == body


def test_head_has_the_whole_range(bucket: Any) -> None:
    settle(bucket.put("k", "hello"))
    assert settle(bucket.head("k")).range.js_properties() == {"offset": 0, "length": 5, "suffix": None}


# --- conditions -------------------------------------------------------------------------------------------------------


def test_a_condition_that_fails_gives_the_object_without_a_body(bucket: Any) -> None:
    settle(bucket.put("k", "hello"))
    found = settle(bucket.get("k", onlyIf=js({"etagMatches": "other"})))
    assert (found.size, hasattr(found, "body")) == (5, False)


@pytest.mark.parametrize(("etag", "has_body"), [(HELLO, False), ("other", True), ("*", False)])
def test_an_etag_that_must_not_match(bucket: Any, etag: str, has_body: bool) -> None:
    settle(bucket.put("k", "hello"))
    assert hasattr(settle(bucket.get("k", onlyIf=js({"etagDoesNotMatch": etag}))), "body") is has_body


def test_a_put_whose_condition_fails_is_null_and_writes_nothing(bucket: Any, bench: Bench) -> None:
    settle(bucket.put("k", "old"))
    assert settle(bucket.put("k", "new", onlyIf=js({"etagMatches": "other"}))) is jsnull
    assert (text(settle(bucket.get("k"))), len(files(bench))) == ("old", 1)


def test_a_put_only_if_absent(bucket: Any) -> None:
    only_if = js({"etagDoesNotMatch": "*"})
    assert settle(bucket.put("k", "1", onlyIf=only_if)) is not jsnull
    assert settle(bucket.put("k", "2", onlyIf=only_if)) is jsnull


def test_a_quoted_etag_in_a_condition_is_refused(bucket: Any) -> None:
    assert refusal(bucket.get("k", onlyIf=js({"etagMatches": '"abc"'}))) == (
        'TypeError: Conditional ETag should not be wrapped in quotes ("abc").'
    )


@pytest.mark.parametrize(
    ("name", "value", "has_body"),
    [
        ("if-none-match", f'"{HELLO}"', False),
        ("if-none-match", f'W/"{HELLO}"', False),
        ("if-none-match", '"a", "b"', True),
        ("if-match", f'"a", "{HELLO}"', True),
        ("if-match", f'W/"{HELLO}"', False),
        ("if-match", "*", True),
        ("if-modified-since", "Wed, 02 Jan 2030 03:04:05 GMT", False),
        ("if-unmodified-since", "Wed, 02 Jan 2030 03:04:05 GMT", True),
        ("if-unmodified-since", "no date", False),
    ],
)
def test_conditions_of_a_requests_headers(bucket: Any, name: str, value: str, has_body: bool) -> None:
    settle(bucket.put("k", "hello"))
    found = settle(bucket.get("k", onlyIf=Headers.make([(name, value)])))
    assert hasattr(found, "body") is has_body


@pytest.mark.parametrize("value", ["abc", 'W"abc"', '"open', '"a" "b"'])
def test_an_etag_header_that_is_none_is_refused(bucket: Any, value: str) -> None:
    assert refusal(bucket.get("k", onlyIf=Headers.make([("if-match", value)]))).startswith("Error: ")


def test_uploaded_before_and_after(bucket: Any) -> None:
    settle(bucket.put("k", "hello"))
    at = JsDate.make(NOW * 1000)
    later = JsDate.make(NOW * 1000 + 1)
    for only_if, has_body in [
        ({"uploadedBefore": at}, False),
        ({"uploadedBefore": later}, True),
        ({"uploadedAfter": at}, False),
        ({"uploadedAfter": JsDate.make(NOW * 1000 - 1)}, True),
        ({"uploadedBefore": later, "secondsGranularity": True}, False),
    ]:
        assert hasattr(settle(bucket.get("k", onlyIf=js(only_if))), "body") is has_body


# --- delete and list --------------------------------------------------------------------------------------------------


def test_delete_takes_one_key_or_many(bucket: Any, bench: Bench) -> None:
    for key in "abcd":
        settle(bucket.put(key, "x"))
    assert settle(bucket.delete("a")) is None
    settle(bucket.delete(js(["b", "d", "none"])))
    assert (keys(settle(bucket.list())), len(files(bench))) == (["c"], 1)


@pytest.mark.cloudflare("r2/api/workers/workers-api-reference")
def test_delete_of_more_than_1000_keys_is_refused(bucket: Any) -> None:
    assert "at most 1000" in refusal(bucket.delete(js([str(number) for number in range(1001)])))


def test_a_list_has_four_fields(bucket: Any) -> None:
    settle(bucket.put("a", "x"))
    listed = settle(bucket.list())
    assert (listed.truncated, listed.cursor, list(listed.delimitedPrefixes)) == (False, None, [])


def test_a_list_goes_on_at_its_cursor(bucket: Any) -> None:
    for key in "abcde":
        settle(bucket.put(key, "x"))
    first = settle(bucket.list(limit=3))
    second = settle(bucket.list(limit=3, cursor=first.cursor))
    assert (keys(first), first.truncated, keys(second), second.truncated) == (["a", "b", "c"], True, ["d", "e"], False)


def test_a_list_may_start_behind_a_key(bucket: Any) -> None:
    for key in "abc":
        settle(bucket.put(key, "x"))
    assert keys(settle(bucket.list(startAfter="a"))) == ["b", "c"]


def test_a_delimiter_groups(bucket: Any) -> None:
    for key in ("tree/a", "tree/dir/1", "tree/dir/2", "tree/other/x/y", "tree/z"):
        settle(bucket.put(key, "x"))
    listed = settle(bucket.list(prefix="tree/", delimiter="/"))
    assert (keys(listed), list(listed.delimitedPrefixes)) == (["tree/a", "tree/z"], ["tree/dir/", "tree/other/"])


def test_a_group_counts_once_and_is_not_repeated_on_the_next_page(bucket: Any) -> None:
    for key in ("a/1", "a/2", "b/1", "b/2", "c"):
        settle(bucket.put(key, "x"))
    first = settle(bucket.list(delimiter="/", limit=2))
    second = settle(bucket.list(delimiter="/", limit=2, cursor=first.cursor))
    assert (list(first.delimitedPrefixes), first.truncated) == (["a/", "b/"], True)
    assert (keys(second), list(second.delimitedPrefixes)) == (["c"], [])


def test_metadata_are_listed_when_asked_for(bucket: Any) -> None:
    settle(bucket.put("a", "x", customMetadata=js({"k": "v"}), httpMetadata=js({"contentType": "a/b"})))
    plain = settle(bucket.list()).objects[0]
    full = settle(bucket.list(include=js(["customMetadata", "httpMetadata"]))).objects[0]
    assert (plain.customMetadata.js_properties(), plain.httpMetadata.contentType) == ({}, None)
    assert (full.customMetadata.js_properties(), full.httpMetadata.contentType) == ({"k": "v"}, "a/b")


def test_a_list_with_metadata_gives_at_most_100(bucket: Any) -> None:
    for number in range(101):
        settle(bucket.put(f"{number:03}", ""))
    assert len(settle(bucket.list(include=js(["customMetadata"]))).objects) == 100


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_bad_list_limit_is_refused(bucket: Any, limit: int) -> None:
    assert refusal(bucket.list(limit=limit)) == "Error: list: MaxKeys params must be positive integer <= 1000. (10022)"


def test_an_unknown_include_is_refused(bucket: Any) -> None:
    assert refusal(bucket.list(include=js(["body"]))) == "RangeError: Unsupported include value body"


@pytest.mark.parametrize("key", ["", "k" * 1025, "é" * 513])
def test_bad_keys_are_refused(bucket: Any, key: str) -> None:
    assert refusal(bucket.put(key, "x")) == "Error: put: The specified object name is not valid. (10020)"


def test_custom_metadata_over_2048_bytes_are_refused(bucket: Any) -> None:
    settle(bucket.put("k", "x", customMetadata=js({"k": "v" * 2047})))
    assert refusal(bucket.put("k", "x", customMetadata=js({"k": "v" * 2048}))) == (
        "Error: put: Your metadata headers exceed the maximum allowed metadata size. (10012)"
    )


# --- multipart uploads ------------------------------------------------------------------------------------------------


def test_an_upload_of_parts_becomes_an_object(bucket: Any) -> None:
    upload = settle(bucket.createMultipartUpload("k", customMetadata=js({"a": "b"})))
    one = settle(upload.uploadPart(1, "x" * MIN_PART_BYTES))
    two = settle(upload.uploadPart(2, "tail"))
    assert settle(bucket.head("k")) is jsnull
    done = settle(upload.complete(js([one, two])))
    assert (done.size, done.etag) == (MIN_PART_BYTES + 4, "a45f1422f2dbe3d2890829dd76adba1b-2")
    found = settle(bucket.get("k", range=js({"offset": MIN_PART_BYTES - 2, "length": 4})))
    assert (text(found), found.customMetadata.a, found.checksums.md5) == ("xxta", "b", None)


def test_an_upload_can_be_resumed(bucket: Any) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    again = bucket.resumeMultipartUpload("k", upload.uploadId)
    assert again.key == "k"
    settle(again.complete(js([settle(again.uploadPart(1, "resumed"))])))
    assert text(settle(bucket.get("k"))) == "resumed"


def test_a_part_may_be_a_stream(bucket: Any) -> None:
    async def scenario() -> None:
        upload = await bucket.createMultipartUpload("k")
        part = await upload.uploadPart(1, ReadableStream.of(_twice(b"abc"), 6))
        await upload.complete(js([part]))

    run(scenario())
    assert text(settle(bucket.get("k"))) == "abcabc"


def test_a_part_that_is_sent_again_is_replaced(bucket: Any, bench: Bench) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    settle(upload.uploadPart(1, "old"))
    part = settle(upload.uploadPart(1, "new"))
    settle(upload.complete(js([part])))
    assert (text(settle(bucket.get("k"))), len(files(bench))) == ("new", 1)


def test_parts_that_are_not_chosen_are_dropped(bucket: Any, bench: Bench) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    chosen = settle(upload.uploadPart(1, "chosen"))
    settle(upload.uploadPart(2, "dropped"))
    settle(upload.complete(js([chosen])))
    assert (text(settle(bucket.get("k"))), len(files(bench))) == ("chosen", 1)


def test_a_small_part_that_is_not_the_last_is_refused(bucket: Any) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    parts = [settle(upload.uploadPart(number, "small")) for number in (1, 2)]
    assert refusal(upload.complete(js(parts))) == (
        "Error: completeMultipartUpload: Your proposed upload is smaller than the minimum allowed object size. (10011)"
    )


@pytest.mark.cloudflare("miniflare: workers/r2/bucket.worker.ts")
def test_parts_are_measured_in_the_order_that_they_are_named_in(bucket: Any) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    parts = [settle(upload.uploadPart(1, js(bytes(MIN_PART_BYTES)))), settle(upload.uploadPart(2, "tail"))]
    assert "smaller than the minimum allowed object size. (10011)" in refusal(upload.complete(js(parts[::-1])))
    assert settle(upload.complete(js(parts))).size == MIN_PART_BYTES + 4


def test_parts_of_different_sizes_are_refused(bucket: Any) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    sizes = (MIN_PART_BYTES, MIN_PART_BYTES + 1)
    parts = [settle(upload.uploadPart(number, js(bytes(size)))) for number, size in enumerate(sizes, start=1)]
    assert refusal(upload.complete(js(parts))) == (
        "Error: completeMultipartUpload: There was a problem with the multipart upload. (10048)"
    )


def test_an_unknown_part_is_refused(bucket: Any) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    settle(upload.uploadPart(1, "x"))
    assert refusal(upload.complete(js([{"partNumber": 1, "etag": "wrong"}]))) == (
        "Error: completeMultipartUpload: One or more of the specified parts could not be found. (10025)"
    )


def test_an_aborted_upload_takes_no_parts(bucket: Any, bench: Bench) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    settle(upload.uploadPart(1, "x"))
    settle(upload.abort())
    assert refusal(upload.uploadPart(2, "x")) == (
        "Error: uploadPart: The specified multipart upload does not exist. (10024)"
    )
    assert files(bench) == []


@pytest.mark.parametrize("number", [0, 10_001])
def test_part_numbers_go_from_1_to_10000(bucket: Any, number: int) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    assert refusal(upload.uploadPart(number, "x")) == (
        f"TypeError: Part number must be between 1 and 10000 (inclusive). Actual value was: {number}"
    )


def test_an_object_of_parts_is_overwritten_with_all_its_files(bucket: Any, bench: Bench) -> None:
    upload = settle(bucket.createMultipartUpload("k"))
    settle(upload.complete(js([settle(upload.uploadPart(1, "parts"))])))
    settle(bucket.put("k", "plain"))
    assert text(settle(bucket.get("k"))) == "plain"
    bucket._bucket.close()
    assert len(files(bench)) == 1


def test_objects_survive_a_restart(bench: Bench) -> None:
    room = bench.open(R2, SECTIONS)
    settle(room.bindings("w")["BUCKET"].put("k", "v"))
    room.close()
    again = bench.open(R2, SECTIONS)
    assert text(settle(again.bindings("w")["BUCKET"].get("k"))) == "v"
    again.close()


def test_limits_may_only_warn(bench: Bench) -> None:
    room = bench.open(R2, SECTIONS, tool={"limits": "warn"})
    settle(room.bindings("w")["BUCKET"].put("k", "x", customMetadata=js({"k": "v" * 2048})))
    assert "10012" in bench.terminal.getvalue()
    room.close()
