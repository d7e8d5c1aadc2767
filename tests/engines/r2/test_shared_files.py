"""A bucket as wrangler's local mode leaves it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pyflare.engines.r2.engine import R2
from pyflare.engines.r2.store import SCHEMA
from tests.support.rooms import Bench, js, settle

# What wrangler calls the file of the bucket "sample-bucket" (parity/state-sample).
FILE = "r2/miniflare-R2BucketObject/87c3ce2135ed7c4a18303a4ba8f62d709ab570646b5fa6adcd858d1d7fd3f91d.sqlite"
SECTIONS = {"r2_buckets": [{"binding": "BUCKET", "bucket_name": "sample-bucket"}]}
ROWS = """
INSERT INTO _mf_objects VALUES ('small.txt', 'blob-1', '0307b73bfb21ff8e29d25e5c394c3c43', 5,
  'eb5c1399a871211c7e7ed732d15e3a8b', 1795962337453, '{}', '{"contentType":"text/plain"}', '{"k":"v"}');
INSERT INTO _mf_objects VALUES ('parts.txt', NULL, '51730f846e877650c77d9c40ef5657b0', 8,
  '496e3d87d1723822c46f1ffe2e15c1a6-1', 1795962337497, '{}', '{}', '{}');
INSERT INTO _mf_multipart_uploads VALUES ('done', 'parts.txt', '{}', '{}', 1), ('open', 'more.txt', '{}', '{}', 0);
INSERT INTO _mf_multipart_parts VALUES
  ('done', 1, 'blob-2', 8, 'etag-1', 'abcdf51414383cb4ddb47c092f585c46', 'parts.txt'),
  ('open', 1, 'blob-3', 7, 'etag-2', 'cb05cab65afefab8fd3831d92cfc68be', NULL);
"""


def wrangler_folder(root: Path) -> Path:
    file = root / FILE
    file.parent.mkdir(parents=True)
    blobs = root / "r2/sample-bucket/blobs"
    blobs.mkdir(parents=True)
    for number, text in enumerate(("small", "one part", "waiting"), start=1):
        (blobs / f"blob-{number}").write_text(text)
    connection = sqlite3.connect(file)
    connection.executescript(SCHEMA + ROWS)
    connection.close()
    return file


def test_what_wrangler_wrote_is_read_and_gone_on_with(tmp_path: Path) -> None:
    wrangler_folder(tmp_path / "v3")
    room = Bench(tmp_path).open(R2, SECTIONS)
    bucket = room.bindings("w")["BUCKET"]
    small = settle(bucket.get("small.txt"))
    assert (settle(small.text()), small.httpMetadata.contentType, small.customMetadata.k) == (
        "small",
        "text/plain",
        "v",
    )
    assert small.uploaded.getTime() == 1795962337453
    assert settle(settle(bucket.get("parts.txt")).text()) == "one part"
    upload = bucket.resumeMultipartUpload("more.txt", "open")
    settle(upload.complete(js([{"partNumber": 1, "etag": "etag-2"}])))
    assert settle(settle(bucket.get("more.txt")).text()) == "waiting"
    room.close()


def test_what_is_written_can_be_read_by_wrangler(tmp_path: Path) -> None:
    file = wrangler_folder(tmp_path / "v3")
    room = Bench(tmp_path).open(R2, SECTIONS)
    metadata = {"contentType": "a/b"}
    settle(room.bindings("w")["BUCKET"].put("new", "value", httpMetadata=js(metadata), customMetadata=js({"n": 1})))
    connection = sqlite3.connect(file)
    [row] = connection.execute(
        "SELECT blob_id, size, etag, checksums, http_metadata, custom_metadata FROM _mf_objects WHERE key = 'new'"
    )
    connection.close()
    assert (tmp_path / "v3/r2/sample-bucket/blobs" / row[0]).read_bytes() == b"value"
    assert row[1:] == (5, "2063c1608d6e0baf80249c42e2be5804", "{}", '{"contentType":"a/b"}', '{"n":"1"}')
    room.close()


def test_what_wrangler_has_no_column_for_stands_where_it_looks_past_it(tmp_path: Path) -> None:
    file = wrangler_folder(tmp_path / "v3")
    room = Bench(tmp_path).open(R2, SECTIONS)
    metadata = js({"contentType": "a/b"})
    settle(
        room.bindings("w")["BUCKET"].put(
            "new", "value", httpMetadata=metadata, storageClass="InfrequentAccess", ssecKey="ab" * 32
        )
    )
    connection = sqlite3.connect(file)
    [(kept,)] = connection.execute("SELECT http_metadata FROM _mf_objects WHERE key = 'new'")
    connection.close()
    assert kept == (
        '{"contentType":"a/b","storageClass":"InfrequentAccess","ssecKeyMd5":"e99fb4d234e9f43153e63fa5fead1614"}'
    )
    room.close()
