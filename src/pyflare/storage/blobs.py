"""Values as plain files, in a folder per resource, named as wrangler's local mode names them.

A blob is written before the row that names it and deleted after that row is gone: a process killed in between leaves a
file that nothing refers to, never a row without its file. Names cannot be guessed and are never reused, so a blob does
not change once it is written; the file of a replaced one may become another blob (see `spare`).
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from pyflare.storage.spare import Spare

CHUNK_BYTES = 128 * 1024


class BlobWriter:
    """A blob that is being written piece by piece: `close()` keeps it, `abort()` removes it."""

    def __init__(self, blob_id: str, path: str, descriptor: int, length: int, sync: bool) -> None:
        """`length`: of what the open file holds already, to be written over."""
        self.id = blob_id
        self.size = 0
        self._path, self._descriptor, self._length, self._sync = path, descriptor, length, sync

    def write(self, chunk: bytes) -> None:
        _write(self._descriptor, chunk)
        self.size += len(chunk)

    def close(self) -> None:
        try:
            if self.size < self._length:
                os.ftruncate(self._descriptor, self.size)
            if self._sync:
                os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)

    def abort(self) -> None:
        os.close(self._descriptor)
        with suppress(FileNotFoundError):
            os.unlink(self._path)


class BlobStore:
    """The blobs of one resource; `now` is in seconds and ends up in the name."""

    def __init__(self, folder: Path, durability: str = "normal") -> None:
        self.folder = folder
        self._prefix = str(folder) + os.sep
        self._sync = durability == "full"
        self._spare = Spare()

    def put(self, data: bytes, now: float) -> str:
        """Write a whole blob; its id."""
        writer = self.writer(now)
        try:
            writer.write(data)
        finally:
            writer.close()
        return writer.id

    def writer(self, now: float) -> BlobWriter:
        blob_id = f"{secrets.token_hex(32)}{int(now * 1000):016x}"
        path = self._prefix + blob_id
        taken = self._spare.take(path)
        descriptor, length = taken or (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), 0)
        return BlobWriter(blob_id, path, descriptor, length, self._sync)

    def open(self, blob_id: str) -> BinaryIO | None:
        """The blob as a file; None when it is gone. An open file outlives the deletion of its blob."""
        descriptor = self._open(blob_id)
        return None if descriptor is None else open(descriptor, "rb", buffering=0)

    def read(self, blob_id: str, start: int = 0, length: int | None = None) -> bytes | None:
        """The bytes of a blob or of a part of it; None when it is gone."""
        descriptor = self._open(blob_id)
        if descriptor is None:
            return None
        try:
            return os.pread(descriptor, os.fstat(descriptor).st_size if length is None else length, start)
        finally:
            os.close(descriptor)

    def _open(self, blob_id: str) -> int | None:
        if os.sep in blob_id or "/" in blob_id or blob_id in ("", ".", ".."):
            return None
        try:
            return os.open(self._prefix + blob_id, os.O_RDONLY)
        except OSError:
            return None

    def exists(self, blob_id: str) -> bool:
        return os.path.exists(self._prefix + blob_id)

    def delete(self, blob_ids: Iterable[str]) -> None:
        """Remove blobs that no row names any more; one that cannot be removed is only a file too many."""
        for blob_id in blob_ids:
            with suppress(OSError):
                os.unlink(self._prefix + blob_id)

    def replaced(self, blob_ids: Iterable[str]) -> None:
        """Like `delete`, of blobs that others took the place of: more of that is likely to come."""
        for blob_id in blob_ids:
            if not self._spare.offer(self._prefix + blob_id):
                self.delete((blob_id,))

    def close(self) -> None:
        self._spare.drop()


def _write(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):
        data = data[written:]
        written = os.write(descriptor, data)


def chunks(file: BinaryIO, start: int, length: int) -> Iterator[bytes]:
    """The `length` bytes from `start`, in pieces; closes the file at the end."""
    with file:
        file.seek(start)
        while length > 0:
            chunk = file.read(min(CHUNK_BYTES, length))
            if not chunk:
                return
            length -= len(chunk)
            yield chunk
