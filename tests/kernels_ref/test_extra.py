"""The kernel for every shape is right on all of its plans, and chooses them for the shapes that they are for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from kernels_ref.sm90 import extra_every_shape as extra
from tirx_mini.course import Shape
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.runtime import build
from utils import prepare_data, verify

CASES: tuple[tuple[Shape, int, int], ...] = (
    ((512, 640, 512), 128, 1),  # several tiles a CTA
    ((192, 320, 192), 48, 1),  # tiles that hang over both edges
    ((128, 416, 64), 208, 1),  # one K tile, and sixteen columns at a time
    ((128, 256, 1024), 128, 2),  # pairs
    ((128, 96, 256), 32, 2),  # pairs, the last tile within D
    ((1152, 512, 128), 256, 1),  # nine rows of tiles: neighbours have 4 × 4 of them
)
"""Shapes with the width of a tile and the CTAs that share it, on a GPU of 4 SMs."""


def check(kernel: PrimFunc, shape: Shape, dtype: str = "float16", schedules: int = 1) -> None:
    A, B, D = prepare_data(*shape, dtype=dtype, target="sim:h100", arrays=True)
    report = tvm.simulate(kernel, A, B, D, gpu="h100", schedules=schedules)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
    assert report.proof is not None and report.proof.holds, str(report)
    verify(A, B, D)


@pytest.mark.parametrize("shape, blk_n, ctas", CASES)
def test_a_plan_is_right(shape: Shape, blk_n: int, ctas: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "SM_COUNT", 8 if ctas > 1 else 4)
    check(extra.shared_tiles(*shape, "float16", blk_n, ctas), shape)


def test_a_run_without_data_finds_nothing_in_a_pair_that_exchanges_sums() -> None:
    assert tvm.simulate(extra.shared_tiles(128, 128, 256, "float16", 64, 2), gpu="h100", data=False).verdict == "clock"


@pytest.mark.parametrize("ctas", [1, 2])
def test_a_plan_is_right_in_bfloat16_and_other_schedules(ctas: int) -> None:
    check(extra.shared_tiles(128, 128, 256, "bfloat16", 64, ctas), (128, 128, 256), "bfloat16", schedules=4)


def test_a_pair_adds_the_same_numbers_in_every_schedule() -> None:
    kernel = extra.shared_tiles(128, 64, 512, "float16", 64, 2)
    A, B, _ = prepare_data(128, 64, 512, target="sim:h100", arrays=True)
    results = []
    for seed in (0, 3):
        D = np.full((128, 64), np.nan, np.float16)
        assert tvm.simulate(kernel, A, B, D, gpu="h100", seed=seed).ok
        results.append(D)
    assert np.array_equal(*results)


def test_plans_fit_their_shapes() -> None:
    assert extra.plan(1536, 1536, 1536).blk_n == 144  # 12 × 11 tiles are one wave
    assert extra.plan(128, 4096, 14336).ctas == 2  # few tiles, long K
    assert not extra.plan(8192, 8192, 8192).shared  # many waves: step 10
    assert extra.plan(4096, 4096, 14336) == extra.plan(4096, 4096, 14336)


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 300))
@settings(max_examples=200, deadline=None)
def test_every_shape_has_a_plan_that_covers_it(m: int, n: int, k: int) -> None:
    chosen = extra.plan(64 * m, 64 * n, 64 * k)
    assert chosen.blk_n in (*extra.WIDTHS, *(blk_n for _, blk_n in extra.TILES))
    if chosen.ctas > 1:
        assert k % chosen.ctas == 0 and -(-m // 2) * -(-64 * n // chosen.blk_n) * chosen.ctas <= extra.SM_COUNT


def test_what_no_tile_covers_is_refused() -> None:
    with pytest.raises(ValueError, match="hgemm needs K to be a multiple of 64, but K is 100"):
        extra.hgemm(128, 128, 100)


@pytest.mark.compiler
@pytest.mark.parametrize("blk_n, ctas", [(256, 1), (208, 1), (64, 2)])
def test_a_plan_compiles_without_spills(blk_n: int, ctas: int) -> None:
    kernel = extra.shared_tiles(128, 4096, 1024, "float16", blk_n, ctas)
    resources = build(lower(kernel), "sm_90a").compiled.resources
    assert resources.spill_store_bytes == resources.spill_load_bytes == 0
