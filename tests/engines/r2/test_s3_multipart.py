"""Uploads of parts over S3: what is listed of them, how they end, and how parts are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import pytest

from pyflare.engines.r2.config import MIN_PART_BYTES
from pyflare.engines.r2.engine import R2
from tests.support.rooms import Bench
from tests.support.s3 import Answer, Client

SDK = "workers-sdk: packages/miniflare/src/workers/r2/s3"
PARTS = b"x" * MIN_PART_BYTES, b"tail"


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Client]:
    room = Bench(tmp_path).open(R2, {"r2_buckets": [{"binding": "OPEN", "bucket_name": "open"}]})
    yield Client(room)
    room.close()


def begin(call: Client, key: str = "big") -> str:
    return call("POST", f"/open/{key}?uploads").xml.findtext("UploadId") or ""


def upload(call: Client, parts: Sequence[bytes]) -> tuple[str, list[tuple[str, str]]]:
    """Id of an upload with these parts, and their numbers and etags."""
    upload_id = begin(call)
    path = f"/open/big?uploadId={upload_id}&partNumber="
    etags = [call("PUT", f"{path}{number}", data).headers["etag"] for number, data in enumerate(parts, 1)]
    return upload_id, [(str(number), etag) for number, etag in enumerate(etags, 1)]


def complete(call: Client, upload_id: str, parts: Sequence[tuple[str, str]]) -> Answer:
    shown = "".join(f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>" for number, etag in parts)
    body = f"<CompleteMultipartUpload>{shown}</CompleteMultipartUpload>"
    return call("POST", f"/open/big?uploadId={upload_id}", body.encode())


# --- reading parts ----------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("r2/api/s3/api")
def test_a_part_of_an_object_is_read_by_its_number(call: Client) -> None:
    complete(call, *upload(call, PARTS))
    answer = call("GET", "/open/big?partNumber=2")
    assert (answer.status, answer.body, answer.headers["x-amz-mp-parts-count"]) == (206, b"tail", "2")
    end = MIN_PART_BYTES + 4
    assert answer.headers["content-range"] == f"bytes {MIN_PART_BYTES}-{end - 1}/{end}"
    assert call("HEAD", "/open/big?partNumber=1").headers["content-length"] == str(MIN_PART_BYTES)


def test_a_plain_object_is_one_part(call: Client) -> None:
    call("PUT", "/open/a", b"hello")
    answer = call("GET", "/open/a?partNumber=1")
    assert (answer.status, answer.body, "x-amz-mp-parts-count" in answer.headers) == (206, b"hello", False)
    call("PUT", "/open/empty")
    assert call("GET", "/open/empty?partNumber=1").status == 200


@pytest.mark.parametrize(
    ("number", "code"), [("2", "InvalidPartNumber"), ("0", "InvalidArgument"), ("x", "InvalidArgument")]
)
def test_a_part_that_is_not_there(call: Client, number: str, code: str) -> None:
    call("PUT", "/open/a", b"hello")
    assert call("GET", f"/open/a?partNumber={number}").code == code


def test_a_part_has_no_range(call: Client) -> None:
    call("PUT", "/open/a", b"hello")
    assert call("GET", "/open/a?partNumber=1", headers={"range": "bytes=0-1"}).code == "InvalidArgument"


# --- the end of an upload ---------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("github.com/apache/opendal/issues/2904")
@pytest.mark.parametrize("sizes", [(0, 1, 0), (0, 1)])
def test_parts_of_several_lengths_are_refused_in_r2s_words(call: Client, sizes: tuple[int, ...]) -> None:
    answer = complete(call, *upload(call, [b"x" * (MIN_PART_BYTES + more) for more in sizes]))
    assert (answer.status, answer.code) == (400, "InvalidPart")
    assert answer.xml.findtext("Message") == "All non-trailing parts must have the same length."


@pytest.mark.cloudflare(SDK)
def test_a_part_that_is_named_twice_is_a_problem(call: Client) -> None:
    upload_id, parts = upload(call, PARTS)
    answer = complete(call, upload_id, [*parts, parts[0]])
    assert (answer.code, answer.xml.findtext("Message")) == (
        "InvalidPart",
        "There was a problem with the multipart upload.",
    )


@pytest.mark.cloudflare(SDK)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("<Part><PartNumber>10001</PartNumber><ETag>x</ETag></Part>", "InvalidPart"),
        ("<Part><PartNumber>one</PartNumber><ETag>x</ETag></Part>", "MalformedXML"),
        ("<Part><PartNumber>1</PartNumber></Part>", "MalformedXML"),
        ("", "MalformedXML"),
    ],
)
def test_what_names_no_part_is_refused(call: Client, body: str, code: str) -> None:
    target = f"/open/big?uploadId={begin(call)}"
    document = f"<CompleteMultipartUpload>{body}</CompleteMultipartUpload>"
    assert call("POST", target, document.encode()).code == code
    assert call("POST", target, b"<Other/>").code == "MalformedXML"


def test_the_answer_tells_where_the_object_is(call: Client) -> None:
    location = complete(call, *upload(call, [b"x"])).xml.findtext("Location")
    assert location == "http://localhost:8787/cdn-cgi/local/r2/s3/open/big"


@pytest.mark.cloudflare("r2/platform/changelog, 2022-05-27")
def test_an_upload_may_begin_under_a_condition(call: Client) -> None:
    call("PUT", "/open/big", b"hello")
    condition = {"if-none-match": "*"}
    assert call("POST", "/open/big?uploads", headers=condition).code == "PreconditionFailed"
    assert call("POST", "/open/other?uploads", headers=condition).status == 200


@pytest.mark.cloudflare(SDK)
def test_a_copied_part_must_lie_in_its_source(call: Client) -> None:
    call("PUT", "/open/source", b"0123456789")
    target = f"/open/big?partNumber=1&uploadId={begin(call)}"
    source = {"x-amz-copy-source": "/open/source", "x-amz-copy-source-range": "bytes=10-12"}
    assert call("PUT", target, headers=source).code == "InvalidRange"


# --- listings ---------------------------------------------------------------------------------------------------------


@pytest.mark.cloudflare("r2/api/s3/api")
def test_parts_are_listed_in_pages(call: Client) -> None:
    upload_id, _ = upload(call, [b"a", b"bb", b"ccc"])
    first = call("GET", f"/open/big?uploadId={upload_id}&max-parts=2")
    assert (first.texts("PartNumber"), first.xml.findtext("IsTruncated")) == (["1", "2"], "true")
    marker = first.xml.findtext("NextPartNumberMarker")
    rest = call("GET", f"/open/big?uploadId={upload_id}&part-number-marker={marker}")
    assert (rest.texts("PartNumber"), rest.xml.findtext("IsTruncated")) == (["3"], "false")


def pages(call: Client, query: str) -> list[str]:
    """Keys and groups of all pages of one."""
    found: list[str] = []
    markers = ""
    while True:
        page = call("GET", f"/open?uploads&max-uploads=1{query}{markers}").xml
        found += [shown.text or "" for shown in (*page.iter("Key"), *page.iterfind("CommonPrefixes/Prefix"))]
        if page.findtext("IsTruncated") == "false":
            return found
        last, upload_id = quote(page.findtext("NextKeyMarker") or ""), page.findtext("NextUploadIdMarker")
        markers = f"&key-marker={last}" + (f"&upload-id-marker={upload_id}" if upload_id else "")


@pytest.mark.cloudflare("r2/api/s3/api")
def test_uploads_are_listed_in_pages_and_groups(call: Client) -> None:
    for key in ("a/b", "a/b", "a/c/1", "a/c/2", "a/d", "e"):
        begin(call, key)
    assert pages(call, "") == ["a/b", "a/b", "a/c/1", "a/c/2", "a/d", "e"]
    assert pages(call, "&prefix=a/&delimiter=/") == ["a/b", "a/b", "a/c/", "a/d"]
    assert call("GET", "/open?uploads&key-marker=a/b").texts("Key") == ["a/c/1", "a/c/2", "a/d", "e"]
    assert call("GET", "/open?uploads&max-uploads=x").code == "InvalidArgument"
