"""CRCs that the standard library lacks, as fast as pieces of large integers: tables would take ten times as long.

Data are polynomials over GF(2), folded in halves: high * x**n + low is, modulo the CRC's polynomial, high times the
remainder of x**n, plus low. All CRCs here are reflected, start with ones and end inverted.
"""

from __future__ import annotations

MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
CRC32C = 32, 0x1EDC6F41
CRC64NVME = 64, 0xAD93D23594C93659


class Crc:
    """With the interface of `hashlib`'s objects."""

    def __init__(self, width: int, polynomial: int) -> None:
        """`width` in bits; the polynomial without its highest term."""
        self._width, self._polynomial = width, polynomial | 1 << width
        self._ones = (1 << width) - 1
        self._state = self._ones
        self._powers: dict[int, int] = {}

    def update(self, data: bytes) -> None:
        bits = 8 * len(data)
        value = int.from_bytes(data.translate(MIRRORED), "big") << self._width ^ self._state << bits
        while (length := value.bit_length()) > 4 * self._width:
            half = length // 2
            value = _times(value >> half, self._power(half)) ^ value & (1 << half) - 1
        self._state = self._remainder(value)

    def digest(self) -> bytes:
        mirrored = (self._state ^ self._ones).to_bytes(self._width // 8, "big").translate(MIRRORED)
        return mirrored[::-1]

    def _power(self, exponent: int) -> int:
        """What is left of x**exponent."""
        if exponent < self._width:
            return 1 << exponent
        if exponent not in self._powers:
            root = self._power(exponent // 2)
            self._powers[exponent] = self._remainder(_times(root, root) << exponent % 2)
        return self._powers[exponent]

    def _remainder(self, value: int) -> int:
        while (excess := value.bit_length() - self._width) > 0:
            value ^= self._polynomial << excess - 1
        return value


def _times(value: int, factor: int) -> int:
    product = 0
    while factor:
        lowest = factor & -factor
        product ^= value << lowest.bit_length() - 1
        factor ^= lowest
    return product
