"""Families of linear layouts for memory accesses and tensor cores."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.layout import m, mma_fragment_layout

from .linear import LANE_BITS, LinearLayout, bits_of, number_of, unit_steps


def padded(bases: Sequence[int], count: int) -> tuple[int, ...]:
    """Return `bases` padded with replica bases to a length of `count`."""
    return (*bases, *[0] * (count - len(bases)))


def blocked(shape: Sequence[int], *, warps: int, vector: int = 1, order: Sequence[int] | None = None) -> LinearLayout:
    """Return a blocked layout: threads lie along dimensions in `order`, fastest first, with `vector` neighbours each.

    Successive threads then access successive vectors of memory. The rest of the tile is in further registers. Threads
    that a small tile leaves without elements hold replicas.
    """
    dims = tuple(order) if order is not None else tuple(reversed(range(len(shape))))
    steps = list(unit_steps(shape, dims))
    total = len(steps)
    wide = min(bits_of(vector), bits_of(shape[dims[0]]) if dims else 0)
    wide = max(0, min(wide, total - LANE_BITS - bits_of(warps))) if total > wide else wide
    own, rest = steps[:wide], steps[wide:]
    lane, rest = rest[:LANE_BITS], rest[LANE_BITS:]
    warp, rest = rest[: bits_of(warps)], rest[bits_of(warps) :]
    return LinearLayout(tuple(shape), (*own, *rest), padded(lane, LANE_BITS), padded(warp, bits_of(warps)))


def within_warps(
    shape: Sequence[int], axis: int, *, warps: int, vector: int, order: Sequence[int] | None = None
) -> LinearLayout:
    """Return a blocked layout whose warps avoid `axis` if the other dimensions are large enough.

    A reduction along `axis` then needs no other warp.
    """
    near = blocked(shape, warps=1, vector=vector, order=order)
    wide = bits_of(near.vector(vector, order[0] if order else -1))
    mask = near.mask(axis)
    rest = sorted(near.register[wide:], key=lambda basis: bool(basis & mask))
    warp, more = rest[: bits_of(warps)], set(rest[bits_of(warps) :])
    register = (*near.register[:wide], *(basis for basis in near.register[wide:] if basis in more))
    return LinearLayout(tuple(shape), register, near.lane, padded(warp, bits_of(warps)))


def replicated(shape: Sequence[int], *, warps: int) -> LinearLayout:
    """Return the layout in which every thread holds the whole tile."""
    steps = tuple(unit_steps(shape, tuple(reversed(range(len(shape))))))
    return LinearLayout(tuple(shape), steps, (0,) * LANE_BITS, (0,) * bits_of(warps))


def _matrix(shape: Sequence[int], row: int, col: int) -> int:
    """Return the element number of (row, col) in the last two dimensions."""
    return number_of([*[0] * (len(shape) - 2), row, col], shape)


def _doubling(start: int, stop: int) -> list[int]:
    """Return start, 2 start, 4 start, … below stop."""
    found = []
    while start < stop:
        found.append(start)
        start *= 2
    return found


def _atom(rows: int, cols: int, bits: int = 16) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the (row, column) steps of an mma.sync fragment for each register bit and each lane bit."""
    steps: dict[bool, list[tuple[int, tuple[int, int]]]] = {True: [], False: []}
    for number, dim in enumerate(mma_fragment_layout(rows, cols, bits).dims):
        weight = 1
        for part in reversed(dim):
            for bit in range(bits_of(part.extent)):
                step = weight << bit
                steps[part.axis == m].append((part.stride << bit, (0, step) if number else (step, 0)))
            weight *= part.extent
    registers, lanes = ([pair for _, pair in sorted(steps[own])] for own in (True, False))
    return registers, lanes


def mma_accumulator(shape: Sequence[int], *, warps_m: int, warps_n: int) -> LinearLayout:
    """Return the layout of C and D of mma.sync m16n8 (PTX ISA, "Matrix Fragments for mma.m16n8k16").

    shape: [M, N] of at least 16 × 8. Warps lie side by side, warps_m of them along M, then warps_n along N.
    """
    rows, cols = shape[-2:]
    registers, lane = _atom(16, 8)
    warp = [(m, 0) for m in _doubling(16, 16 * warps_m)] + [(0, n) for n in _doubling(8, 8 * warps_n)]
    rest = [(0, n) for n in _doubling(8 * warps_n, cols)] + [(m, 0) for m in _doubling(16 * warps_m, rows)]
    return _of_pairs(shape, [*registers, *rest], lane, warp)


def mma_operand(shape: Sequence[int], *, operand: str, bits: int, warps_m: int, warps_n: int) -> LinearLayout:
    """Return the layout of an mma.sync operand, A [M, K] or B [K, N], with elements of `bits` bits.

    PTX ISA, "Matrix Fragments for mma.m16n8k16" (16 bits), "… k8" (32 bits, tf32), "… k32" (8 bits). A register of 32
    bits holds neighbours along K. Warps that share rows of A, or columns of B, hold replicas.
    """
    pack = 32 // bits
    rows, cols = shape[-2:]
    octet = 4 * pack
    if operand == "A":
        registers, lane = _atom(16, 2 * octet, bits)
        warp = [(m, 0) for m in _doubling(16, 16 * warps_m)] + [(0, 0)] * bits_of(warps_n)
        rest = [(0, k) for k in _doubling(2 * octet, cols)] + [(m, 0) for m in _doubling(16 * warps_m, rows)]
    else:
        registers, lane = ([(k, n) for n, k in pairs] for pairs in _atom(8, 2 * octet, bits))
        warp = [(0, 0)] * bits_of(warps_m) + [(0, n) for n in _doubling(8, 8 * warps_n)]
        rest = [(k, 0) for k in _doubling(2 * octet, rows)] + [(0, n) for n in _doubling(8 * warps_n, cols)]
    return _of_pairs(shape, [*registers, *rest], lane, warp)


def wgmma_accumulator(shape: Sequence[int], *, warps: int, warpgroups_m: int) -> LinearLayout:
    """Return the layout of D of wgmma.m64nNk16 (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts").

    shape: [M, N]. The tile is cut into warpgroups_m parts along M, and into as many along N as there are warpgroups
    for each; a part has one MMA for every 64 rows.
    """
    rows, cols = shape[-2:]
    rows_each, cols_each = max(64, rows // warpgroups_m), cols // (warps // 4 // warpgroups_m)
    warp = [(16, 0), (32, 0), *((m, 0) for m in _doubling(rows_each, rows)),
            *((0, n) for n in _doubling(cols_each, cols))]  # fmt: skip
    own, lane = _atom(16, 8)
    registers = [*own, *((0, n) for n in _doubling(8, cols_each)), *((m, 0) for m in _doubling(64, rows_each))]
    return _of_pairs(shape, registers, lane, warp)


def wgmma_operand(shape: Sequence[int], *, bits: int, warps: int, warpgroups_m: int) -> LinearLayout:
    """Return the layout of A [M, K] of wgmma in registers (PTX ISA, same section); warpgroups along N are replicas."""
    rows, cols = shape[-2:]
    pack = 32 // bits
    rows_each = max(64, rows // warpgroups_m)
    warp = [(16, 0), (32, 0), *((m, 0) for m in _doubling(rows_each, rows))]
    own, lane = _atom(16, 4 * pack, bits)
    registers = [*own, *((0, k) for k in _doubling(4 * pack, cols)), *((m, 0) for m in _doubling(64, rows_each))]
    warp += [(0, 0)] * (bits_of(warps) - len(warp))
    return _of_pairs(shape, registers, lane, warp)


def tmem_rows(shape: Sequence[int], *, warps: int) -> LinearLayout:
    """Return the layout of tcgen05.ld.32x32b, one row per thread: warp w of a warpgroup reads lanes 32 w to 32 w + 31.

    PTX ISA, "tcgen05 Data Path Layout", and "Access restrictions". Further warpgroups hold further rows, then columns.
    """
    rows, cols = shape[-2:]
    lane = [(m, 0) for m in (1, 2, 4, 8, 16)]
    warp = [(32, 0), (64, 0), *((m, 0) for m in _doubling(128, rows))][: bits_of(warps)]
    own_rows = [(m, 0) for m in _doubling(32 << len(warp), rows)]
    split = bits_of(warps) - len(warp)
    warp += [(0, cols >> split - i) for i in range(split)]
    return _of_pairs(shape, [*((0, n) for n in _doubling(1, cols >> split)), *own_rows], lane, warp)


def _of_pairs(
    shape: Sequence[int],
    register: Sequence[tuple[int, int]],
    lane: Sequence[tuple[int, int]],
    warp: Sequence[tuple[int, int]],
) -> LinearLayout:
    rows, cols = shape[-2:]
    batch = [number_of([*b, 0, 0], shape) for b in _batches(shape)]

    def numbers(pairs: Sequence[tuple[int, int]], keep: bool) -> tuple[int, ...]:
        inside = [(r, c) if r < rows and c < cols else (0, 0) for r, c in pairs]
        return tuple(_matrix(shape, r, c) for r, c in inside if keep or r or c)

    return LinearLayout(tuple(shape), (*numbers(register, False), *batch), numbers(lane, True), numbers(warp, True))


def _batches(shape: Sequence[int]) -> list[list[int]]:
    """Return the steps along the batch dimensions, which are held in further registers."""
    outer = shape[:-2]
    return [
        [1 << bit if a == axis else 0 for a in range(len(outer))]
        for axis in reversed(range(len(outer)))
        for bit in range(bits_of(outer[axis]))
    ]
