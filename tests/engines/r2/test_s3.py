"""The S3 endpoint and the public path, as a client of theirs sees them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from pyflare.engines.r2.config import MIN_PART_BYTES
from pyflare.engines.r2.engine import PUBLIC_PREFIX, R2
from tests.support.rooms import Bench
from tests.support.s3 import Client

HELLO = "5d41402abc4b2a76b9719d911017c592"  # MD5 of "hello"
SECTIONS = {
    "r2_buckets": [
        {"binding": "OPEN", "bucket_name": "open"},
        {
            "binding": "SHUT",
            "bucket_name": "shut",
            "local_dev": {"experimental_s3_credentials": {"accessKeyId": "key", "secretAccessKey": "secret"}},
        },
    ]
}


@pytest.fixture
def room(tmp_path: Path) -> Iterator[R2]:
    room = Bench(tmp_path).open(R2, SECTIONS)
    yield room
    room.close()


@pytest.fixture
def call(room: R2) -> Client:
    return Client(room)


# --- objects ----------------------------------------------------------------------------------------------------------


def test_an_object_makes_a_round_trip(call: Client) -> None:
    headers = {"content-type": "text/plain", "x-amz-meta-who": "ada"}
    assert call("PUT", "/open/a%20b/%C3%A9", b"hello", headers).headers["etag"] == f'"{HELLO}"'
    answer = call("GET", "/open/a%20b/%C3%A9")
    assert (answer.status, answer.body, answer.headers["content-length"]) == (200, b"hello", "5")
    assert (answer.headers["content-type"], answer.headers["x-amz-meta-who"]) == ("text/plain", "ada")
    assert answer.headers["last-modified"] == "Tue, 14 Nov 2023 22:13:20 GMT"


def test_head_has_the_length_and_no_body(call: Client) -> None:
    call("PUT", "/open/a", b"hello")
    answer = call("HEAD", "/open/a")
    assert (answer.status, answer.headers["content-length"], answer.body) == (200, "5", b"")


def test_a_range_and_its_headers(call: Client) -> None:
    call("PUT", "/open/a", b"0123456789")
    answer = call("GET", "/open/a", headers={"range": "bytes=2-4"})
    assert (answer.status, answer.body, answer.headers["content-range"]) == (206, b"234", "bytes 2-4/10")
    assert call("GET", "/open/a", headers={"range": "bytes=-3"}).body == b"789"
    assert call("GET", "/open/a", headers={"range": "bytes=90-"}).code == "InvalidRange"
    assert call("GET", "/open/a", headers={"range": "bytes=2-4", "if-range": '"other"'}).body == b"0123456789"


def test_conditions_of_reads(call: Client) -> None:
    call("PUT", "/open/a", b"hello")
    assert call("GET", "/open/a", headers={"if-none-match": f'"{HELLO}"'}).status == 304
    assert call("GET", "/open/a", headers={"if-match": '"other"'}).code == "PreconditionFailed"
    assert call("GET", "/open/a", headers={"if-match": f'"{HELLO}"'}).body == b"hello"
    assert call("GET", "/open/a", headers={"if-match": "unquoted"}).code == "InvalidArgument"


def test_conditions_of_writes(call: Client) -> None:
    assert call("PUT", "/open/a", b"1", {"if-none-match": "*"}).status == 200
    assert call("PUT", "/open/a", b"2", {"if-none-match": "*"}).code == "PreconditionFailed"
    assert call("GET", "/open/a").body == b"1"


def test_a_query_may_override_headers(call: Client) -> None:
    call("PUT", "/open/a", b"hello")
    assert call("GET", "/open/a?response-content-type=x%2Fy").headers["content-type"] == "x/y"


def test_no_header_of_an_answer_has_a_second_line(call: Client) -> None:
    call("PUT", "/open/a", b"hello")
    assert call("GET", "/open/a?response-content-type=x%0D%0Aset-cookie:y").headers["content-type"] == "x  set-cookie:y"


def test_a_missing_object(call: Client) -> None:
    assert (call("GET", "/open/none").status, call("GET", "/open/none").code) == (404, "NoSuchKey")
    assert call("DELETE", "/open/none").status == 204


def test_a_missing_bucket(call: Client) -> None:
    assert call("GET", "/none/a").code == "NoSuchBucket"


def test_a_copy_takes_the_metadata_along_or_new_ones(call: Client) -> None:
    call("PUT", "/open/a%20b", b"hello", {"x-amz-meta-who": "ada", "content-type": "text/plain"})
    answer = call("PUT", "/open/copy", headers={"x-amz-copy-source": quote("/open/a b")})
    assert answer.texts("ETag") == [f'"{HELLO}"']
    assert call("HEAD", "/open/copy").headers["x-amz-meta-who"] == "ada"
    source = {"x-amz-copy-source": "open/a%20b", "x-amz-metadata-directive": "REPLACE", "content-type": "a/b"}
    call("PUT", "/open/copy", headers=source)
    head = call("HEAD", "/open/copy").headers
    assert (head["content-type"], "x-amz-meta-who" in head) == ("a/b", False)


def test_a_copy_may_have_a_condition(call: Client) -> None:
    call("PUT", "/open/a", b"hello")
    source = {"x-amz-copy-source": "open/a", "x-amz-copy-source-if-match": '"other"'}
    assert call("PUT", "/open/copy", headers=source).code == "PreconditionFailed"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"content-md5": base64.b64encode(bytes(16)).decode()}, "BadDigest"),
        ({"content-md5": "?"}, "InvalidDigest"),
        ({"x-amz-content-sha256": "0" * 64}, "XAmzContentSHA256Mismatch"),
        ({"content-length": "9"}, "IncompleteBody"),
    ],
)
def test_a_body_that_is_not_what_was_announced_is_not_stored(call: Client, headers: dict[str, str], code: str) -> None:
    assert call("PUT", "/open/a", b"hello", headers).code == code
    assert call("GET", "/open/a").status == 404


def test_a_body_in_signed_chunks_is_unwrapped(call: Client) -> None:
    wrapped = b"5;chunk-signature=00\r\nhello\r\n6;chunk-signature=00\r\n world\r\n0;chunk-signature=00\r\n\r\n"
    headers = {
        "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
        "content-encoding": "aws-chunked,gzip",
        "x-amz-decoded-content-length": "11",
    }
    assert call("PUT", "/open/a", wrapped, headers).status == 200
    answer = call("GET", "/open/a")
    assert (answer.body, answer.headers["content-encoding"]) == (b"hello world", "gzip")


def test_a_body_in_chunks_that_ends_early_is_refused(call: Client) -> None:
    headers = {"x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}
    assert call("PUT", "/open/a", b"5\r\nhel", headers).code == "IncompleteBody"


# --- buckets ----------------------------------------------------------------------------------------------------------


def test_buckets_are_listed(call: Client) -> None:
    listed = call("GET", "/")
    assert (listed.texts("Name"), listed.texts("CreationDate")) == (["open"], ["1970-01-01T00:00:00.000Z"])
    assert call.signed("GET", "").texts("Name") == ["open", "shut"]


def test_a_bucket_is_there(call: Client) -> None:
    assert [call("HEAD", "/open").status, call("HEAD", "/none").status] == [200, 404]
    assert call("GET", "/open?location").xml.text == "auto"


def test_a_listing_pages_with_groups(call: Client) -> None:
    for key in ("a", "b%2B/1", "b%2B/2", "c"):
        call("PUT", f"/open/{key}", b"x")
    first = call("GET", "/open?list-type=2&delimiter=%2F&max-keys=2&encoding-type=url")
    assert (first.texts("Key"), first.xml.findtext("CommonPrefixes/Prefix")) == (["a"], "b%2B/")
    assert (first.xml.findtext("IsTruncated"), first.xml.findtext("KeyCount")) == ("true", "2")
    token = first.xml.findtext("NextContinuationToken")
    second = call("GET", "/open?" + urlencode({"list-type": "2", "delimiter": "/", "continuation-token": token or ""}))
    assert (second.texts("Key"), second.xml.findtext("IsTruncated")) == (["c"], "false")


def test_the_first_kind_of_listing_has_a_marker(call: Client) -> None:
    for key in "abc":
        call("PUT", f"/open/{key}", b"x")
    first = call("GET", "/open?max-keys=2")
    assert (first.texts("Key"), first.xml.findtext("NextMarker")) == (["a", "b"], "b")
    assert call("GET", "/open?marker=b").texts("Key") == ["c"]


def test_a_marker_may_be_a_group_which_is_not_told_again(call: Client) -> None:
    for key in ("a", "b/", "b/1", "b/2", "c"):
        call("PUT", f"/open/{key}", b"x")
    assert call("GET", "/open?max-keys=2&delimiter=/").xml.findtext("NextMarker") == "b/"
    assert call("GET", "/open?marker=b/&delimiter=/").texts("Key") == ["c"]
    assert call("GET", "/open?marker=b/&delimiter=/&prefix=b/").texts("Key") == ["b/1", "b/2"]


@pytest.mark.cloudflare("workers-sdk: packages/miniflare/src/workers/r2/s3")
def test_how_many_keys_may_be_asked_for(call: Client) -> None:
    call("PUT", "/open/a", b"x")
    for wanted, echoed, truncated in (("0", "0", "true"), ("1.9", "1", "false"), ("5000", "5000", "false")):
        page = call("GET", f"/open?max-keys={wanted}").xml
        assert (page.findtext("MaxKeys"), page.findtext("IsTruncated")) == (echoed, truncated)
    assert {call("GET", f"/open?max-keys={text}").code for text in ("", "x", "-1", "inf", "nan")} == {"InvalidMaxKeys"}


def test_many_objects_are_deleted_at_once(call: Client) -> None:
    for key in ("a", "b"):
        call("PUT", f"/open/{key}", b"x")
    body = b"<Delete><Object><Key>a</Key></Object><Object><Key>none</Key></Object></Delete>"
    assert call("POST", "/open?delete", body).texts("Key") == ["a", "none"]
    assert call("GET", "/open").texts("Key") == ["b"]
    for body in (
        b"<Delete>",
        b"<Delete/>",
        b"<Other><Object><Key>b</Key></Object></Other>",
        b"<Delete><Object/></Delete>",
    ):
        assert call("POST", "/open?delete", body).code == "MalformedXML"


@pytest.mark.cloudflare("workers-sdk: packages/miniflare/src/workers/r2/s3")
def test_a_quiet_deletion_tells_all_the_same(call: Client) -> None:
    body = "<Delete><Quiet>{}</Quiet><Object><Key>a</Key></Object></Delete>"
    assert call("POST", "/open?delete", body.format("true").encode()).texts("Key") == ["a"]
    assert call("POST", "/open?delete", body.format("yes").encode()).code == "MalformedXML"


def test_a_preflight_lets_the_headers_pass_that_it_asks_for(call: Client) -> None:
    answer = call("OPTIONS", "/open/a", headers={"access-control-request-headers": "authorization,x-amz-date"})
    assert (answer.status, answer.headers["access-control-allow-headers"]) == (204, "authorization,x-amz-date")


def test_the_source_of_a_copy_needs_a_key(call: Client) -> None:
    assert call("PUT", "/open/a", headers={"x-amz-copy-source": "open"}).code == "InvalidArgument"


@pytest.mark.parametrize(("method", "path"), [("GET", "/open?acl"), ("DELETE", "/open"), ("PUT", "/open/a?tagging")])
def test_what_r2_does_not_implement_is_refused(call: Client, method: str, path: str) -> None:
    answer = call(method, path)
    assert (answer.status, answer.code) == (501, "NotImplemented")


# --- multipart uploads ------------------------------------------------------------------------------------------------


def test_an_upload_of_parts(call: Client) -> None:
    headers = {"content-type": "a/b"}
    upload = call("POST", "/open/big?uploads", headers=headers).xml.findtext("UploadId")
    parts = [
        call("PUT", f"/open/big?partNumber={number}&uploadId={upload}", data).headers["etag"]
        for number, data in enumerate((b"x" * MIN_PART_BYTES, b"tail"), start=1)
    ]
    assert parts[1] == f'"{hashlib.md5(b"tail").hexdigest()}"'
    assert call("GET", "/open?uploads").texts("Key") == ["big"]
    assert call("GET", f"/open/big?uploadId={upload}").texts("Size") == [str(MIN_PART_BYTES), "4"]
    chosen = "".join(
        f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>" for number, etag in enumerate(parts, 1)
    )
    body = f"<CompleteMultipartUpload>{chosen}</CompleteMultipartUpload>".encode()
    assert call("POST", f"/open/big?uploadId={upload}", body).texts("ETag") == ['"a45f1422f2dbe3d2890829dd76adba1b-2"']
    head = call("HEAD", "/open/big").headers
    assert (head["content-length"], head["content-type"]) == (str(MIN_PART_BYTES + 4), "a/b")


def test_a_part_may_be_a_copy(call: Client) -> None:
    call("PUT", "/open/source", b"0123456789")
    upload = call("POST", "/open/big?uploads").xml.findtext("UploadId")
    source = {"x-amz-copy-source": "/open/source", "x-amz-copy-source-range": "bytes=2-4"}
    answer = call("PUT", f"/open/big?partNumber=1&uploadId={upload}", headers=source)
    assert answer.texts("ETag") == [f'"{hashlib.md5(b"234").hexdigest()}"']


def test_an_upload_can_be_aborted(call: Client) -> None:
    upload = call("POST", "/open/big?uploads").xml.findtext("UploadId")
    assert call("DELETE", f"/open/big?uploadId={upload}").status == 204
    assert call("PUT", f"/open/big?partNumber=1&uploadId={upload}", b"x").code == "NoSuchUpload"


def test_an_unknown_part_is_refused(call: Client) -> None:
    upload = call("POST", "/open/big?uploads").xml.findtext("UploadId")
    body = b"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>"
    assert call("POST", f"/open/big?uploadId={upload}", body).code == "InvalidPart"


# --- the public path --------------------------------------------------------------------------------------------------


def test_the_public_path_needs_no_signature(call: Client) -> None:
    call.signed("PUT", "/shut/a", b"0123456789")
    answer = call("GET", "/shut/a", headers={"range": "bytes=2-4"}, prefix=PUBLIC_PREFIX)
    assert (answer.status, answer.body, answer.headers["access-control-allow-origin"]) == (206, b"234", "*")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/open/none", 404), ("GET", "/none/a", 404), ("GET", "/open", 404), ("PUT", "/open/a", 401)],
)
def test_what_the_public_path_refuses(call: Client, method: str, path: str, status: int) -> None:
    assert call(method, path, prefix=PUBLIC_PREFIX).status == status


def test_credentials_need_both_parts(tmp_path: Path) -> None:
    from tests.support.rooms import faults

    section = {"binding": "B", "local_dev": {"experimental_s3_credentials": {"accessKeyId": "key"}}}
    found = faults(R2, Bench(tmp_path).config({"r2_buckets": [section]})).faults
    assert found[0].startswith("r2_buckets[0].local_dev.experimental_s3_credentials: bindings should have")
