"""Linear algebra over GF(2). A vector is an int whose bits are its coordinates, and addition is XOR."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def image(bases: Sequence[int], number: int) -> int:
    """Return the sum of the `bases` selected by the set bits of `number`."""
    total = 0
    for bit, basis in enumerate(bases):
        if number >> bit & 1:
            total ^= basis
    return total


class Span:
    """The linear span of `vectors`, with a representation of each element."""

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        self._rows: dict[int, tuple[int, int]] = {}
        """By the highest bit of each reduced vector: the vector, and which of the given ones it is the sum of."""
        self._count = 0
        for vector in vectors:
            self.add(vector)

    def add(self, vector: int) -> bool:
        """Add a vector, and return whether it is linearly independent of the previous ones."""
        number, self._count = self._count, self._count + 1
        rest, used = self._reduce(vector)
        if rest:
            self._rows[rest.bit_length()] = rest, used | 1 << number
        return rest != 0

    @property
    def rank(self) -> int:
        return len(self._rows)

    def __contains__(self, vector: int) -> bool:
        return self._reduce(vector)[0] == 0

    def solve(self, vector: int) -> int | None:
        """Return a bit mask of given vectors that sum to `vector`, or None if it is outside the span."""
        rest, used = self._reduce(vector)
        return None if rest else used

    def _reduce(self, vector: int) -> tuple[int, int]:
        used = 0
        while vector:
            row = self._rows.get(vector.bit_length())
            if row is None:
                return self._below(vector, used)
            vector, used = vector ^ row[0], used ^ row[1]
        return 0, used

    def _below(self, vector: int, used: int) -> tuple[int, int]:
        """Reduce the bits below a leading bit that no row has."""
        top = 1 << vector.bit_length() - 1
        for length in sorted(self._rows, reverse=True):
            row, given = self._rows[length]
            if (vector & ~top) >> (length - 1) & 1:
                vector, used = vector ^ row, used ^ given
        return vector, used
