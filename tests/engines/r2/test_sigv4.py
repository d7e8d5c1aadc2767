"""Signatures of S3 requests, in their header and in the URL."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pyflare.engines.r2.engine import R2, S3_PREFIX
from pyflare.engines.r2.sigv4 import ALGORITHM, signature
from tests.support.rooms import Bench
from tests.support.s3 import DATE, SCOPE, Client

YESTERDAY = "20231113/auto/s3/aws4_request"


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Client]:
    credentials = {"experimental_s3_credentials": {"accessKeyId": "key", "secretAccessKey": "secret"}}
    bucket = {"binding": "SHUT", "bucket_name": "shut", "local_dev": credentials}
    room = Bench(tmp_path).open(R2, {"r2_buckets": [bucket]})
    yield Client(room)
    room.close()


@pytest.mark.cloudflare("docs.aws.amazon.com, sig-v4-header-based-auth, the example of GET Object")
def test_the_example_of_the_documentation() -> None:
    empty = hashlib.sha256(b"").hexdigest()
    headers = {
        "host": "examplebucket.s3.amazonaws.com",
        "range": "bytes=0-9",
        "x-amz-content-sha256": empty,
        "x-amz-date": "20130524T000000Z",
    }
    made = signature(
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "GET",
        "/test.txt",
        [],
        headers,
        empty,
        "20130524T000000Z",
        "20130524/us-east-1/s3/aws4_request",
    )
    assert made == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"


def test_a_signed_request_is_let_in(call: Client) -> None:
    assert call.signed("PUT", "/shut/a", b"hello").status == 200
    assert call.signed("GET", "/shut/a?response-content-type=a%2Fb&x=").body == b"hello"


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"secret": "wrong"}, 403, "SignatureDoesNotMatch"),
        ({"key": "wrong"}, 401, "Unauthorized"),
        ({"date": "20231114T215819Z"}, 403, "RequestTimeTooSkewed"),
        ({"date": "yesterday"}, 400, "InvalidArgument"),
        ({"sent": "other"}, 400, "XAmzContentSHA256Mismatch"),
    ],
)
def test_another_signature_is_not(call: Client, changes: dict[str, str], status: int, code: str) -> None:
    answer = call.signed("PUT", "/shut/a", b"hello", **changes)
    assert (answer.status, answer.code) == (status, code)


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (None, "InvalidArgument"),
        ("Basic eDp5", "InvalidRequest"),
        (f"{ALGORITHM} Credential=key/{SCOPE}", "InvalidRequest"),
        (f"{ALGORITHM} Credential=key, SignedHeaders=host, Signature=0", "InvalidArgument"),
        (f"{ALGORITHM} Credential=key/2/auto/ec2/aws4_request, SignedHeaders=host, Signature=0", "InvalidArgument"),
    ],
)
def test_a_malformed_authorization_is_named(call: Client, header: str | None, code: str) -> None:
    headers = {"x-amz-date": DATE, "x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
    if header is not None:
        headers["authorization"] = header
    assert call("GET", "/shut/a", headers=headers).code == code


@pytest.mark.cloudflare("workers-sdk: packages/miniflare/src/workers/r2/s3/auth")
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"x-amz-content-sha256": None}, "Missing x-amz-content-sha256"),
        ({"x-amz-date": None}, "No date provided in x-amz-date nor date header"),
        ({"x-amz-date": "today"}, "Date provided in 'x-amz-date' header (today) didn't parse successfully"),
        ({"x-amz-date": None, "date": "now"}, "Date provided in 'date' header (now) didn't parse successfully"),
        ({"authorization": f"{ALGORITHM}Credential=key/{SCOPE}"}, f"Please use {ALGORITHM}"),
        (
            {"authorization": f"{ALGORITHM} Credential=key/{YESTERDAY}, SignedHeaders=host, Signature=0"},
            "Credential signed date 20231113 does not match 20231114 from 'x-amz-date' header",
        ),
        ({"authorization": f"{ALGORITHM} Credential=key/{SCOPE}, SignedHeaders=date, Signature=0"}, "Unauthorized"),
    ],
)
def test_what_is_missing_of_a_signature_is_named(call: Client, changes: dict[str, str | None], told: str) -> None:
    headers: dict[str, str | None] = {
        "x-amz-date": DATE,
        "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
        "authorization": f"{ALGORITHM} Credential=key/{SCOPE}, SignedHeaders=host, Signature=0",
        **changes,
    }
    answer = call("GET", "/shut/a", headers={name: value for name, value in headers.items() if value is not None})
    assert answer.xml.findtext("Message") == told


def presigned(path: str, changes: Mapping[str, str | None] | None = None, date: str = DATE) -> str:
    given = {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": f"key/{SCOPE}",
        "X-Amz-Date": date,
        "X-Amz-Expires": "60",
        "X-Amz-SignedHeaders": "host",
        **{f"X-Amz-{name}": value for name, value in (changes or {}).items()},
    }
    query = {name: value for name, value in given.items() if value is not None}
    headers = {"host": "localhost:8787"}
    made = signature("secret", "GET", S3_PREFIX + path, list(query.items()), headers, "UNSIGNED-PAYLOAD", date, SCOPE)
    return f"{path}?{urlencode({**query, 'X-Amz-Signature': made})}"


def test_a_presigned_url_opens_until_it_expires(call: Client) -> None:
    call.signed("PUT", "/shut/a", b"hello")
    url = presigned("/shut/a")
    assert call("GET", url).body == b"hello"
    assert call("GET", url.replace("/shut/a", "/shut/b")).code == "SignatureDoesNotMatch"
    expired = call("GET", presigned("/shut/a", date="20231114T221200Z"))
    assert (expired.status, expired.code) == (403, "ExpiredRequest")


@pytest.mark.cloudflare("workers-sdk: packages/miniflare/src/workers/r2/s3/auth")
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"Expires": None}, "Required search parameter X-Amz-Expires missing"),
        ({"Expires": None, "Date": None}, "Required search parameters X-Amz-Date,  X-Amz-Expires missing"),
        ({"Expires": "soon"}, "X-Amz-Expires should be a number"),
        ({"Expires": ""}, "X-Amz-Expires should be a number"),
        ({"Expires": "0"}, "Request has expired"),
        (
            {"Expires": "604801"},
            "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than "
            "604800 seconds",
        ),
        ({"Algorithm": "none"}, f"Please use {ALGORITHM}"),
        ({"Date": "today"}, "Date provided in X-Amz-Date (today) didn't parse successfully"),
        ({"Credential": f"other/{SCOPE}", "Expires": "0"}, "Unauthorized"),
    ],
)
def test_what_is_wrong_with_a_presigned_url_is_named(call: Client, changes: dict[str, str | None], told: str) -> None:
    assert call("GET", presigned("/shut/a", changes)).xml.findtext("Message") == told
