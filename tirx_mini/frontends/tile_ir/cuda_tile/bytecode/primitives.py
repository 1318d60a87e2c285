"""Numbers, tables and sections of the bytecode (Tile IR: Binary Format, Primitive Encodings and Sections)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from tirx_mini.records import dataclass

MAGIC = b"\x7fTileIR\x00"
PADDING = 0xCB
"""The byte that fills up to an alignment."""
ALIGNED = 0x80
"""The bit of a section's id that says that an alignment follows its length."""


def varint(number: int) -> bytes:
    """An unsigned number: 7 bits a byte, low ones first; the top bit says that more follow."""
    if number < 0:
        raise ValueError(f"{number} is negative")
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def signed_varint(number: int) -> bytes:
    """A signed number: the sign is in bit 0."""
    return varint(number << 1 if number >= 0 else ~(number << 1))


def fixed(numbers: Iterable[int], width: int) -> bytes:
    """Signed numbers of `width` bytes each, after their count."""
    listed = list(numbers)
    return varint(len(listed)) + b"".join(n.to_bytes(width, "little", signed=True) for n in listed)


def varints(numbers: Sequence[int]) -> bytes:
    """Numbers after their count."""
    return varint(len(numbers)) + b"".join(map(varint, numbers))


def padded(data: bytes, alignment: int) -> bytes:
    return data + bytes([PADDING]) * (-len(data) % alignment)


@dataclass
class Table:
    """Different byte strings, numbered in the order in which they came."""

    items: dict[bytes, int] = field(default_factory=dict)

    def number(self, item: bytes) -> int:
        return self.items.setdefault(item, len(self.items))

    def encoded(self, width: int) -> bytes:
        """The count, where each item begins (offsets of `width` bytes), and the items."""
        starts, at = [], 0
        for item in self.items:
            starts.append(at.to_bytes(width, "little"))
            at += len(item)
        return padded(varint(len(self.items)), width) + b"".join(starts) + b"".join(self.items)


def section(number: int, data: bytes, alignment: int, at: int) -> bytes:
    """A section that begins `at` bytes into the file: its id, length and alignment, then its data at that alignment."""
    if alignment == 1:
        return bytes([number]) + varint(len(data)) + data
    head = bytes([number | ALIGNED]) + varint(len(data)) + varint(alignment)
    return head + bytes([PADDING]) * (-(at + len(head)) % alignment) + data
