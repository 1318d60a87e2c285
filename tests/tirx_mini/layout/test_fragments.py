"""Register fragments, compared with the formulas of the PTX ISA."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tirx_mini.layout import (
    LayoutError,
    TCol,
    TLane,
    is_bijective,
    laneid,
    m,
    mma_fragment_layout,
    tcgen05_atom_layout,
    tcgen05_ld_layout,
    tid_in_wg,
    tmem_datapath_layout,
    wg_local_layout,
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


@pytest.mark.parametrize(
    ("shape", "cols", "dtype", "place"),
    [
        ("16x64b", 8, "float32", lambda r, c: (r // 16, 4 * (r % 8) + r // 8 % 2 + 2 * (c % 2), c // 2)),
        ("16x128b", 8, "float32", lambda r, c: (r // 16, 4 * (r % 8) + c % 4, 2 * (c // 4) + r // 8 % 2)),
        ("16x256b", 16, "float32",
         lambda r, c: (r // 16, 4 * (r % 8) + c // 2 % 4, 4 * (c // 8) + 2 * (r // 8 % 2) + c % 2)),
        ("16x256b", 32, "float16",
         lambda r, c: (r // 16, 4 * (r % 8) + c // 4 % 4, 8 * (c // 16) + 4 * (r // 8 % 2) + c % 4)),
    ],
)  # fmt: skip
def test_the_registers_of_a_tcgen05_access(shape, cols, dtype, place) -> None:
    layout = tcgen05_atom_layout(shape, (64, cols), dtype)
    for r, c in np.ndindex(64, cols):
        warp, lane, register = place(r, c)
        assert layout.apply(r, c) == {wid_in_wg: warp, laneid: lane, m: register}


def test_the_rows_of_the_other_shapes() -> None:
    assert tcgen05_atom_layout("32x32b", (128, 8), "float16") == tcgen05_ld_layout(8) == wg_local_layout(8)
    folded = tcgen05_atom_layout("32x32b", (64, 8), "float32")
    assert folded.apply(3, 5) == {tid_in_wg: 67, m: 1}
    both = tcgen05_atom_layout("16x64b", (128, 8), "float32")
    assert both.apply(40, 0) == {wid_in_wg: 1, laneid: 1, m: 0} and both.apply(16, 0) == {wid_in_wg: 0, laneid: 0, m: 4}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("8x8", (64, 8), "float32"), "instr_shape must be one of"),
        (("16x64b", (64, 8), "int8"), "have 32 or 16 bits"),
        (("16x64b", (64, 6), "float32"), "has 2 columns of float32 times a power of two up to 128, not 6"),
        (("16x256b", (64, 512), "float32"), "up to 32, not 512"),
        (("32x32b", (64, 8), "float16"), "has 128 or 64 rows as its shape allows, not 64"),
        (("16x64b", (32, 8), "float32"), "not 32"),
    ],
)
def test_tcgen05_accesses_that_do_not_exist(arguments, sentence) -> None:
    with pytest.raises(LayoutError, match=re.escape(sentence)):
        tcgen05_atom_layout(*arguments)


def test_the_data_paths_of_the_tensor_core() -> None:
    assert tmem_datapath_layout("D", 128, 16).apply(5, 7) == {TLane: 5, TCol: 7}
    assert tmem_datapath_layout("F", 64, 16).apply(17, 7) == {TLane: 33, TCol: 7}
    assert tmem_datapath_layout("F", 64, 16, 1).apply(17, 7) == {TLane: 49, TCol: 7}
    assert tmem_datapath_layout("B", 64, 16).apply(5, 9) == {TLane: 69, TCol: 1}
    assert tmem_datapath_layout("G", 32, 16).apply(5, 9) == {TLane: 69, TCol: 1}
    for wrong in (("D", 64, 16), ("H", 64, 16), ("B", 64, 15), ("D", 128, 16, 1), ("F", 64, 16, 2)):
        with pytest.raises(LayoutError):
            tmem_datapath_layout(*wrong)


@pytest.mark.parametrize("shape", [(16, 12, 16), (4, 16, 16), (16, 32, 16), (16, 16, 32)])
def test_other_extents_are_no_fragments_of_mma(shape: tuple[int, int, int]) -> None:
    with pytest.raises(LayoutError, match=r"fragments of mma\.sync have 16 or 8 rows"):
        mma_fragment_layout(*shape)
