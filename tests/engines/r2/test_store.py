"""The rows of a bucket."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyflare.engines.r2.config import MIN_PART_BYTES
from pyflare.engines.r2.faults import R2Fault
from pyflare.engines.r2.store import ObjectRow, ObjectStore, Part
from pyflare.storage.blobs import BlobStore


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    store = ObjectStore(":memory:")
    yield store
    store.close()


def put(store: ObjectStore, key: str) -> None:
    store.put(ObjectRow(key, f"blob of {key}", "v", 1, "e", 0))


def upload(store: ObjectStore, key: str, sizes: list[int], upload_id: str = "u") -> list[Part]:
    """Begin an upload and send parts of these sizes; the MD5 of a part is that of its number."""
    store.create_upload(upload_id, key, "{}", "{}")
    parts = [
        Part(number, f"{upload_id}-{number}", size, f"etag-{number}", hashlib.md5(b"%d" % number).hexdigest())
        for number, size in enumerate(sizes, start=1)
    ]
    for part in parts:
        store.put_part(upload_id, key, part)
    return parts


def test_an_object_that_takes_the_place_of_another_gives_its_blob_back(store: ObjectStore) -> None:
    put(store, "a")
    assert store.put(ObjectRow("a", "newer", "v", 1, "e", 0)) == ["blob of a"]


def test_the_parts_of_an_object_go_with_it(store: ObjectStore) -> None:
    [part] = upload(store, "a", [3])
    store.complete("u", "a", [(1, part.etag)], "v", 0)
    assert store.segments(ObjectRow("a", None, "v", 3, "e", 0)) == [("u-1", 3)]
    assert store.delete(["a"]) == ["u-1"]
    assert store.database.value("SELECT count(*) FROM _mf_multipart_parts") == 0


def test_a_finished_upload_takes_nothing_more(store: ObjectStore) -> None:
    [part] = upload(store, "a", [3])
    store.complete("u", "a", [(1, part.etag)], "v", 0)
    with pytest.raises(R2Fault, match="10024"):
        store.put_part("u", "a", part)
    with pytest.raises(R2Fault, match="10024"):
        store.complete("u", "a", [(1, part.etag)], "v", 0)


def test_an_upload_belongs_to_its_key(store: ObjectStore) -> None:
    upload(store, "a", [3])
    with pytest.raises(R2Fault, match="10024"):
        store.upload_metadata("u", "b")


def test_a_failed_completion_changes_nothing(store: ObjectStore) -> None:
    put(store, "a")
    parts = upload(store, "a", [1, 1])
    with pytest.raises(R2Fault, match="10011"):
        store.complete("u", "a", [(part.number, part.etag) for part in parts], "v", 0)
    assert len(store.parts("u", "a")) == 2
    row = store.get("a")
    assert row is not None and row.blob_id == "blob of a"


def test_unfinished_uploads_are_listed(store: ObjectStore) -> None:
    upload(store, "a/1", [1], "u1")
    upload(store, "b/1", [1], "u2")
    assert store.uploads("a/") == [("u1", "a/1")]


SIZES = st.sampled_from([1, MIN_PART_BYTES - 1, MIN_PART_BYTES, MIN_PART_BYTES + 1])


@given(st.lists(SIZES, min_size=1, max_size=5), st.data())
def test_an_upload_is_completed_exactly_when_its_parts_fit(sizes: list[int], data: st.DataObject) -> None:
    store = ObjectStore(":memory:")
    parts = upload(store, "k", sizes)
    chosen = data.draw(st.lists(st.sampled_from(parts), unique=True))
    ordered = sorted(chosen, key=lambda part: part.number)
    fits = bool(chosen) and all(part.size >= MIN_PART_BYTES and part.size == ordered[0].size for part in ordered[:-1])
    fits = fits and ordered[-1].size <= ordered[0].size
    fits = fits and all(part.size >= MIN_PART_BYTES for part in chosen[:-1])
    try:
        row, dropped = store.complete("u", "k", [(part.number, part.etag) for part in chosen], "v", 7)
    except R2Fault:
        assert not fits
        assert store.get("k") is None
    else:
        assert fits
        digest = hashlib.md5(b"".join(bytes.fromhex(part.md5) for part in ordered)).hexdigest()
        assert (row.size, row.etag) == (sum(part.size for part in chosen), f"{digest}-{len(chosen)}")
        assert store.segments(row) == [(part.blob_id, part.size) for part in ordered]
        assert sorted(dropped) == sorted(part.blob_id for part in parts if part not in chosen)
    store.close()


KEYS = st.text(st.sampled_from("ab/é😀"), max_size=5).filter(bool)


@given(
    st.sets(KEYS, max_size=20),
    st.text(st.sampled_from("ab/"), max_size=2),
    st.sampled_from(["", "/", "a", "b/"]),
    st.integers(1, 5),
)
def test_paging_with_a_delimiter_is_like_grouping_a_sorted_list(
    keys: set[str], prefix: str, delimiter: str, limit: int
) -> None:
    store = ObjectStore(":memory:")
    for key in keys:
        put(store, key)
    expected: list[str] = []
    for key in sorted((key for key in keys if key.startswith(prefix)), key=str.encode):
        at = key.find(delimiter, len(prefix)) if delimiter else -1
        shown = key if at < 0 else key[: at + len(delimiter)] + "*"
        if shown not in expected:
            expected.append(shown)
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = store.list(prefix, delimiter, after, limit)
        shown_page = [row.key for row in page.objects] + [group + "*" for group in page.prefixes]
        assert len(shown_page) <= limit
        found += shown_page
        after = page.last
    assert sorted(found) == sorted(expected)
    assert len(found) == len(set(found))
    store.close()


WRITER = """
import sys, itertools
from pathlib import Path
from pyflare.engines.r2.bucket import Bucket, PutOptions
from pyflare.engines.r2.store import ObjectStore
from pyflare.storage.blobs import BlobStore
folder = Path(sys.argv[1])
bucket = Bucket(ObjectStore(folder / "r2.sqlite"), BlobStore(folder / "blobs"), lambda: 100.0, print)
part = bytes(5 * 1024 * 1024)
for number in itertools.count():
    bucket.put("plain", b"%d" % number * 1000, PutOptions())
    upload = bucket.create_upload("parts", PutOptions())
    one = bucket.put_part("parts", upload, 1, part)
    two = bucket.put_part("parts", upload, 2, b"%d" % number)
    bucket.complete("parts", upload, [(1, one.etag), (2, two.etag)])
    if number == 1:
        print("writing", flush=True)
"""


@pytest.mark.parametrize("delay", [0.0, 0.011, 0.023])
def test_a_killed_writer_leaves_all_of_an_object_or_nothing(tmp_path: Path, delay: float) -> None:
    (tmp_path / "blobs").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "src"}
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    store, blobs = ObjectStore(tmp_path / "r2.sqlite"), BlobStore(tmp_path / "blobs")
    for key in ("plain", "parts"):
        row = store.get(key)
        assert row is not None
        pieces = [blobs.read(blob_id) for blob_id, _ in store.segments(row)]
        digests = [hashlib.md5(piece or b"gone") for piece in pieces]
        joined = hashlib.md5(b"".join(digest.digest() for digest in digests)).hexdigest()
        assert row.etag == (digests[0].hexdigest() if key == "plain" else f"{joined}-2")
    store.close()
