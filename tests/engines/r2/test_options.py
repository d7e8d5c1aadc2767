"""What the runtime makes of arguments and options: what it refuses, ignores and converts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from pyflare.engines.r2.engine import R2
from pyflare.interop.dates import JsDate
from pyflare.interop.errors import JsException
from pyflare.interop.proxy import jsnull
from pyflare.interop.web.headers import Headers
from pyflare.interop.web.readable import ReadableStream
from pyflare.interop.web.response import Response
from tests.support.rooms import Bench, js, refusal, settle

pytestmark = pytest.mark.cloudflare("workerd, as miniflare runs it")

VALUE = "JsReadableStream or ArrayBuffer or ArrayBufferView or string or Blob"
NO_DATE = "The value cannot be converted because it is not a valid Date."


@pytest.fixture
def bucket(bench: Bench) -> Iterator[Any]:
    room = bench.open(R2, {"r2_buckets": [{"binding": "BUCKET", "bucket_name": "files"}]})
    yield room.bindings("w")["BUCKET"]
    room.close()


@pytest.fixture
def upload(bucket: Any) -> Any:
    return settle(bucket.createMultipartUpload("k"))


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "arguments", "number", "kind"),
    [
        ("head", (), 1, "string"),
        ("get", (), 1, "string"),
        ("get", ("k", 5), 2, "GetOptions"),
        ("put", (), 1, "string"),
        ("put", ("k",), 2, VALUE),
        ("put", ("k", "v", "x"), 3, "PutOptions"),
        ("delete", (), 1, "string or Array"),
        ("list", ("prefix",), 1, "ListOptions"),
        ("createMultipartUpload", (), 1, "string"),
        ("createMultipartUpload", ("k", True), 2, "MultipartOptions"),
    ],
)
def test_a_missing_argument_and_one_of_another_type_are_refused(
    bucket: Any, method: str, arguments: tuple[Any, ...], number: int, kind: str
) -> None:
    assert refusal(getattr(bucket, method)(*arguments)) == (
        f"TypeError: Failed to execute '{method}' on 'R2Bucket': parameter {number} is not of type '{kind}'."
    )


@pytest.mark.parametrize("arguments", [(), ("k",)])
def test_resuming_without_an_id_raises_at_once(bucket: Any, arguments: tuple[str, ...]) -> None:
    with pytest.raises(JsException, match=f"parameter {len(arguments) + 1} is not of type 'string'"):
        bucket.resumeMultipartUpload(*arguments)


@pytest.mark.parametrize(
    ("arguments", "number", "kind"),
    [((), 1, "integer"), ((1,), 2, VALUE), ((1, jsnull), 2, VALUE), ((1, "x", 5), 3, "UploadPartOptions")],
)
def test_a_part_needs_a_number_and_a_value(upload: Any, arguments: tuple[Any, ...], number: int, kind: str) -> None:
    assert refusal(upload.uploadPart(*arguments)) == (
        f"TypeError: Failed to execute 'uploadPart' on 'R2MultipartUpload': parameter {number} is not of type '{kind}'."
    )


@pytest.mark.parametrize("part", ["x", 5, True])
def test_completing_takes_objects(upload: Any, part: Any) -> None:
    assert refusal(upload.complete(js([part]))) == (
        "TypeError: Incorrect type for array element 0: the provided value is not of type 'UploadedPart'."
    )


def test_completing_names_the_runtimes_type_when_a_part_is_none(upload: Any) -> None:
    assert "UploadedPartE with required members from an undefined or null value." in refusal(
        upload.complete(js([jsnull]))
    )


def test_arguments_too_many_are_ignored(bucket: Any) -> None:
    settle(bucket.put("k", "v", jsnull, "more"))
    assert settle(bucket.head("k", "more")).key == "k"


def test_a_stream_in_use_is_refused_as_locked(bucket: Any) -> None:
    body = Response.new("hello").body
    body.getReader()
    assert refusal(bucket.put("k", body)) == "TypeError: The ReadableStream has been locked to a reader."


# --- fields -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["prefix", "delimiter", "startAfter", "cursor"])
@pytest.mark.parametrize("value", [jsnull, 5, True, js(["a"])])
def test_texts_of_a_listing_are_not_converted_and_null_is_none(bucket: Any, name: str, value: Any) -> None:
    assert refusal(bucket.list(**{name: value})) == (
        f"TypeError: Incorrect type for the '{name}' field on 'ListOptions': the provided value is not of type "
        "'string'."
    )


@pytest.mark.parametrize(
    ("include", "message"),
    [
        (jsnull, "TypeError: Incorrect type for the 'include' field on 'ListOptions': the provided value is not of "
         "type 'Array'."),
        ("httpMetadata", "TypeError: Incorrect type for the 'include' field on 'ListOptions': the provided value is "
         "not of type 'Array'."),
        (js([5]), "TypeError: Incorrect type for array element 0: the provided value is not of type 'string'."),
        (js(["x"]), "RangeError: Unsupported include value x"),
    ],
)  # fmt: skip
def test_what_a_listing_includes_is_an_array_of_names(bucket: Any, include: Any, message: str) -> None:
    assert refusal(bucket.list(include=include)) == message


@pytest.mark.parametrize(
    ("method", "name", "kind", "wanted"),
    [
        ("get", "onlyIf", "GetOptions", "Conditional or Headers"),
        ("get", "range", "GetOptions", "Range or Headers"),
        ("put", "onlyIf", "PutOptions", "Conditional or Headers"),
        ("put", "httpMetadata", "PutOptions", "HttpMetadata or Headers"),
        ("put", "customMetadata", "PutOptions", "object"),
        ("put", "md5", "PutOptions", "BufferSource or string"),
        ("createMultipartUpload", "httpMetadata", "MultipartOptions", "HttpMetadata or Headers"),
        ("createMultipartUpload", "customMetadata", "MultipartOptions", "object"),
    ],
)
def test_a_field_of_another_type_is_refused(bucket: Any, method: str, name: str, kind: str, wanted: str) -> None:
    arguments = ("k", "v") if method == "put" else ("k",)
    assert refusal(getattr(bucket, method)(*arguments, js({name: 5}))) == (
        f"TypeError: Incorrect type for the '{name}' field on '{kind}': the provided value is not of type '{wanted}'."
    )


def test_an_upload_knows_neither_conditions_nor_checksums(bucket: Any) -> None:
    assert settle(bucket.createMultipartUpload("k", md5="short", onlyIf=5)).key == "k"


def test_the_first_checksum_is_read_before_a_second_one_is_refused(bucket: Any) -> None:
    assert refusal(bucket.put("k", "v", md5="short", sha1="0" * 40)) == "TypeError: MD5 is 32 hex characters, not 5"


# --- metadata ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "fits"), [("é" * 2047, True), ("☃" * 1023, True), ("☃" * 1024, False)])
def test_metadata_count_as_latin_1_or_utf_16(bucket: Any, value: str, fits: bool) -> None:
    stored = bucket.put("k", "v", customMetadata=js({"a": value}))
    if fits:
        assert settle(stored).customMetadata.a == value
    else:
        assert "metadata size. (10012)" in refusal(stored)


@pytest.mark.parametrize(("expires", "milliseconds"), [("2030-01-02T03:04:05Z", 1893553445000), ("never", 0), ("", 0)])
def test_an_expiry_in_headers_is_what_date_makes_of_it(bucket: Any, expires: str, milliseconds: int) -> None:
    stored = settle(bucket.put("k", "v", httpMetadata=Headers.make([("Expires", expires)])))
    assert stored.httpMetadata.cacheExpiry.getTime() == milliseconds


@pytest.mark.parametrize(
    ("moment", "message"),
    [
        (JsDate.make(math.nan), NO_DATE),
        (math.inf, NO_DATE),
        (9_223_372_036_855, "This API doesn't support dates after 2189."),
        (-9_223_372_036_855, "This API doesn't support dates before 1687."),
    ],
)
def test_times_that_the_runtime_cannot_keep_are_refused(bucket: Any, moment: Any, message: str) -> None:
    assert refusal(bucket.put("k", "v", httpMetadata=js({"cacheExpiry": moment}))) == f"TypeError: {message}"
    assert refusal(bucket.get("k", onlyIf=js({"uploadedBefore": moment}))) == f"TypeError: {message}"


# --- conditions and ranges --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("etag", [jsnull, 5, js(["a"])])
def test_an_etag_is_a_text(bucket: Any, etag: Any) -> None:
    assert refusal(bucket.get("k", onlyIf=js({"etagMatches": etag}))) == (
        "TypeError: Incorrect type for the 'etagMatches' field on 'Conditional': the provided value is not of type "
        "'string'."
    )


def test_any_object_is_true(bucket: Any, bench: Bench) -> None:
    bench.clock.set(1_700_000_000.5)
    settle(bucket.put("k", "v"))
    later = {"uploadedBefore": JsDate.make(1_700_000_000_501.0)}
    assert hasattr(settle(bucket.get("k", onlyIf=js(later))), "body")
    assert not hasattr(settle(bucket.get("k", onlyIf=js({**later, "secondsGranularity": []}))), "body")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (
            '"a" "b"',
            "Comma was expected to separate etags. Encountered a double quote character '\"' instead. This would "
            "otherwise indicate the start of a new strong etag.",
        ),
        ('"a"b', "Comma was expected to separate etags. Encountered 'b' instead."),
    ],
)
def test_etags_of_a_header_are_parted_by_commas(bucket: Any, header: str, message: str) -> None:
    assert refusal(bucket.get("k", onlyIf=Headers.make([("If-Match", header)]))) == f"Error: {message}"


def test_an_etag_of_a_header_may_hold_an_escaped_quote(bucket: Any) -> None:
    assert settle(bucket.get("k", onlyIf=Headers.make([("If-Match", r'"\"x"')]))) is jsnull


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"offset": math.nan}, "Invalid range. Starting offset (nan) must be greater than or equal to 0."),
        ({"suffix": -math.inf}, "Invalid suffix. Suffix (-inf) must be greater than or equal to 0."),
    ],
)
def test_a_range_of_no_number_is_refused(bucket: Any, wanted: dict[str, float], message: str) -> None:
    assert refusal(bucket.get("k", range=js(wanted))) == f"RangeError: {message}"


def test_an_endless_range_ends_with_the_object(bucket: Any) -> None:
    settle(bucket.put("k", "hello"))
    assert settle(settle(bucket.get("k", range=js({"length": math.inf}))).text()) == "hello"


def test_no_range_of_an_empty_object_can_be_satisfied(bucket: Any) -> None:
    settle(bucket.put("k", ""))
    assert refusal(bucket.get("k", range=js({}))) == "Error: get: The requested range is not satisfiable (10039)"


def test_a_stream_without_a_length_is_refused_for_that_even_when_it_is_locked(bucket: Any) -> None:
    body = ReadableStream.of_bytes(b"hello")
    body._length = None
    body.getReader()
    assert "must have a known length" in refusal(bucket.put("k", body))
