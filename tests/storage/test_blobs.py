"""Blobs: values as files."""

from pathlib import Path

import pytest

from pyflare.storage.blobs import BlobStore, chunks


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path)


def test_a_blob_is_named_by_64_random_digits_and_16_of_milliseconds(blobs: BlobStore) -> None:
    name = blobs.put(b"x", now=1_700_000_000.5)
    assert len(name) == 80
    assert int(name[64:], 16) == 1_700_000_000_500


def test_what_was_put_is_read(blobs: BlobStore) -> None:
    assert blobs.read(blobs.put(b"hello", 0.0)) == b"hello"


def test_a_part_can_be_read(blobs: BlobStore) -> None:
    assert blobs.read(blobs.put(b"hello", 0.0), start=1, length=3) == b"ell"


def test_a_blob_that_is_gone_reads_as_none(blobs: BlobStore) -> None:
    name = blobs.put(b"x", 0.0)
    blobs.delete([name])
    assert blobs.read(name) is None


def test_deleting_twice_is_no_error(blobs: BlobStore) -> None:
    blobs.delete(["never-there"])


def test_a_name_that_leaves_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "blobs").mkdir()
    assert BlobStore(tmp_path / "blobs").read("../secret") is None


def test_an_aborted_writer_leaves_no_file(blobs: BlobStore) -> None:
    writer = blobs.writer(0.0)
    writer.write(b"half")
    writer.abort()
    assert list(blobs.folder.iterdir()) == []


def test_a_closed_writer_keeps_what_was_written(blobs: BlobStore) -> None:
    writer = blobs.writer(0.0)
    writer.write(b"one ")
    writer.write(b"two")
    writer.close()
    assert (blobs.read(writer.id), writer.size) == (b"one two", 7)


def test_an_open_blob_outlives_its_deletion(blobs: BlobStore) -> None:
    name = blobs.put(b"0123456789", 0.0)
    file = blobs.open(name)
    assert file is not None
    blobs.delete([name])
    assert b"".join(chunks(file, 2, 5)) == b"23456"


def test_full_durability_writes_the_same(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path, durability="full")
    assert blobs.read(blobs.put(b"synced", 0.0)) == b"synced"
