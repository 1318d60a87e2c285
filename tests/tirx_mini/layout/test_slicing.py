"""`slice_region`: layout(start + x) == base + slice(x)."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tests.tirx_mini.layout.strategies import SWIZZLED, shared_layouts, tiles
from tests.tirx_mini.layout.symbolic import Name, evaluate
from tirx_mini.layout import (
    ComposeLayout,
    Iter,
    Layout,
    LayoutError,
    S,
    Spec,
    SwizzleLayout,
    SwizzleMode,
    TCol,
    TileLayout,
    TLane,
    laneid,
    m,
    slice_region,
    tma_shared_layout,
    wgmma_accumulator_layout,
    wid_in_wg,
)


def assert_slice(layout: Layout, starts, extents, base, part: Layout) -> None:
    """Check the split for every element."""
    assert part.shape == tuple(extents)
    window = tuple(slice(start, start + extent) for start, extent in zip(starts, extents, strict=True))
    within = part.to_table()
    assert set(base) == set(layout.axes) >= set(within)
    for axis, table in layout.to_table().items():
        np.testing.assert_array_equal(base[axis] + within.get(axis, 0), table[window])


@st.composite
def regions(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[list[int], list[int]]:
    extents = [draw(st.integers(1, extent)) for extent in shape]
    starts = [draw(st.integers(0, whole - extent)) for whole, extent in zip(shape, extents, strict=True)]
    return starts, extents


@given(st.one_of(tiles(), shared_layouts().map(lambda made: made[0])), st.data())
def test_any_slice_is_split_correctly_or_rejected(layout: Layout, data: st.DataObject) -> None:
    starts, extents = data.draw(regions(layout.shape))
    try:
        base, part = slice_region(layout, starts, extents)
    except LayoutError:
        return
    assert_slice(layout, starts, extents, base, part)


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 30)), min_size=1, max_size=3), st.data())
def test_a_layout_with_one_stride_per_dimension_always_splits(pairs, data: st.DataObject) -> None:
    layout = TileLayout(S[tuple(e for e, _ in pairs) : tuple(s @ TCol for _, s in pairs)])
    starts, extents = data.draw(regions(layout.shape))
    base, part = slice_region(layout, starts, extents)
    assert_slice(layout, starts, extents, base, part)
    symbolic, same = slice_region(layout, [Name(f"i{dim}") for dim in range(layout.ndim)], extents)
    assert same == part
    assert evaluate(symbolic[TCol], **{f"i{dim}": start for dim, start in enumerate(starts)}) == base[TCol]


@given(shared_layouts(), st.data())
def test_slices_of_whole_atoms_always_split(made, data: st.DataObject) -> None:
    layout, dtype, mode = made
    span = layout.linear.dims[-1][-1].extent
    atom = (1,) * (layout.ndim - 2) + (8, span)
    starts, extents = data.draw(regions(tuple(whole // unit for whole, unit in zip(layout.shape, atom, strict=True))))
    names = [f"i{dim}" for dim in range(layout.ndim)]
    units = dict(zip(names, atom, strict=True))
    extents = [extent * unit for extent, unit in zip(extents, atom, strict=True)]
    # With a single atom, the compiler knows that the start is 0.
    given_starts = [Name(name) if whole > units[name] else 0 for name, whole in zip(names, layout.shape, strict=True)]
    symbolic, part = slice_region(layout, given_starts, extents, divisor=lambda start: units[start.name])
    starts = [start * unit for start, unit in zip(starts, atom, strict=True)]
    base = {axis: evaluate(place, **dict(zip(names, starts, strict=True))) for axis, place in symbolic.items()}
    assert isinstance(part, ComposeLayout) == isinstance(layout, ComposeLayout)
    assert_slice(layout, starts, extents, base, part)


@st.composite
def swizzled_tiles(draw: st.DrawFn) -> ComposeLayout:
    """Tiles whose strides are below, between and above the swizzle's row and atom."""
    strides = st.sampled_from([1, 2, 8, 16, 32, 64, 96, 128, 256, 512, 1024])
    iters = st.builds(Iter, st.sampled_from([2, 3, 4, 8]), strides)
    dims = draw(st.lists(st.lists(iters, min_size=1, max_size=3).map(tuple), min_size=1, max_size=2))
    mode = draw(st.sampled_from(SWIZZLED))
    return ComposeLayout(SwizzleLayout(mode, draw(st.sampled_from([8, 16]))), TileLayout(Spec(tuple(dims))))


@settings(max_examples=400)
@given(st.one_of(tiles(), swizzled_tiles()), st.data())
def test_a_symbolic_slice_holds_for_every_start_or_is_rejected(layout: Layout, data: st.DataObject) -> None:
    extents, divisors = [], []
    for whole in layout.shape:
        sizes = [size for size in range(1, whole + 1) if whole % size == 0]
        extents.append(data.draw(st.sampled_from(sizes)))
        divisors.append(data.draw(st.sampled_from(sizes)))
    names = [f"i{dim}" for dim in range(layout.ndim)]
    known = dict(zip(names, divisors, strict=True))
    try:
        base, part = slice_region(layout, [Name(name) for name in names], extents, lambda start: known[start.name])
    except LayoutError:
        return
    choices = (range(0, whole - e + 1, d) for whole, e, d in zip(layout.shape, extents, divisors, strict=True))
    for starts in itertools.islice(itertools.product(*choices), 64):
        values = dict(zip(names, starts, strict=True))
        assert_slice(layout, starts, extents, {axis: evaluate(place, **values) for axis, place in base.items()}, part)


def test_the_base_of_a_stage_is_one_multiplication() -> None:
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (4, 2, 128, 64))
    base, part = slice_region(layout, (Name("stage"), Name("consumer"), 0, 0), (1, 1, 128, 64))
    assert str(base[m]) == "((stage * 16384) + (consumer * 8192))"
    tile = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))
    assert part.reshape((128, 64)).linear == tile.linear


def test_the_base_of_tensor_memory_columns() -> None:
    tmem = TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)])
    base, part = slice_region(tmem, (0, Name("column")), (128, 64))
    assert base[TLane] == 0 and str(base[TCol]) == "column"
    assert part == TileLayout(S[(128, 64) : (1 @ TLane, 1 @ TCol)])


def test_a_slice_inside_one_digit_keeps_the_inner_digits() -> None:
    accumulator = wgmma_accumulator_layout(64)
    base, part = slice_region(accumulator, (16, 8), (16, 8))
    assert base == {wid_in_wg: 1, m: 4, laneid: 0}
    assert_slice(accumulator, (16, 8), (16, 8), base, part)


def test_a_symbolic_start_that_may_leave_its_block_is_rejected() -> None:
    blocks = TileLayout(S[((4, 16),) : ((100, 1),)])
    start = Name("i")
    base, part = slice_region(blocks, (start,), (8,), divisor=lambda _: 8)
    assert part == TileLayout(S[8:1])
    for i in range(0, 64, 8):
        assert_slice(blocks, (i,), (8,), {m: evaluate(base[m], i=i)}, part)
    with pytest.raises(LayoutError, match="dimension 0: an extent of 8 from a multiple of 4"):
        slice_region(blocks, (start,), (8,), divisor=lambda _: 4)
    with pytest.raises(LayoutError, match="nor stays within"):
        slice_region(blocks, (0,), (24,))
    base, part = slice_region(blocks, (19,), (8,))  # an int is its own divisor
    assert base == {m: 103} and part == TileLayout(S[8:1])


def test_divisors_that_are_not_powers_of_two() -> None:
    blocks = TileLayout(S[((4, 12),) : ((100, 1),)])
    base, part = slice_region(blocks, (Name("i"),), (6,), divisor=lambda _: 18)
    for i in (0, 18, 36):
        assert_slice(blocks, (i,), (6,), {m: evaluate(base[m], i=i)}, part)
    # 16 is a multiple of 8, but 16 % 12 = 4 is not: the slice would begin at 64, inside the swizzle's atom of 128.
    swizzle = SwizzleLayout(SwizzleMode.SWIZZLE_32B_ATOM, 16)
    with pytest.raises(LayoutError, match="multiple of 64 elements"):
        slice_region(ComposeLayout(swizzle, TileLayout(S[((4, 12),) : ((1024, 16),)])), (Name("i"),), (4,), lambda _: 8)


@pytest.mark.parametrize("mode", SWIZZLED)
def test_a_slice_that_begins_inside_a_swizzle_atom_is_rejected(mode) -> None:
    span = mode.span_bytes // 2
    layout = tma_shared_layout("float16", mode, (2, 16, span))
    for start in ((0, 1, 0), (0, 0, 8), (1, 4, 0)):
        extents = (1, 8, span) if start[2] == 0 else (1, 8, 8)
        with pytest.raises(LayoutError, match=rf"{mode.name} repeats only after {8 * span}: begin it on a whole atom"):
            slice_region(layout, start, extents)
    with pytest.raises(LayoutError, match="begins at a multiple of"):
        slice_region(layout, (0, Name("row"), 0), (1, 8, span))


def test_a_slice_with_too_few_dimensions_is_rejected() -> None:
    with pytest.raises(LayoutError, match="of 2 dimensions needs as many"):
        slice_region(TileLayout(S[(4, 4)]), (0,), (4,))


def test_a_start_known_to_be_zero_is_treated_as_zero() -> None:
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (16, 64))
    base, part = slice_region(layout, (Name("zero"), Name("zero")), (8, 64), divisor=lambda _: 0)
    assert base == {m: 0} and part == tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (8, 64))
