"""The bytes of an object or of a part of it, out of the files that it consists of.

At most one file is open and one piece in memory. The files that a body needs stay until it is done with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from pyflare.storage.blobs import BlobStore, chunks
from pyflare.storage.pieces import Pieces

Segment = tuple[str, int, int]  # blob id, first byte, length
Holder = Callable[[Iterable[str]], None]


def open_body(blobs: BlobStore, segments: Sequence[Segment], acquire: Holder, release: Holder) -> Pieces:
    names = [blob_id for blob_id, _, _ in segments]
    acquire(names)
    return Pieces(_read(blobs, segments), lambda: release(names))


def read_body(blobs: BlobStore, segments: Sequence[Segment]) -> bytes | None:
    """The same at once; None when a file is gone."""
    found: list[bytes] = []
    for blob_id, start, length in segments:
        data = blobs.read(blob_id, start, length)
        if data is None:
            return None
        found.append(data)
    return b"".join(found)


def _read(blobs: BlobStore, segments: Sequence[Segment]) -> Iterator[bytes]:
    for blob_id, start, length in segments:
        file = blobs.open(blob_id)
        if file is None:
            raise OSError(f"The value {blob_id} is gone")
        yield from chunks(file, start, length)


def cut(blobs: Sequence[tuple[str, int]], start: int, length: int) -> Sequence[Segment]:
    """The parts of the blobs (id, size) that make up a part of the whole."""
    found: list[Segment] = []
    end, at = start + length, 0
    for blob_id, size in blobs:
        first, last = max(start, at), min(end, at + size)
        if first < last:
            found.append((blob_id, first - at, last - first))
        at += size
    return found
