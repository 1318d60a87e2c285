"""Random linear layouts."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from tirx_mini.frontends.tile_ir.layouts import LinearLayout, bits_of

extents = st.sampled_from([1, 2, 4, 8, 16])
shapes = st.lists(extents, min_size=1, max_size=3).map(tuple)


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...] | None = None, warps: int | None = None) -> LinearLayout:
    """A layout with its unit steps in any order, some of them mixed, and some replicas."""
    shape = draw(shapes) if shape is None else shape
    total = bits_of(math.prod(shape))
    warp_bits = draw(st.integers(0, 2)) if warps is None else bits_of(warps)
    steps = draw(st.permutations([1 << bit for bit in range(total)]))
    for i in range(1, len(steps)):  # an invertible mix: each step may gain some of those before it
        for j in range(i):
            steps[i] ^= steps[j] if draw(st.integers(0, 3)) == 0 else 0
    places = draw(st.permutations(range(total + 5 + warp_bits)))
    slots = [0] * (total + 5 + warp_bits)
    for place, step in zip(places, steps, strict=False):
        slots[place] = step
    lane, warp, register = slots[:5], slots[5 : 5 + warp_bits], slots[5 + warp_bits :]
    return LinearLayout(shape, tuple(register), tuple(lane), tuple(warp))
