"""Random layouts, and plain enumerations to compare them with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import hypothesis.strategies as st

from tirx_mini.layout import (
    Axis,
    Iter,
    Layout,
    Spec,
    SwizzleMode,
    TCol,
    TileLayout,
    TLane,
    laneid,
    m,
    tma_shared_layout,
    wid_in_wg,
)

SWIZZLED = (SwizzleMode.SWIZZLE_32B_ATOM, SwizzleMode.SWIZZLE_64B_ATOM, SwizzleMode.SWIZZLE_128B_ATOM)
DTYPES = ("float8_e4m3fn", "float16", "bfloat16", "float32")


def iters(axes: Sequence[Axis] = (m, TLane, laneid)) -> st.SearchStrategy[Iter]:
    extents = st.sampled_from([1, 2, 3, 4, 6, 8])
    return st.builds(Iter, extents, st.integers(0, 64), st.sampled_from(axes))


def tiles(axes: Sequence[Axis] = (m, TLane, laneid)) -> st.SearchStrategy[TileLayout]:
    """Any strided layout of up to three dimensions."""
    dim = st.lists(iters(axes), min_size=1, max_size=3).map(tuple)
    dims = st.lists(dim, min_size=1, max_size=3).map(tuple)
    return dims.map(lambda dims: TileLayout(Spec(dims))).filter(lambda tile: tile.size() <= 512)


@st.composite
def bijective_tiles(draw: st.DrawFn, axes: Sequence[Axis] = (m, TCol, wid_in_wg)) -> TileLayout:
    """Digits permuted over dimensions and axes, so that each place is used exactly once."""
    extents = draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 8]), min_size=1, max_size=6).filter(small))
    reached = dict.fromkeys(axes, 1)
    shuffled: list[Iter] = []
    for extent in extents:
        axis = draw(st.sampled_from(axes))
        shuffled.append(Iter(extent, reached[axis], axis))
        reached[axis] *= extent
    shuffled = draw(st.permutations(shuffled))
    cuts = sorted(draw(st.sets(st.integers(1, len(shuffled) - 1), max_size=2))) if len(shuffled) > 1 else []
    bounds = [0, *cuts, len(shuffled)]
    return TileLayout(Spec(tuple(tuple(shuffled[a:b]) for a, b in itertools.pairwise(bounds))))


@st.composite
def shared_layouts(
    draw: st.DrawFn, modes: Sequence[SwizzleMode] = tuple(SwizzleMode)
) -> tuple[Layout, str, SwizzleMode]:
    """Layouts from `tma_shared_layout`, with their dtype and mode."""
    mode, dtype = draw(st.sampled_from(modes)), draw(st.sampled_from(DTYPES))
    stages = draw(st.sampled_from([(), (1,), (2,), (3,), (2, 2)]))
    rows, slabs = 8 * draw(st.integers(1, 3)), draw(st.integers(1, 3))
    cols = slabs * mode.span_bytes // itemsize(dtype)
    return tma_shared_layout(dtype, mode, (*stages, rows, cols)), dtype, mode


def small(extents: Sequence[int]) -> bool:
    return math.prod(extents) <= 512


def itemsize(dtype: str) -> int:
    return {"float8_e4m3fn": 1, "float16": 2, "bfloat16": 2, "float32": 4}[dtype]


def coordinates(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*(range(extent) for extent in shape))


def enumerate_tile(tile: TileLayout) -> dict[tuple[int, ...], dict[Axis, int]]:
    """The whole map, enumerated digit by digit without any division."""
    table: dict[tuple[int, ...], dict[Axis, int]] = {}
    counters = [list(itertools.product(*(range(it.extent) for it in dim))) for dim in tile.dims]
    for numbered in itertools.product(*(enumerate(counter) for counter in counters)):
        places = dict.fromkeys(tile.axes, 0)
        for dim, (_, digits) in zip(tile.dims, numbered, strict=True):
            for it, digit in zip(dim, digits, strict=True):
                places[it.axis] += digit * it.stride
        table[tuple(number for number, _ in numbered)] = places
    assert len(table) == math.prod(tile.shape)
    return table


def swizzled_bytes(address: Any, mode: SwizzleMode) -> Any:
    """The swizzle by its definition: 128-byte lines of eight 16-byte chunks, permuted within groups of 2, 4 or 8."""
    line, within = divmod(address, 128)
    chunk, byte = divmod(within, 16)
    chunks = {0: 1, 1: 2, 2: 4, 3: 8}[mode.value]
    group, chunk = divmod(chunk, chunks)
    return line * 128 + (group * chunks + (chunk ^ (line % chunks))) * 16 + byte
