"""Parts of an object."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyflare.engines.r2.faults import invalid_range

SPEC = re.compile(r"\s*(\d*)\s*-\s*(\d*)\s*")


@dataclass(frozen=True, slots=True)
class Range:
    """What was asked for: an offset, a length, both, or the last `suffix` bytes; or a Range header."""

    offset: int | None = None
    length: int | None = None
    suffix: int | None = None
    header: str | None = None

    def resolve(self, size: int) -> tuple[int, int]:
        """First byte and length within an object of `size` bytes.

        A header that is multiple, foreign or cannot be satisfied asks for everything; other ranges raise.
        """
        if self.header is not None:
            return header_range(self.header, size) or (0, size)
        offset, length = self.offset, self.length
        if self.suffix is not None:
            if self.suffix <= 0:
                raise invalid_range()
            offset = max(size - self.suffix, 0)
            length = size - offset
        start = offset or 0
        wanted = size - start if length is None else length
        if start > size or wanted <= 0:
            raise invalid_range()
        return start, min(wanted, size - start)


def header_range(header: str, size: int) -> tuple[int, int] | None:
    """First byte and length of the only range of a Range header; None for any other header."""
    ranges = header_ranges(header, size)
    return ranges[0] if ranges is not None and len(ranges) == 1 else None


def header_ranges(header: str, size: int) -> list[tuple[int, int]] | None:
    """First byte and length of each range; [] for the whole, None when the header makes no sense for the size."""
    unit, equals, specs = header.partition("=")
    if not equals or unit.strip().lower() != "bytes":
        return None
    found: list[tuple[int, int]] = []
    for spec in specs.split(","):
        match = SPEC.fullmatch(spec)
        if match is None or match[1] == match[2] == "":
            return None
        if match[1]:
            start = int(match[1])
            end = min(int(match[2]), size - 1) if match[2] else size - 1
            if start > end or start >= size:
                return None
        else:
            suffix = int(match[2])
            if suffix == 0 or size == 0:
                return None
            if suffix >= size:
                return []
            start, end = size - suffix, size - 1
        found.append((start, end - start + 1))
    return found
