"""What R2 adds to S3: metadata beyond ASCII, conditions of writes, merged metadata, pages of buckets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyflare.engines.r2.engine import R2
from tests.support.rooms import Bench, js, settle
from tests.support.s3 import Client

pytestmark = pytest.mark.cloudflare("r2/api/s3/extensions")

LATER, EARLIER = "Sat, 01 Jan 2050 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:00 GMT"
NAMES = "able", "baker", "bravo"


@pytest.fixture
def room(tmp_path: Path) -> Iterator[R2]:
    buckets = [{"binding": name.upper(), "bucket_name": name} for name in reversed(NAMES)]
    room = Bench(tmp_path).open(R2, {"r2_buckets": buckets})
    yield room
    room.close()


@pytest.fixture
def call(room: R2) -> Client:
    return Client(room)


# --- metadata ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent", ["=?UTF-8?B?w6nimIM=?=", "=?utf-8?Q?=C3=A9=E2=98=83?=", "=?utf-8?B?w6k=?= =?utf-8?B?4piD?="]
)
def test_metadata_are_decoded_as_rfc_2047_has_it(call: Client, room: R2, sent: str) -> None:
    call("PUT", "/able/a", b"x", {"x-amz-meta-who": sent})
    assert settle(room.bindings("w")["ABLE"].head("a")).customMetadata.who == "é☃"


@pytest.mark.parametrize("sent", ["=?x", "=?none?B?w6k=?=", "=?utf-8?B?/w==?="])
def test_what_only_looks_encoded_stays(call: Client, sent: str) -> None:
    call("PUT", "/able/a", b"x", {"x-amz-meta-who": sent})
    assert call("HEAD", "/able/a").headers["x-amz-meta-who"] == sent


def test_metadata_beyond_ascii_are_encoded_and_such_names_counted(call: Client, room: R2) -> None:
    settle(room.bindings("w")["ABLE"].put("a", "x", customMetadata=js({"Who": "é☃", "é": "1", "n": "", "a b": "2"})))
    headers = call("HEAD", "/able/a").headers
    assert headers["x-amz-meta-who"] == "=?utf-8?b?w6nimIM=?="
    assert (headers["x-amz-meta-n"], headers["x-amz-missing-meta"]) == ("", "2")


def test_a_copy_may_merge_metadata(call: Client) -> None:
    call(
        "PUT", "/able/a", b"x", {"x-amz-meta-a": "1", "x-amz-meta-b": "1", "cache-control": "c", "content-type": "a/b"}
    )
    merged = {"x-amz-copy-source": "/able/a", "x-amz-metadata-directive": "MERGE", "x-amz-meta-b": "2"}
    call("PUT", "/able/b", headers={**merged, "content-type": "d/e"})
    headers = call("HEAD", "/able/b").headers
    assert (headers["x-amz-meta-a"], headers["x-amz-meta-b"]) == ("1", "2")
    assert (headers["content-type"], headers["cache-control"]) == ("d/e", "c")


# --- conditions of writes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("if-none-match", "*", 412),
        ("if-match", '"other"', 412),
        ("if-unmodified-since", EARLIER, 412),
        ("if-unmodified-since", LATER, 200),
        ("if-modified-since", LATER, 412),
        ("if-modified-since", EARLIER, 200),
    ],
)
def test_a_write_has_conditions_on_what_was_there(call: Client, name: str, value: str, status: int) -> None:
    call("PUT", "/able/a", b"x")
    assert call("PUT", "/able/a", b"y", {name: value}).status == status
    copy = {"x-amz-copy-source": "/able/a", f"cf-copy-destination-{name}": value}
    assert call("PUT", "/able/a", headers=copy).status == status


# --- buckets ----------------------------------------------------------------------------------------------------------


def test_buckets_are_listed_in_pages(call: Client) -> None:
    first = call("GET", "/?max-keys=2")
    assert (first.texts("Name"), first.xml.findtext("KeyCount")) == (["able", "baker"], "2")
    token = first.headers["cf-next-continuation-token"]
    assert (first.headers["cf-is-truncated"], first.xml.findtext("NextContinuationToken")) == ("true", token)
    rest = call("GET", f"/?continuation-token={token}")
    assert (rest.texts("Name"), rest.xml.findtext("IsTruncated"), "cf-is-truncated" in rest.headers) == (
        ["bravo"],
        "false",
        False,
    )


def test_buckets_are_chosen_by_prefix_and_a_header_takes_precedence(call: Client) -> None:
    assert call("GET", "/?prefix=b").texts("Name") == ["baker", "bravo"]
    assert call("GET", "/?prefix=b&start-after=baker").texts("Name") == ["bravo"]
    assert call("GET", "/?prefix=b", headers={"cf-prefix": "a"}).texts("Name") == ["able"]
    assert call("GET", "/?max-keys=0").code == "InvalidMaxKeys"
    assert call("GET", "/?delimiter=a").status == 501
