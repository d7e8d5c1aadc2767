"""Checksums of what is written: MD5 always (it is the etag), another one when it was asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pyflare.engines.r2.faults import bad_digest

# name of the option -> what messages call it, bytes
ALGORITHMS = {
    "md5": ("MD5", 16),
    "sha1": ("SHA-1", 20),
    "sha256": ("SHA-256", 32),
    "sha384": ("SHA-384", 48),
    "sha512": ("SHA-512", 64),
}


@dataclass(frozen=True, slots=True)
class Expected:
    """The checksum that a writer gives along; `digest` in lower-case hex."""

    algorithm: str  # a key of ALGORITHMS
    digest: str


class Digests:
    """Fed with what is written."""

    def __init__(self, expected: Expected | None = None) -> None:
        self._expected = expected
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._other = None if expected is None or expected.algorithm == "md5" else hashlib.new(expected.algorithm)

    def update(self, chunk: bytes) -> None:
        self._md5.update(chunk)
        if self._other is not None:
            self._other.update(chunk)

    @property
    def md5(self) -> str:
        return self._md5.hexdigest()

    def check(self) -> dict[str, str]:
        """The checksums to keep beside the etag; raises when they are not what was expected."""
        expected = self._expected
        if expected is None:
            return {}
        actual = self.md5 if self._other is None else self._other.hexdigest()
        if actual != expected.digest:
            raise bad_digest(ALGORITHMS[expected.algorithm][0], expected.digest, actual)
        return {} if self._other is None else {expected.algorithm: actual}


def multipart_etag(md5s: list[str]) -> str:
    """The etag of an object of parts, of the MD5s of the parts in their order."""
    joined = hashlib.md5(b"".join(bytes.fromhex(md5) for md5 in md5s), usedforsecurity=False)
    return f"{joined.hexdigest()}-{len(md5s)}"
