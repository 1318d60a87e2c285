"""Linear layouts: the mapping of a tile's elements to threads and registers.

All extents are powers of two, so an element is a row of bits: those of its row-major number in the tile. A layout
gives every bit of a register number, of a lane and of a warp a *basis*, the number of an element. The element in
register r of lane l of warp w is the XOR of the bases whose bits are set in r, l and w. A basis of 0 means that two
registers, or threads, hold the same element (a replica).

Renaming bits is all that reshape, permute, expand_dims and broadcast do to a layout: no data moves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from tirx_mini.records import dataclass

from .f2 import Span, image

LANE_BITS = 5


def bits_of(extent: int) -> int:
    """Return the number of bits of an index below `extent`. Raises ValueError unless it is a power of two."""
    if extent < 1 or extent & (extent - 1):
        raise ValueError(f"{extent} is not a power of two")
    return extent.bit_length() - 1


@dataclass(frozen=True)
class LinearLayout:
    """A distribution of a tile of `shape` over the registers, lanes and warps of a CTA.

    register, lane, warp: the bases, lowest bit first, as row-major element numbers. There are five for lanes.
    """

    shape: tuple[int, ...]
    register: tuple[int, ...]
    lane: tuple[int, ...]
    warp: tuple[int, ...]

    def __post_init__(self) -> None:
        size = math.prod(1 << bits_of(extent) for extent in self.shape)
        if len(self.lane) != LANE_BITS:
            raise ValueError(f"a warp has 32 lanes, so {LANE_BITS} bases, not {len(self.lane)}")
        for basis in self.bases:
            if not 0 <= basis < size:
                raise ValueError(f"element {basis} is outside of a tile of {self.shape}")
        if Span(self.bases).rank < bits_of(size):
            raise ValueError("the layout leaves elements of the tile without a register")

    # -- what it says ------------------------------------------------------------------------------------------------

    @property
    def bases(self) -> tuple[int, ...]:
        return (*self.register, *self.lane, *self.warp)

    @property
    def registers(self) -> int:
        """The number of registers per thread."""
        return 1 << len(self.register)

    @property
    def warps(self) -> int:
        return 1 << len(self.warp)

    @property
    def size(self) -> int:
        """The number of elements of the tile."""
        return math.prod(self.shape)

    def element(self, register: int, lane: int = 0, warp: int = 0) -> int:
        """Return the row-major number of the element in a register."""
        return image(self.register, register) ^ image(self.lane, lane) ^ image(self.warp, warp)

    def table(self) -> np.ndarray:
        """Return the element number for each register, as an array [warps, 32, registers]."""
        warp, lane, register = (
            np.array([image(b, n) for n in range(1 << len(b))]) for b in (self.warp, self.lane, self.register)
        )
        return np.bitwise_xor.outer(np.bitwise_xor.outer(warp, lane), register)

    def distribute(self, tile: np.ndarray) -> np.ndarray:
        """Return the values of `tile` in each register, as an array [warps, 32, registers]."""
        return np.asarray(tile).reshape(-1)[self.table()]

    @cached_property
    def _shifts(self) -> tuple[int, ...]:
        """The `shift` of each dimension."""
        below = itertools.accumulate((bits_of(extent) for extent in self.shape[:0:-1]), initial=0)
        return tuple(below)[::-1] if self.shape else ()

    def shift(self, axis: int) -> int:
        """Return the bit position of dimension `axis` in an element number."""
        return self._shifts[axis]

    def mask(self, axis: int) -> int:
        """Return the mask of dimension `axis` in an element number."""
        return (self.shape[axis] - 1) << self._shifts[axis]

    def coordinates(self, element: int) -> tuple[int, ...]:
        """Return the coordinates of an element."""
        return tuple([element >> shift & extent - 1 for extent, shift in zip(self.shape, self._shifts, strict=True)])

    def along(self, axis: int) -> LinearLayout:
        """Return the layout projected to dimension `axis`, of shape (extent,)."""
        shift, mask = self.shift(axis), self.mask(axis)
        return self._mapped(lambda basis: (basis & mask) >> shift, (self.shape[axis],))

    def __repr__(self) -> str:
        def text(bases: Sequence[int]) -> str:
            return str([list(self.coordinates(basis)) for basis in bases]).replace(" ", "")

        parts = (f"{name}={text(getattr(self, name))}" for name in ("register", "lane", "warp"))
        return f"linear<{', '.join(parts)}>"

    # -- renaming bits -----------------------------------------------------------------------------------------------

    def _mapped(self, function: Callable[[int], int], shape: Sequence[int]) -> LinearLayout:
        return LinearLayout(tuple(shape), *self._each(function))

    def _each(self, function: Callable[[int], int]) -> Iterator[tuple[int, ...]]:
        return (tuple(map(function, bases)) for bases in (self.register, self.lane, self.warp))

    def reshape(self, shape: Sequence[int]) -> LinearLayout:
        """Return the layout of the reshaped tile, without moving data."""
        if math.prod(shape) != self.size:
            raise ValueError(f"a tile of {self.shape} cannot be reshaped to {tuple(shape)}")
        return replace(self, shape=tuple(shape))

    def permute(self, dims: Sequence[int]) -> LinearLayout:
        """Return the layout of the permuted tile, whose dimension i is dimension dims[i] of this one."""
        shape = tuple(self.shape[axis] for axis in dims)

        def moved(basis: int) -> int:
            coords = self.coordinates(basis)
            return number_of([coords[axis] for axis in dims], shape)

        return self._mapped(moved, shape)

    def expand_dims(self, axis: int) -> LinearLayout:
        return self.reshape((*self.shape[:axis], 1, *self.shape[axis:]))

    def reduce(self, axis: int, *, keepdims: bool = False) -> LinearLayout:
        """Return the layout of a reduction along `axis`; all threads that hold a part of an element hold its result.

        It is also the layout that an operand of a broadcast along `axis` needs for a result in this layout.
        """
        mask, shift = self.mask(axis), self.shift(axis)
        low = (1 << shift) - 1
        high = bits_of(self.shape[axis]) + shift

        def without(basis: int) -> int:
            return (basis & low) | basis >> high << shift

        shape = (*self.shape[:axis], *((1,) if keepdims else ()), *self.shape[axis + 1 :])
        register = tuple(without(basis) for basis in self.register if basis & ~mask)
        lane, warp = (tuple(map(without, bases)) for bases in (self.lane, self.warp))
        return LinearLayout(shape, register, lane, warp)

    def broadcast_source(self, shape: Sequence[int]) -> LinearLayout:
        """Return a layout for a tile of `shape` whose broadcast in place has this layout."""
        source = self
        for axis, (have, want) in enumerate(zip(shape, self.shape, strict=True)):
            if have == 1 and want > 1:
                source = source.reduce(axis, keepdims=True)
        return source

    def broadcast(self, shape: Sequence[int]) -> LinearLayout:
        """Return the layout of the tile broadcast to `shape`, with each thread's elements repeated in new registers."""
        wide = tuple(shape)
        fresh = [axis for axis, (have, want) in enumerate(zip(self.shape, wide, strict=True)) if have < want]
        register, lane, warp = self._each(lambda basis: number_of(self.coordinates(basis), wide))
        return LinearLayout(wide, (*register, *unit_steps(wide, fresh[::-1])), lane, warp)

    def part(self, shape: Sequence[int]) -> tuple[LinearLayout, tuple[int, ...]] | None:
        """Return the layout of a slice of `shape`, with the register bits that remain in it.

        None where the slices of a tile are in different threads.
        """

        def inside(basis: int) -> bool:
            return all(coord < extent for coord, extent in zip(self.coordinates(basis), shape, strict=True))

        kept = tuple(bit for bit, basis in enumerate(self.register) if inside(basis))
        if not all(map(inside, (*self.lane, *self.warp))):
            return None
        groups = tuple(self.register[bit] for bit in kept), self.lane, self.warp
        small = (tuple(number_of(self.coordinates(basis), shape) for basis in bases) for bases in groups)
        return LinearLayout(tuple(shape), *small), kept

    def without_replicas(self) -> LinearLayout:
        """Return the layout without registers that only repeat others."""
        own = Span()
        return replace(self, register=tuple(basis for basis in self.register if own.add(basis)))

    # -- where an element is -----------------------------------------------------------------------------------------

    @property
    def is_injective(self) -> bool:
        """Return whether each element is held in a single place."""
        return Span(self.bases).rank == len(self.bases)

    def place(self, element: int) -> tuple[int, int, int]:
        """Return the first (register, lane, warp) that holds an element."""
        used = Span(self.bases).solve(element)
        assert used is not None, "the bases of a layout reach every element"
        register, lane = len(self.register), len(self.lane)
        return used & ((1 << register) - 1), used >> register & ((1 << lane) - 1), used >> register + lane

    def owners(self) -> tuple[int, int]:
        """Return the lane and warp masks whose bits are 0 in the first of all threads with the same elements.

        A thread that has one of these bits set holds nothing that another does not hold.
        """
        span = Span(self.register)
        lane = sum(1 << bit for bit, basis in enumerate(self.lane) if not span.add(basis))
        warp = sum(1 << bit for bit, basis in enumerate(self.warp) if not span.add(basis))
        return lane, warp

    def vector(self, elements: int, axis: int = -1) -> int:
        """Return how many registers, a power of two up to `elements`, start with neighbours along `axis`."""
        if not self.shape:
            return 1
        axis %= len(self.shape)
        step, count = 1 << self.shift(axis), 1
        while count < min(elements, self.registers, self.shape[axis]):
            if self.register[count.bit_length() - 1] != step * count:
                break
            count *= 2
        return count


def number_of(coords: Sequence[Any], shape: Sequence[int]) -> Any:
    """Return the row-major number of an element."""
    number = 0
    for coord, extent in zip(coords, shape, strict=True):
        number = number * extent + coord
    return number


def unit_steps(shape: Sequence[int], order: Sequence[int]) -> Iterator[int]:
    """Yield the element numbers of power-of-two steps along the dimensions in `order`, fastest first."""
    for axis in order:
        for bit in range(bits_of(shape[axis])):
            yield number_of([1 << bit if a == axis else 0 for a in range(len(shape))], shape)
