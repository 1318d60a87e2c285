"""The kernel whose CTAs share the steps of all tiles is right for every division, shape and orientation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from kernels_ref.sm90.extra_every_shape import hgemm
from kernels_ref.sm90.extra_plans import plan, shared_k_step, slots
from kernels_ref.sm90.extra_shared_k import division, shared_k
from tests.kernels_ref.test_extra import check
from tirx_mini.course import Shape
from tirx_mini.passes import lower
from tirx_mini.runtime import build
from utils import prepare_data

CASES: tuple[tuple[Shape, int, int, int, bool], ...] = (
    ((64, 64, 512), 64, 64, 3, False),  # three CTAs share one tile, unevenly
    ((100, 131, 1000), 64, 64, 7, False),  # shares that begin and end within tiles, an odd N
    ((190, 131, 392), 128, 32, 9, False),  # two consumers
    ((128, 128, 64), 64, 64, 1, False),  # one CTA has all tiles
    ((128, 192, 128), 64, 64, 6, False),  # a tile each
    ((1, 200, 520), 64, 8, 5, True),  # one row
    ((7, 131, 1000), 128, 8, 7, True),
    ((40, 72, 264), 64, 40, 4, True),
    ((1, 1, 8), 64, 8, 1, True),
    ((3, 72, 4200), 64, 8, 3, True),  # chains of 1024 columns, within two tiles
)
"""Shapes with the rows and columns of a tile, the CTAs, and whether the rows of a tile are rows of B."""


@pytest.mark.parametrize("shape, blk_rows, blk_cols, workers, swapped", CASES)
def test_a_division_is_right(shape: Shape, blk_rows: int, blk_cols: int, workers: int, swapped: bool) -> None:
    check(shared_k(*shape, "float16", blk_rows, blk_cols, workers, swapped), shape)


SHARED_COLUMNS: tuple[tuple[Shape, int, int, int, bool, int], ...] = (
    ((256, 72, 520), 64, 80, 8, False, 2),  # clusters of two, two CTAs a tile
    ((100, 131, 1000), 64, 64, 18, False, 2),  # three tiles of columns, which the last hangs over
    ((200, 64, 392), 64, 64, 4, False, 4),
    ((20, 500, 712), 128, 32, 12, True, 4),  # rows of B, two consumers
)
"""The same, and the CTAs of a cluster that share the columns."""


@pytest.mark.parametrize("shape, blk_rows, blk_cols, workers, swapped, multicast", SHARED_COLUMNS)
def test_a_division_among_clusters_is_right(
    shape: Shape, blk_rows: int, blk_cols: int, workers: int, swapped: bool, multicast: int
) -> None:
    check(shared_k(*shape, "float16", blk_rows, blk_cols, workers, swapped, multicast), shape, schedules=2)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_division_is_right_in_bfloat16_and_other_schedules(swapped: bool) -> None:
    shape = (40, 100, 328)
    check(shared_k(*shape, "bfloat16", 64, 40, 5, swapped), shape, "bfloat16", schedules=4)


@given(
    st.tuples(st.integers(1, 150), st.integers(1, 150), st.integers(1, 60)), st.sampled_from([64, 128]),
    st.integers(1, 8), st.integers(1, 9), st.booleans(),
)  # fmt: skip
@settings(max_examples=12, deadline=None)
def test_drawn_shapes_are_right(
    drawn: Shape, blk_rows: int, eights: int, most_workers: int, swapped: bool
) -> None:  # fmt: skip
    m, n, k = drawn[0], drawn[1], 8 * drawn[2]
    rows, cols = (n, m) if swapped else (m, n)
    blk_cols = 8 * eights
    units = -(-rows // blk_rows) * -(-cols // blk_cols) * -(-k // shared_k_step(blk_rows, blk_cols))
    check(shared_k(m, n, k, "float16", blk_rows, blk_cols, min(most_workers, units), swapped), (m, n, k))


@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 40))
@settings(max_examples=8, deadline=None)
def test_the_plan_of_a_drawn_shape_is_right(m: int, n: int, eights: int) -> None:
    check(hgemm(m, n, 8 * eights), (m, n, 8 * eights))


def test_the_sums_do_not_depend_on_the_schedule() -> None:
    kernel = shared_k(64, 72, 1032, "float16", 64, 32, 7)
    A, B, _ = prepare_data(64, 72, 1032, target="sim:h100", arrays=True)
    results = []
    for seed in (0, 3):
        D = np.full((64, 72), np.nan, np.float16)
        assert tvm.simulate(kernel, A, B, D, gpu="h100", seed=seed).ok
        results.append(D)
    assert np.array_equal(*results)


def test_a_run_without_data_takes_the_same_time() -> None:
    kernel = shared_k(64, 64, 520, "float16", 64, 64, 4)
    A, B, D = prepare_data(64, 64, 520, target="sim:h100", arrays=True)
    clock, full = tvm.simulate(kernel, gpu="h100", data=False), tvm.simulate(kernel, A, B, D, gpu="h100", checks=False)
    assert (clock.verdict, clock.cycles) == ("clock", full.cycles)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 132))
def test_every_part_of_a_tile_has_a_slot_of_its_own(tiles: int, steps: int, workers: int) -> None:
    workers = min(workers, tiles * steps)
    units = tiles * steps
    owners = [(unit + 1) * workers - 1 for unit in range(units)]
    parts = {(owner // units, unit // steps) for unit, owner in enumerate(owners)}
    used = [worker + tile for worker, tile in parts]
    assert len(set(used)) == len(used) and max(used) < slots(tiles, workers)


@given(st.integers(1, 132), st.integers(1, 300), st.integers(1, 256))
def test_the_parts_of_a_sum_are_divided_among_threads(workers: int, tiles: int, warps: int) -> None:
    vectors, threads = tiles * 128, 128 * warps
    lanes, at_once, rounds = division(workers, tiles, vectors, threads)
    assert lanes in (1, 2, 4, 8, 16, 32) and 1 <= at_once <= 16
    assert rounds * threads >= vectors * lanes > (rounds - 1) * threads


def test_few_tiles_with_a_long_k_occupy_the_gpu() -> None:
    for shape in ((320, 320, 16384), (128, 256, 32768), (192, 448, 12288), (328, 520, 8200)):
        chosen = plan(*shape)
        tiles = -(-shape[0] // chosen.blk_m) * -(-shape[1] // chosen.blk_n)
        assert (chosen.workers or tiles * chosen.ctas) >= 110, (shape, chosen)


@pytest.mark.parametrize("m", [1, 5, 16])
def test_few_rows_are_columns_of_a_tile(m: int) -> None:
    chosen = plan(m, 8192, 8192)
    assert (chosen.swapped, chosen.blk_n) == (True, -(-m // 8) * 8)
    assert (chosen.workers or 8192 // chosen.blk_m) >= 110


@pytest.mark.compiler
@pytest.mark.parametrize(
    "blk_rows, blk_cols, swapped", [(64, 8, True), (128, 64, True), (64, 64, False), (128, 128, False)]
)
def test_a_division_compiles_without_spills(blk_rows: int, blk_cols: int, swapped: bool) -> None:
    kernel = shared_k(blk_cols if swapped else 320, 321, 16384, "float16", blk_rows, blk_cols, 132, swapped)
    resources = build(lower(kernel), "sm_90a").compiled.resources
    assert resources.spill_store_bytes == resources.spill_load_bytes == 0
