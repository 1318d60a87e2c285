"""Layout conversion: moves of a tile's elements between registers, by shuffles or through shared memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from functools import cache

import numpy as np

from tirx_mini.distinct import distinct
from tirx_mini.records import dataclass

from .f2 import Span
from .linear import LinearLayout, bits_of

BANKS = 32
BANK_BYTES = 4
VECTOR_BYTES = 16
WORD_BITS = 32
MOST_SWAPS = 2
"""Bits of a register that change places with bits of a lane: each costs a shuffle for every second register."""


class Move(Enum):
    """The mechanism of a conversion.

    NONE: the layouts agree. REGISTERS: each thread holds its elements already, in other registers.
    SHUFFLE: other lanes of the warp hold them, all in the same register (PTX ISA: shfl.sync).
    EXCHANGE: other lanes hold them in other registers; lanes exchange halves of their registers, once for each swap.
    SHARED: other warps hold them.
    """

    NONE = "none"
    REGISTERS = "registers"
    SHUFFLE = "shuffle"
    EXCHANGE = "exchange"
    SHARED = "shared"


@dataclass(frozen=True)
class Conversion:
    """A conversion between two layouts of a tile.

    For REGISTERS and SHUFFLE, bases by the bits of a target register: the `register` to read, and what to XOR the
    `lane` to read from with; and by the bits of the target's lane: the lane to read from.
    For EXCHANGE, the `register` to read of the same thread, and the `swaps` that follow: pairs of a bit of the target's
    register and a bit of the lane, which change places.
    """

    source: LinearLayout
    target: LinearLayout
    move: Move
    register: tuple[int, ...] = ()
    lane: tuple[int, ...] = ()
    lane_of_lane: tuple[int, ...] = ()
    swaps: tuple[tuple[int, int], ...] = ()


@cache
def conversion(source: LinearLayout, target: LinearLayout) -> Conversion:
    """Return the cheapest conversion between two layouts of the same tile over the same warps."""
    if source.shape != target.shape or len(source.warp) != len(target.warp):
        raise ValueError(f"{source} and {target} are not layouts of one tile")
    if source == target:
        return Conversion(source, target, Move.NONE)
    if source.warp == target.warp:
        found = _in_thread(source, target) or _in_warp(source, target) or _by_swaps(source, target)
        if found is not None:
            return found
    return Conversion(source, target, Move.SHARED)


def _in_thread(source: LinearLayout, target: LinearLayout) -> Conversion | None:
    span = Span(source.register)
    used = [span.solve(basis) for basis in target.register]
    if source.lane != target.lane or None in used:
        return None
    return Conversion(source, target, Move.REGISTERS, tuple(u for u in used if u is not None))


def _in_warp(source: LinearLayout, target: LinearLayout) -> Conversion | None:
    """Return a conversion of one shuffle per target register, in which all lanes read the same register, or None."""
    lanes, both = Span(source.lane), Span((*source.register, *source.lane))
    across = [lanes.solve(basis) for basis in target.lane]
    used = [both.solve(basis) for basis in target.register]
    if None in across or None in used:
        return None
    numbers = [u for u in used if u is not None]
    own = len(source.register)
    register, lane = tuple(u & ((1 << own) - 1) for u in numbers), tuple(u >> own for u in numbers)
    return Conversion(source, target, Move.SHUFFLE, register, lane, tuple(a for a in across if a is not None))


def _by_swaps(source: LinearLayout, target: LinearLayout) -> Conversion | None:
    """Return a conversion that swaps a few bits of registers and lanes, or None."""
    before, swaps = list(target.register), dict[int, int]()
    for lane, (have, want) in enumerate(zip(source.lane, target.lane, strict=True)):
        if have == want:
            continue
        if not have or have not in target.register or target.register.index(have) in swaps:
            return None
        swaps[target.register.index(have)] = lane
        before[target.register.index(have)] = want
    span = Span(source.register)
    used = [span.solve(basis) for basis in before]
    if len(swaps) > MOST_SWAPS or None in used:
        return None
    registers = tuple(u for u in used if u is not None)
    return Conversion(source, target, Move.EXCHANGE, registers, swaps=tuple(swaps.items()))


def with_vectors(layout: LinearLayout, elements: int, axis: int = -1) -> LinearLayout | None:
    """Return a layout whose registers begin with `elements` neighbours along an axis, in the same warps.

    Lanes that hold some of these swap them for neighbours further along the axis, so that every thread keeps to its
    places along the other axes. None where no such layout exists.
    """
    step, mask = 1 << layout.shift(axis % len(layout.shape)), layout.mask(axis % len(layout.shape))
    wanted = [step << bit for bit in range(bits_of(elements))]
    further = sorted(b for b in layout.register if b >= step * elements and b & mask == b and b & b - 1 == 0)
    register, lane = list(layout.register), list(layout.lane)
    for basis in wanted:
        if basis in register:
            continue
        if basis not in lane or not further:
            return None
        given = further.pop(0)
        register[register.index(given)], lane[lane.index(basis)] = basis, given
    rest = [basis for basis in register if basis not in wanted]
    return replace(layout, register=(*wanted, *rest), lane=tuple(lane))


def run_of(layout: LinearLayout, elements: int, axis: int = -1) -> int:
    """Return how many neighbours along an axis the threads of a warp access, each a vector of up to `elements`."""
    run, step = layout.vector(elements, axis), 1 << layout.shift(axis % len(layout.shape))
    while run < layout.shape[axis] and run * step in layout.lane:
        run *= 2
    return run


def words_first(found: Conversion, bits: int) -> tuple[Sequence[int], int]:
    """Return the order in which an exchange has the bits of the target's registers, and how many make up a word.

    Registers of `bits` bits are exchanged as words of 32 bits where enough bits of a register stay in their thread.
    """
    swapped = dict(found.swaps)
    fixed = [bit for bit in range(len(found.target.register)) if bit not in swapped]
    packed = bits_of(WORD_BITS // bits) if bits in (8, 16) else 0
    inside = fixed[:packed] if len(fixed) >= packed else []
    return [*inside, *(bit for bit in range(len(found.target.register)) if bit not in inside)], len(inside)


@dataclass(frozen=True)
class SharedPlan:
    """The arrangement of a tile in shared memory during an exchange between threads.

    order: the dimensions of the tile, the fastest in memory first.
    row, pad: after each `row` elements, `pad` elements are left free, so that threads hit different banks.
    store, load: elements of a vector access by the source and the target.
    size: elements in all.
    """

    order: tuple[int, ...]
    row: int
    pad: int
    store: int
    load: int
    size: int

    def bases(self, layout: LinearLayout) -> LinearLayout:
        """Return the layout with elements numbered in memory order, without padding."""
        return layout.permute(self.order[::-1])

    def place(self, number: np.ndarray) -> np.ndarray:
        """Return the padded offsets of elements numbered by `bases`."""
        return number + number // self.row * self.pad


@cache
def shared_plan(source: LinearLayout, target: LinearLayout, itemsize: int) -> SharedPlan:
    """Return the order and padding that minimise shared-memory wavefronts over stores and loads."""
    rank = len(source.shape)
    orders = list(itertools.permutations(range(rank))) if rank <= 3 else [tuple(reversed(range(rank)))]
    plans = [plan for order in orders for plan in _plans(source, target, itemsize, order)]
    return min(plans, key=lambda plan: (_cost(plan, source, target, itemsize), plan.pad))


def _plans(source: LinearLayout, target: LinearLayout, itemsize: int, order: tuple[int, ...]) -> list[SharedPlan]:
    most = VECTOR_BYTES // itemsize
    ways = [layout.permute(order[::-1]) for layout in (source, target)]
    store, load = (way.vector(most) for way in ways)
    row = source.shape[order[0]] if order else 1
    per_banks = BANKS * BANK_BYTES // itemsize
    rows = {max(row, store, load), max(per_banks, store, load)}
    pads = {0, max(store, load), max(store, load, BANK_BYTES // itemsize)}
    size = source.size
    return [
        SharedPlan(order, r, pad, store, load, size + (size - 1) // r * pad)
        for r in sorted(rows)
        for pad in sorted(pads)
    ]


def _cost(plan: SharedPlan, source: LinearLayout, target: LinearLayout, itemsize: int) -> int:
    """Return the shared-memory wavefronts of all accesses of the first warp."""
    total = 0
    for layout, width in ((source, plan.store), (target, plan.load)):
        table = plan.place(plan.bases(layout).table()[0, :, ::width])
        accesses = layout.registers // width
        total += accesses * wavefronts(table[:, 0] * itemsize, width * itemsize)
    return total


def wavefronts(addresses: np.ndarray, width: int) -> int:
    """Return the number of wavefronts of one warp access; each bank delivers one 4-byte word per wavefront.

    addresses: byte addresses of the lanes. width: bytes each accesses. 8 bytes go by halves of a warp and 16 bytes by
    quarters (CUDA C++ Best Practices Guide, "Shared Memory and Memory Banks").
    """
    group = 32 // max(1, width // BANK_BYTES)
    total = 0
    for first in range(0, 32, group):
        starts = addresses[first : first + group] // BANK_BYTES
        words = distinct(starts[:, None] + np.arange(max(1, width // BANK_BYTES)))
        total += int(np.bincount(words % BANKS).max())
    return total
