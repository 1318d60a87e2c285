"""Sets of lanes of a warp."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tirx_mini.hardware import THREADS_OF

from ..ordering import ELECTED_LANE, LANES_TOGETHER

LANES = THREADS_OF["warp"]
FULL_WORD = 0xFFFFFFFF


class Mask:
    """A set of lanes.

    Masks are interned: equal sets are one object, so `is` compares them.

    word: the set as a 32-bit integer, lane 0 lowest. bits: the set as bool[32]. lanes: its members, ascending, int64.
    count: the number of members. full: whether all 32 are set. first: the lowest member (0 if empty).
    elected: whether elect.sync chose the only member, which may then be any lane. owners: the lane number for an access
        by each member (`Actor.lanes`), int8. owner: likewise, for an access to a lane-independent location.
    """

    __slots__ = ("bits", "count", "elected", "first", "full", "lanes", "owner", "owners", "word")

    def __init__(self, word: int, elected: bool = False) -> None:
        self.word = word
        self.elected = elected
        self.bits = np.array([(word >> lane) & 1 for lane in range(LANES)], dtype=bool)
        self.lanes = np.flatnonzero(self.bits)
        self.count = len(self.lanes)
        self.full = self.count == LANES
        self.first = int(self.lanes[0]) if self.count else 0
        self.owners = self.lanes.astype(np.int8)
        self.owner = self.first + ELECTED_LANE * elected if self.count == 1 else LANES_TOGETHER
        self.bits.setflags(write=False)
        self.lanes.setflags(write=False)

    @staticmethod
    @cache
    def of(word: int) -> Mask:
        """Return the mask of a 32-bit lane word."""
        return Mask(word)

    @staticmethod
    @cache
    def chosen(word: int) -> Mask:
        """Return the mask of a single lane that elect.sync chose. It differs from the mask of `of` for the same
        lane."""
        return Mask(word, elected=True)

    @staticmethod
    def from_bits(bits: np.ndarray) -> Mask:
        """Return the mask of the lanes that are set in a bool[32] array."""
        return Mask.of(int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little"))

    def where(self, cond: object) -> Mask:
        """Return the lanes of this mask where `cond` (a bool, or bool[32]) holds: the mask of a branch's `then`."""
        bits: Any = cond
        if isinstance(cond, np.ndarray):
            return self._within(Mask.from_bits(bits).word)
        return self if cond else EMPTY

    def minus(self, other: Mask) -> Mask:
        """Return the lanes of this mask that are not in `other`: the mask of a branch's `else`."""
        return self._within(~other.word & FULL_WORD)

    def both(self, other: Mask) -> Mask:
        """Return the intersection of two masks."""
        return self._within(other.word)

    def _within(self, word: int) -> Mask:
        return self if not self.word & ~word else Mask.of(self.word & word)

    def plus(self, other: Mask) -> Mask:
        """Return the union of two masks."""
        return Mask.of(self.word | other.word)

    def __bool__(self) -> bool:
        return self.word != 0

    def __repr__(self) -> str:
        return f"Mask({self.word:#010x})"


EMPTY = Mask.of(0)
FULL = Mask.of(FULL_WORD)
