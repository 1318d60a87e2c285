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
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .arith import Coord, add
from .axis import Axis, LayoutError
from .cutting import Divisor, Term, known_divisor, slice_dim, unknown
from .spec import Dim, Spec, coalesce, still
from .swizzle import ComposeLayout
from .tile import Layout, TileLayout


class SlicedLayout(NamedTuple):
    """A slice of a layout.

    base: the place of the first element, on each axis of the whole layout.
    layout: the places of the other elements relative to the base; coordinates start at 0.
    """

    base: Mapping[Axis, Coord]
    layout: Layout


def slice_region(
    layout: Layout, starts: Sequence[Coord], extents: Sequence[int], divisor: Divisor = unknown
) -> SlicedLayout:
    """Split `layout[start : start + extent, …]` into the place of its first element and a layout relative to it.

    The slice must lie within the layout; this is not checked. Pass constant starts as ints, whose divisors are known.
    Raises LayoutError with the reason if no such split exists.
    """
    if not len(starts) == len(extents) == layout.ndim:
        raise LayoutError(f"a slice of {layout.ndim} dimensions needs as many starts and extents, not {len(starts)}")
    terms: list[Term] = []
    dims: list[Dim] = []
    for index, (dim, start, extent) in enumerate(zip(layout.linear.dims, starts, extents, strict=True)):
        known = known_divisor(start, divisor)
        try:
            moved, kept = slice_dim(coalesce(dim), start if known else 0, extent, known)
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
