"""Slices of layouts: a base, which may be symbolic, and a layout of the slice itself, which is never symbolic.

`slice_region(layout, starts, extents)` splits a layout so that, for each coordinate of the slice,

    layout.apply(start + x) == base + slice.apply(x)

With this split, the compiler computes one address for a whole tile. For a dimension with a single stride the split
exists for any start. In a dimension of several digits no carry may occur between them: either the start is a multiple
of the block of the inner digits, or the slice stays within one block. With a swizzle, the base must be a multiple of
whole atoms. For a symbolic start, the caller supplies a known divisor through `divisor`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from .arith import Coord, add, div, mod, mul
from .axis import Axis, LayoutError
from .spec import Dim, Iter, Spec, coalesce, still
from .swizzle import ComposeLayout
from .tile import Layout, TileLayout

Divisor = Callable[[Coord], int]
"""The largest number known to divide a symbolic start; 0 for a start known to be 0, which every number divides."""


def unknown(_start: Coord) -> int:
    """The divisor of an unknown start."""
    return 1


def known_divisor(start: Coord, divisor: Divisor) -> int:
    """The largest number known to divide a start; an int is its own divisor."""
    return start if isinstance(start, int) else divisor(start)


class SlicedLayout(NamedTuple):
    """A slice of a layout.

    base: the place of the first element, on each axis of the whole layout.
    layout: the places of the other elements relative to the base; coordinates start at 0.
    """

    base: Mapping[Axis, Coord]
    layout: Layout


class _Term(NamedTuple):
    """One term of a base, with a number known to divide it."""

    axis: Axis
    value: Coord
    divisor: int


def slice_region(
    layout: Layout, starts: Sequence[Coord], extents: Sequence[int], divisor: Divisor = unknown
) -> SlicedLayout:
    """Split `layout[start : start + extent, …]` into the place of its first element and a layout relative to it.

    The slice must lie within the layout; this is not checked. Pass constant starts as ints, whose divisors are known.
    Raises LayoutError with the reason if no such split exists.
    """
    if not len(starts) == len(extents) == layout.ndim:
        raise LayoutError(f"a slice of {layout.ndim} dimensions needs as many starts and extents, not {len(starts)}")
    terms: list[_Term] = []
    dims: list[Dim] = []
    for index, (dim, start, extent) in enumerate(zip(layout.linear.dims, starts, extents, strict=True)):
        known = known_divisor(start, divisor)
        try:
            moved, kept = _slice_dim(coalesce(dim), start if known else 0, extent, known)
        except LayoutError as error:
            raise LayoutError(f"dimension {index}: {error}") from None
        terms += moved
        dims.append(kept or still(dim[0].axis))
    whole = layout.linear
    base: dict[Axis, Coord] = {**dict.fromkeys(layout.axes, 0), **whole.offset}
    for term in terms:
        base[term.axis] = add(base[term.axis], term.value)
    tile = TileLayout(Spec(tuple(dims), whole.spec.replica))
    if not isinstance(layout, ComposeLayout):
        return SlicedLayout(base, tile)
    aligned = math.gcd(*(term.divisor for term in terms), *whole.offset.values())
    if aligned % layout.swizzle.atom:
        raise LayoutError(
            f"the slice begins at a multiple of {aligned} elements, but {layout.swizzle.mode!r} repeats only after "
            f"{layout.swizzle.atom}: begin it on a whole atom, or address its elements one by one"
        )
    return SlicedLayout(base, ComposeLayout(layout.swizzle, tile))


def _slice_dim(dim: Dim, start: Coord, extent: int, known: int) -> tuple[list[_Term], Dim]:
    """Split one dimension, given its coalesced iters and a divisor `known` of its start (0 divides only 0)."""
    if not dim:
        return [], ()
    outer, *inner = dim
    block = math.prod(it.extent for it in inner)
    stays = extent <= math.gcd(known, block) or (isinstance(start, int) and start % block + extent <= block)
    if inner and stays:
        whole = known % block == 0
        rest = 0 if whole else mod(start, block)
        terms, kept = _slice_dim(tuple(inner), rest, extent, rest if isinstance(rest, int) else math.gcd(known, block))
        return [_term(outer, div(start, block), known // block if whole else 1), *terms], kept
    if known % block or extent % block:
        raise LayoutError(
            f"an extent of {extent} from a multiple of {known or block} neither fills whole blocks of {block} elements "
            f"nor stays within one"
        )
    kept = (Iter(extent // block, outer.stride, outer.axis), *inner)
    return [_term(outer, div(start, block), known // block)], kept


def _term(it: Iter, digit: Coord, known: int) -> _Term:
    return _Term(it.axis, mul(digit, it.stride), known * it.stride)
