"""Layouts as functions: injectivity, inverses and composition.

Everything here rests on one observation. Sort the iters of an axis by stride: if each stride is a multiple of the range
covered by the smaller ones, the strides are the weights of a mixed-radix number, and the layout only permutes digits.
Composing or inverting such a layout regroups its digits and needs no arithmetic on elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tirx_mini.distinct import distinct

from .arith import Coord
from .axis import Axis, LayoutError, m
from .spec import Iter, S, Spec, coalesce, still, unravel
from .swizzle import ComposeLayout, SwizzleLayout
from .tile import Layout, TileLayout


def is_injective(layout: Layout) -> bool:
    """Return whether all elements have distinct places."""
    tile = layout.linear  # a swizzle is a permutation, so it cannot merge places
    return all(_axis_injective([it for it in coalesce(tile.iters) if it.axis == axis]) for axis in tile.axes)


def is_bijective(layout: Layout) -> bool:
    """Return whether each place from 0 up to `cosize(axis)` of each axis holds exactly one element."""
    tile = layout.linear
    full = tile.is_plain and all(tile.cosize(axis) == _axis_size(tile, axis) for axis in tile.axes)
    if not full or not is_injective(tile):
        return False
    # A swizzle permutes whole atoms, so it leaves the tile only where the tile ends inside an atom.
    return not isinstance(layout, ComposeLayout) or int(layout.swizzle(np.arange(tile.size())).max()) < tile.size()


def inverse_tile(tile: TileLayout) -> TileLayout:
    """Return the layout that maps places, one coordinate per axis of `tile.axes`, to row-major element numbers.

    Raises LayoutError where `tile` is not bijective.
    """
    if not is_bijective(tile):
        raise LayoutError(f"{tile} is not bijective, so it has no inverse")
    numbered = S[tuple(tuple(it.extent for it in dim) for dim in tile.dims)]  # row-major weights
    pairs = list(zip(tile.iters, TileLayout(numbered).iters, strict=True))
    dims: list[tuple[Iter, ...]] = []
    for axis in tile.axes:
        along = sorted((p for p in pairs if p[0].axis == axis), key=lambda p: p[0].stride, reverse=True)
        dims.append(tuple(number for _, number in along))
    return TileLayout(Spec(tuple(dims)))


def inverse(layout: Layout) -> Callable[..., tuple[Coord, ...]]:
    """Return the function that maps places, one per axis of `layout.axes`, to logical coordinates.

    Raises LayoutError where `layout` is not bijective.
    """
    if not is_bijective(layout):
        raise LayoutError(f"{layout} is not bijective, so it has no inverse")
    back, shape = inverse_tile(layout.linear), layout.shape

    def element_at(*places: Coord) -> tuple[Coord, ...]:
        if isinstance(layout, ComposeLayout):
            places = tuple(layout.swizzle(place) for place in places)
        return unravel(back.apply_m(*places), shape)

    return element_at


def compose(outer: TileLayout | SwizzleLayout, inner: TileLayout) -> Layout:
    """Compose layouts: the place given by `inner` is the row-major number of an element of `outer`.

    Raises LayoutError if `inner` has an axis other than memory, or if its strides do not cut `outer` into whole digits.
    """
    if isinstance(outer, SwizzleLayout):
        return ComposeLayout(outer, inner)
    if not (outer.is_plain and inner.is_plain):
        raise LayoutError(f"layouts with copies or an offset are not composed: {outer} after {inner}")
    if inner.axes != (m,):
        raise LayoutError(f"the inner layout of a composition must place elements in memory only, unlike {inner}")
    # Write outer's element number in digits: the iters of inner, and the gaps between them.
    moving = sorted((it for it in inner.iters if it.extent > 1), key=lambda it: it.stride)
    radix: list[int] = []
    covered = 1
    for it in moving:
        if it.stride % covered or not it.stride:
            raise LayoutError(
                f"{inner} does not permute digits: stride {it.stride} is not a positive multiple of {covered}"
            )
        radix += [it.stride // covered, it.extent]
        covered = it.stride * it.extent
    if outer.size() % covered:
        raise LayoutError(f"{inner} spans {covered} elements, which does not divide the {outer.size()} of {outer}")
    digits = outer.reshape([outer.size() // covered, *reversed(radix)]).dims[1::2]
    place = dict(zip(reversed(moving), digits, strict=True))  # the strides differ, so the iters are distinct keys
    unmoved = still(outer.iters[0].axis)
    return TileLayout(Spec(tuple(tuple(new for it in dim for new in place.get(it, unmoved)) for dim in inner.dims)))


def _axis_size(tile: TileLayout, axis: Axis) -> int:
    return math.prod(it.extent for it in tile.iters if it.axis == axis)


def _axis_injective(iters: list[Iter]) -> bool:
    reach = 0
    for it in sorted(iters, key=lambda it: it.stride):
        if it.stride <= reach:
            break
        reach += it.reach
    else:
        return True  # the stride of each digit exceeds the reach of all smaller digits together
    places = np.zeros(1, dtype=np.int64)
    for it in iters:
        places = np.add.outer(places, np.arange(it.extent) * it.stride).reshape(-1)
    return distinct(places).size == places.size
