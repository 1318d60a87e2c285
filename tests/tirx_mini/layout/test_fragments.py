"""Register fragments, compared with the formulas of the PTX ISA."""

from __future__ import annotations

import pytest

from tirx_mini.layout import (
    LayoutError,
    is_bijective,
    laneid,
    m,
    tcgen05_ld_layout,
    tid_in_wg,
    wgmma_accumulator_layout,
    wid_in_wg,
)


@pytest.mark.parametrize("n", [8, 64, 136, 256])
def test_the_wgmma_accumulator_matches_the_isa(n: int) -> None:
    """The ISA maps thread and register to an element; the layout is the inverse map."""
    layout = wgmma_accumulator_layout(n)
    assert layout.shape == (64, n) and is_bijective(layout)
    for thread in range(128):
        for register in range(n // 2):
            row = thread // 32 * 16 + thread % 32 // 4 + (8 if register % 4 >= 2 else 0)
            col = register // 4 * 8 + thread % 4 * 2 + register % 2
            assert layout.apply(row, col) == {wid_in_wg: thread // 32, laneid: thread % 32, m: register}


def test_rows_beyond_64_use_further_registers() -> None:
    one, two = wgmma_accumulator_layout(128), wgmma_accumulator_layout(128, rows=128)
    assert two.shape == (128, 128) and is_bijective(two)
    for row, col in ((0, 0), (17, 5), (63, 127)):
        place = one.apply(row, col)
        assert two.apply(row, col) == place
        assert two.apply(row + 64, col) == {**place, m: place[m] + 64}
    with pytest.raises(LayoutError, match="multiple of 64 rows"):
        wgmma_accumulator_layout(128, rows=96)


def test_an_unsupported_accumulator_width_is_rejected() -> None:
    for n in (0, 12, 264):
        with pytest.raises(LayoutError, match=f"n is {n}, .* 8, 16, … 256 columns"):
            wgmma_accumulator_layout(n)


@pytest.mark.parametrize("layout", [wgmma_accumulator_layout, tcgen05_ld_layout])
def test_extents_that_are_not_ints_are_rejected(layout) -> None:
    with pytest.raises(LayoutError, match=r"^n must be an int, not 64\.0"):
        layout(128 / 2)
    with pytest.raises(LayoutError, match=r"^rows must be an int, not '64'"):
        layout(64, "64")


def test_an_empty_tcgen05_ld_layout_is_rejected() -> None:
    with pytest.raises(LayoutError, match="n and rows must be at least 1, not 0 and 128"):
        tcgen05_ld_layout(0)


def test_a_tensor_memory_load_gives_each_thread_its_row() -> None:
    assert tcgen05_ld_layout(64).apply(77, 5) == {tid_in_wg: 77, m: 5}
