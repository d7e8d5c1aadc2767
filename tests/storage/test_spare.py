"""Files that are written over in the place of new ones, as Linux allows."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from pyflare.storage.blobs import BlobStore
from pyflare.storage.spare import MAX_BYTES, Spare


def made(folder: Path, name: str, size: int = 3) -> str:
    path = folder / name
    path.write_bytes(b"x" * size)
    return str(path)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_file_is_given_under_its_new_name(tmp_path: Path) -> None:
    spare = Spare()
    assert spare.offer(made(tmp_path, "old"))
    taken = spare.take(str(tmp_path / "new"))
    assert taken is not None
    descriptor, length = taken
    os.close(descriptor)
    assert (names(tmp_path), length) == (["new"], 3)


def test_there_is_place_for_one(tmp_path: Path) -> None:
    spare = Spare()
    assert [spare.offer(made(tmp_path, name)) for name in ("a", "b")] == [True, False]


def test_a_large_file_is_not_kept(tmp_path: Path) -> None:
    assert not Spare().offer(made(tmp_path, "large", MAX_BYTES + 1))


def test_a_file_that_is_read_here_is_left_alone(tmp_path: Path) -> None:
    spare = Spare()
    with open(made(tmp_path, "old"), "rb") as reader:
        spare.offer(str(tmp_path / "old"))
        assert spare.take(str(tmp_path / "new")) is None
        assert reader.read() == b"xxx"
    assert names(tmp_path) == []


def test_a_file_that_another_process_reads_is_left_alone(tmp_path: Path) -> None:
    spare = Spare()
    spare.offer(made(tmp_path, "old"))
    with open(tmp_path / "old", "rb") as file:
        reader = subprocess.Popen(["sleep", "60"], stdin=file)
    try:
        assert spare.take(str(tmp_path / "new")) is None
    finally:
        reader.kill()
        reader.wait()
    assert names(tmp_path) == []


def test_a_file_that_somebody_removed_is_no_error(tmp_path: Path) -> None:
    spare = Spare()
    spare.offer(made(tmp_path, "old"))
    (tmp_path / "old").unlink()
    assert spare.take(str(tmp_path / "new")) is None


def test_dropping_removes_it(tmp_path: Path) -> None:
    spare = Spare()
    spare.offer(made(tmp_path, "old"))
    spare.drop()
    spare.drop()
    assert names(tmp_path) == []


def test_a_shorter_blob_keeps_nothing_of_the_longer_one_that_it_took_the_file_of(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    blobs.replaced([blobs.put(b"a long secret", 0.0)])
    short = blobs.put(b"hi", 0.0)
    assert (blobs.read(short), len(names(tmp_path))) == (b"hi", 1)


def test_a_written_stream_keeps_nothing_either(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    blobs.replaced([blobs.put(b"a long secret", 0.0)])
    writer = blobs.writer(0.0)
    writer.write(b"h")
    writer.write(b"i")
    writer.close()
    assert blobs.read(writer.id) == b"hi"
