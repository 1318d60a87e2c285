"""The kernel for every shape is right on all of its plans, and chooses them for the shapes that they are for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from kernels_ref.sm90 import extra_every_shape as extra
from kernels_ref.sm90.extra_plans import (
    MOST_SWAPPED,
    RESIDENT,
    SHARED_WIDTHS,
    SM_COUNT,
    WIDTHS,
    Plan,
    k_step,
    plan,
    plans,
)
from kernels_ref.sm90.step10_multi_consumer import TILES
from tirx_mini.course import Shape
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.runtime import build
from utils import prepare_data, verify

CASES: tuple[tuple[Shape, int, int, int], ...] = (
    ((512, 640, 512), 128, 128, 1),  # several tiles a CTA
    ((192, 320, 192), 128, 48, 1),  # tiles that are moved inside, from both edges
    ((64, 192, 128), 128, 96, 1),  # a tile that hangs over an edge, since D has fewer rows
    ((128, 416, 64), 128, 208, 1),  # one K tile, and sixteen columns at a time
    ((1152, 512, 128), 128, 256, 1),  # nine rows of tiles: neighbours have 4 × 4 of them
    ((192, 320, 192), 64, 96, 1),  # one consumer
    ((192, 192, 384), 64, 64, 1),  # stages of 128 columns, several tiles a CTA
    ((128, 128, 192), 64, 64, 1),  # a K that allows stages of 64 only
    ((448, 384, 128), 192, 192, 1),  # three, and tiles that are moved inside
    ((128, 256, 1024), 128, 128, 2),  # pairs that share K
    ((128, 96, 256), 128, 32, 2),  # pairs, the last tile within D
    ((128, 64, 512), 64, 32, 4),  # four, eight columns at a time
    ((64, 192, 1024), 64, 128, 8),  # eight, a tile that is moved inside
    ((131, 200, 200), 64, 64, 1),  # rows beyond the edge, and a K that ends within a step
    ((300, 136, 328), 192, 96, 1),  # tiles that are moved inside by whole parts
    ((300, 328, 72), 128, 256, 1),  # by eight rows, and by a whole part of which D has eight columns
    ((70, 136, 64), 64, 128, 1),  # a part of which another tile has all but eight rows
    ((201, 203, 72), 128, 48, 1),  # an odd N: no store by TMA
    ((200, 101, 328), 64, 64, 4),  # the same, with a K that four share
    ((200, 104, 136), 128, 64, 4),  # one CTA of four has zeros only
    ((1, 1, 8), 64, 32, 1),
)
"""Shapes with the rows and columns of a tile and the CTAs that share its K, on a GPU of 4 SMs where K is not shared."""


def check(kernel: PrimFunc, shape: Shape, dtype: str = "float16", schedules: int = 1) -> None:
    A, B, D = prepare_data(*shape, dtype=dtype, target="sim:h100", arrays=True)
    report = tvm.simulate(kernel, A, B, D, gpu="h100", schedules=schedules)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
    assert report.proof is not None and report.proof.holds, str(report)
    verify(A, B, D)


@pytest.mark.parametrize("shape, blk_m, blk_n, ctas", CASES)
def test_a_plan_is_right(shape: Shape, blk_m: int, blk_n: int, ctas: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "RESIDENT", {1: 4})
    check(extra.shared_tiles(*shape, "float16", blk_m, blk_n, ctas), shape)


SHARED_COLUMNS: tuple[tuple[Shape, int, int, int], ...] = (
    ((512, 640, 136), 128, 128, 2),  # several tiles a CTA
    ((385, 136, 72), 192, 128, 2),  # the lower tile of a pair lies below D
    ((300, 203, 104), 128, 96, 2),  # tiles that are moved inside, and no store by TMA
    ((130, 72, 200), 64, 64, 2),  # a stage of 128 columns, a tile that hangs over an edge
    ((1216, 256, 72), 64, 128, 2),  # 19 rows of tiles: pairs are neighbours
    ((330, 128, 136), 64, 64, 4),  # two of eight tiles lie below D
)
"""Shapes with the rows and columns of a tile and the CTAs that share the columns, on a GPU of 4 SMs."""


@pytest.mark.parametrize("shape, blk_rows, blk_cols, multicast", SHARED_COLUMNS)
def test_ctas_that_share_columns_are_right(
    shape: Shape, blk_rows: int, blk_cols: int, multicast: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra, "RESIDENT", {1: 4, 2: 2, 4: 1})
    check(extra.shared_tiles(*shape, "float16", blk_rows, blk_cols, MULTICAST=multicast), shape, schedules=2)


SWAPPED: tuple[tuple[Shape, int, int, int], ...] = (
    ((72, 320, 128), 64, 72, 1),  # three parts of 24 columns
    ((70, 136, 200), 64, 40, 1),  # tiles that are moved inside, and rows of D beyond the edge
    ((19, 328, 136), 128, 24, 1),  # two consumers, and columns of D beyond the edge
    ((200, 208, 72), 192, 104, 1),  # three
    ((48, 101, 72), 64, 48, 1),  # an odd N: no store by TMA
    ((70, 520, 136), 64, 96, 4),  # nine rows of tiles for clusters of four
    ((3, 256, 72), 64, 16, 2),
    ((5, 72, 2632), 64, 8, 1),  # two chains of 1024 columns, and one of 584
)
"""Shapes with the rows and columns of a tile of D transposed and the CTAs that share the columns."""


@pytest.mark.parametrize("shape, blk_rows, blk_cols, multicast", SWAPPED)
def test_tiles_of_d_transposed_are_right(
    shape: Shape, blk_rows: int, blk_cols: int, multicast: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra, "RESIDENT", {1: 4, 2: 2, 4: 1})
    kernel = extra.shared_tiles(*shape, "float16", blk_rows, blk_cols, MULTICAST=multicast, SWAPPED=True)
    check(kernel, shape, schedules=2 if multicast > 1 else 1)


@pytest.mark.parametrize("ctas", [2, 4])
def test_a_run_without_data_finds_nothing_in_ctas_that_exchange_sums(ctas: int) -> None:
    kernel = extra.shared_tiles(128, 128, 256, "float16", 128, 64, ctas)
    assert tvm.simulate(kernel, gpu="h100", data=False).verdict == "clock"


@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_a_plan_is_right_in_bfloat16_and_other_schedules(ctas: int) -> None:
    check(extra.shared_tiles(128, 128, 256, "bfloat16", 128, 64, ctas), (128, 128, 256), "bfloat16", schedules=4)


@pytest.mark.parametrize("ctas", [2, 4])
def test_ctas_add_the_same_numbers_in_every_schedule(ctas: int) -> None:
    kernel = extra.shared_tiles(128, 64, 512, "float16", 64, 64, ctas)
    A, B, _ = prepare_data(128, 64, 512, target="sim:h100", arrays=True)
    results = []
    for seed in (0, 3):
        D = np.full((128, 64), np.nan, np.float16)
        assert tvm.simulate(kernel, A, B, D, gpu="h100", seed=seed).ok
        results.append(D)
    assert np.array_equal(*results)


def test_plans_fit_their_shapes() -> None:
    assert plan(1536, 3072, 8192) == Plan(True, 192, 192, 1)  # 8 × 16 tiles are one wave
    assert plan(256, 256, 16384).workers >= 120  # few tiles, long K
    assert plan(256, 1024, 2048) in (Plan(True, 64, 32, 1), Plan(True, 64, 32, 1, swapped=True))  # 4 × 32 small tiles
    assert plan(70, 7136, 696).swapped and plan(70, 7136, 696).blk_n == 72  # not two tiles of 64 rows
    assert plan(278, 5824, 11672).multicast == 4 and plan(278, 5824, 11672).swapped  # unaligned rows, few tiles
    assert not plan(8192, 3072, 3072).own  # many waves: step 10
    assert plan(4096, 4096, 4104) == Plan(True, 128, 256, 1, multicast=2)  # rows that begin within a sector of the L2


def test_stages_of_small_tiles_hold_twice_as_much_where_k_allows_it() -> None:
    assert k_step(64, 64, 1, 256) == k_step(64, 32, 2, 256) == 128
    assert k_step(64, 64, 1, 192) == k_step(64, 64, 4, 256) == 64  # K of a CTA is not a multiple of 128
    assert k_step(64, 96, 1, 256) == k_step(128, 64, 1, 256) == 64


@given(st.integers(1, 20000), st.integers(1, 20000), st.integers(1, 2500))
@settings(max_examples=200, deadline=None)
def test_every_shape_has_plans_that_cover_it(m: int, n: int, k: int) -> None:
    found = list(plans(m, n, 8 * k))
    assert plan(m, n, 8 * k) in found
    for each in found:
        rows, cols = (n, m) if each.swapped else (m, n)
        tiles = -(-rows // each.blk_m) * -(-cols // each.blk_n)
        if not each.own:
            assert (each.blk_m, each.blk_n) in TILES and m % 64 == n % 64 == 8 * k % 64 == 0
        elif each.workers:
            assert each.blk_m in (64, 128) and each.blk_n % 8 == 0 and 1 <= each.workers <= SM_COUNT
            assert tiles * each.workers * -(-8 * k // 64) < 2**31  # shares are computed in 32 bits
            assert m <= MOST_SWAPPED if each.swapped else m >= 64
            assert each.multicast == 1 or each.workers % tiles == 0 == -(-rows // each.blk_m) % each.multicast
            assert each.workers <= each.multicast * RESIDENT[each.multicast] and each.blk_n % (8 * each.multicast) == 0
        elif each.swapped:
            assert m <= MOST_SWAPPED and each.ctas == 1 and 8 <= each.blk_n <= WIDTHS[each.blk_m][-1]
            assert each.blk_n % (8 * each.multicast) == 0
        else:
            assert each.blk_n in (WIDTHS[each.blk_m] if each.ctas == 1 else SHARED_WIDTHS)
            assert tiles <= RESIDENT[each.ctas] or each.ctas == 1
            assert each.blk_n % (8 * each.ctas) == 0
            assert each.multicast == 1 or (each.ctas == 1 and k % 8 and each.blk_m * (each.multicast - 1) < m)


def test_tiles_leave_the_l2_first_where_no_later_wave_needs_them() -> None:
    assert extra.first_out(2048, 576, 7168, tiles=96)  # one wave
    assert extra.first_out(1024, 8192, 4096, tiles=256) and extra.first_out(8192, 1024, 4096, tiles=256)
    assert not extra.first_out(4096, 4096, 4096, tiles=512)
    assert not extra.first_out(128, 28672, 8192, tiles=128)  # far more than the L2 holds


def test_what_no_tile_covers_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 8, but K is 100: pad A and B with columns of zeros"):
        extra.hgemm(128, 128, 100)
    with pytest.raises(ValueError, match="M, N and K of at least 1, but they are 0, 128 and 64"):
        extra.hgemm(0, 128, 64)


@pytest.mark.compiler
@pytest.mark.parametrize(
    "blk_m, blk_n, ctas", [(128, 256, 1), (128, 208, 1), (192, 192, 1), (64, 64, 1), (128, 64, 2), (64, 128, 8)]
)
def test_a_plan_compiles_without_spills(blk_m: int, blk_n: int, ctas: int) -> None:
    kernel = extra.shared_tiles(192, 4096, 1024, "float16", blk_m, blk_n, ctas)
    resources = build(lower(kernel), "sm_90a").compiled.resources
    assert resources.spill_store_bytes == resources.spill_load_bytes == 0
