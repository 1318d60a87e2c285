"""The layouts of tensor cores, against the tables of the PTX ISA written out."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.frontends.tile_ir.layouts import (
    LinearLayout,
    blocked,
    mma_accumulator,
    mma_operand,
    replicated,
    tmem_rows,
    wgmma_accumulator,
    wgmma_operand,
)


def _coords(layout: LinearLayout, warp: int, lane: int) -> list[tuple[int, ...]]:
    return [layout.coordinates(element) for element in layout.table()[warp, lane].tolist()]


@pytest.mark.parametrize("lane", [0, 1, 5, 31])
def test_fragments_of_mma_m16n8k16(lane: int) -> None:
    """PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"."""
    group, thread = lane >> 2, lane % 4
    c = [(group + 8 * (i >> 1), thread * 2 + (i & 1)) for i in range(4)]
    a = [(group + (8 if i in (2, 3, 6, 7) else 0), thread * 2 + (i & 1) + (8 if i >= 4 else 0)) for i in range(8)]
    b = [(thread * 2 + (i & 1) + (8 if i >= 2 else 0), group) for i in range(4)]
    one = {"warps_m": 1, "warps_n": 1}
    assert _coords(mma_accumulator((16, 8), **one), 0, lane) == c
    assert _coords(mma_operand((16, 16), operand="A", bits=16, **one), 0, lane) == a
    assert _coords(mma_operand((16, 8), operand="B", bits=16, **one), 0, lane) == b


@pytest.mark.parametrize("lane", [0, 6, 31])
def test_fragments_of_mma_with_wider_and_narrower_elements(lane: int) -> None:
    """PTX ISA, "Matrix Fragments for mma.m16n8k8" (tf32), "… m16n8k32" (8 bits)."""
    group, thread = lane >> 2, lane % 4
    one = {"warps_m": 1, "warps_n": 1}
    tf32 = [(group + 8 * (i & 1), thread + 4 * (i >> 1)) for i in range(4)]
    assert _coords(mma_operand((16, 8), operand="A", bits=32, **one), 0, lane) == tf32
    assert _coords(mma_operand((8, 8), operand="B", bits=32, **one), 0, lane) == [(thread, group), (thread + 4, group)]
    e4m3 = [(group + 8 * (i >> 2 & 1), thread * 4 + (i & 3) + 16 * (i >> 3)) for i in range(16)]
    assert _coords(mma_operand((16, 32), operand="A", bits=8, **one), 0, lane) == e4m3


@pytest.mark.parametrize(("warp", "lane"), [(0, 0), (1, 9), (3, 31), (6, 17)])
def test_fragments_of_wgmma(warp: int, lane: int) -> None:
    """PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of wgmma: matrix D of m64nNk16, and A."""
    row, col = 16 * warp + lane // 4, lane % 4 * 2
    d = [(row + 8 * (i >> 1 & 1), i // 4 * 8 + col + (i & 1)) for i in range(64)]
    assert _coords(wgmma_accumulator((128, 128), warps=8, warpgroups_m=2), warp, lane) == d
    a = [(row + 8 * (i >> 1 & 1), i // 4 * 8 + col + (i & 1)) for i in range(16)]
    assert _coords(wgmma_operand((128, 32), bits=16, warps=8, warpgroups_m=2), warp, lane) == a


def test_each_warpgroup_has_neighbouring_rows() -> None:
    layout = wgmma_accumulator((256, 64), warps=8, warpgroups_m=2)
    assert layout.coordinates(layout.element(0, 0, 4)) == (128, 0)
    assert layout.coordinates(layout.element(32, 0, 4)) == (192, 0)


@pytest.mark.parametrize(("warp", "lane"), [(0, 0), (3, 31), (5, 7)])
def test_rows_of_tensor_memory(warp: int, lane: int) -> None:
    first = 64 if warp >= 4 else 0
    want = [(32 * (warp % 4) + lane, first + n) for n in range(64)]
    assert _coords(tmem_rows((128, 128), warps=8), warp, lane) == want


def test_warps_of_a_small_tile_hold_replicas() -> None:
    layout = mma_accumulator((16, 16), warps_m=2, warps_n=2)
    assert (layout.table()[0] == layout.table()[1]).all()
    assert replicated((4,), warps=4).table().tolist() == np.broadcast_to(np.arange(4), (4, 32, 4)).tolist()
    assert blocked((8,), warps=4, vector=4).registers == 1
