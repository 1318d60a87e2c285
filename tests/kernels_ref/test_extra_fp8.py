"""The GEMM of 8-bit floats is right on all kinds of tilings, and compiles to wgmmas that are not serialised."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from kernels_ref.sm90 import extra_fp8 as extra
from kernels_ref.sm90.extra_fp8 import Tiling, fp8_gemm, tiled, tiling, tilings
from tirx_mini.course import Shape
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.runtime import build

CASES: tuple[tuple[Shape, Tiling], ...] = (
    ((144, 272, 304), Tiling(128, 256)),  # several tiles a CTA, all of which extend beyond an edge
    ((64, 80, 16), Tiling(64, 64)),  # one consumer, one step of zeros for the most part
    ((64, 64, 640), Tiling(64, 64, 1, 1)),  # one set of sums
    ((64, 64, 640), Tiling(64, 64, 1, 2, 4)),  # two sets, and a step that is left after a chain of four
    ((64, 64, 784), Tiling(64, 64, 1, 2, 4)),  # three such steps
    ((80, 176, 720), Tiling(128, 96, 2, 2, 3)),  # two parts and two sets, chains of three
    ((128, 64, 272), Tiling(64, 64, 2, 1)),  # two parts and one set
    ((128, 256, 144), Tiling(128, 256, 4, 2, 1)),  # four parts
    ((128, 256, 256), Tiling(128, 256, 2, 1, 2)),
    ((144, 144, 784), Tiling(64, 64, 1, 0, 1, 2)),  # pairs of CTAs, the last of which has one tile
    ((144, 144, 784), Tiling(64, 64, 1, 2, 2, 2)),
    ((208, 64, 144), Tiling(64, 64, 1, 1, 1, 4)),  # four CTAs, the last one with the edge
)
"""Shapes and tilings, on a GPU of 4 SMs."""


def operands(shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Small integers, factors whose product is a power of two, and what D should be: all of it exact."""
    m, n, k = shape
    numbers = np.random.default_rng(0)
    a, b = (numbers.integers(-4, 5, (rows, k)) for rows in (m, n))
    factors = np.array([0.375], np.float32), np.array([1 / 3], np.float32)
    want = ((a @ b.T).astype(np.float32) * (factors[0] * factors[1])).astype(ml_dtypes.bfloat16)
    return a.astype(ml_dtypes.float8_e4m3fn), b.astype(ml_dtypes.float8_e4m3fn), *factors, want


def check(kernel: PrimFunc, shape: Shape, schedules: int = 1) -> None:
    A, B, a_factor, b_factor, want = operands(shape)
    D = np.full(shape[:2], np.nan, ml_dtypes.bfloat16)
    report = tvm.simulate(kernel, A, B, a_factor, b_factor, D, gpu="h100", schedules=schedules)
    assert (report.verdict, report.findings) == ("ok", ()), str(report)
    assert report.proof is not None and report.proof.holds, str(report)
    assert np.array_equal(D, want)


@pytest.mark.parametrize("shape, chosen", CASES)
def test_a_tiling_is_right(shape: Shape, chosen: Tiling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extra, "SM_COUNT", 4)
    check(tiled(*shape, chosen), shape)


@pytest.mark.parametrize("chosen", [Tiling(128, 64), Tiling(128, 64, 1, 2, 2), Tiling(64, 64, 1, 2, 2, 2)])
def test_a_tiling_is_right_in_other_schedules(chosen: Tiling) -> None:
    check(tiled(128, 64, 400, chosen), (128, 64, 400), schedules=4)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 30), st.booleans())
@settings(max_examples=4, deadline=None)
def test_a_drawn_shape_is_right(m: int, n: int, k: int, promoted: bool) -> None:
    shape = 16 * m, 16 * n, 16 * k
    check(fp8_gemm(*shape, promoted=promoted), shape)


def test_a_run_without_data_takes_the_same_time() -> None:
    kernel = fp8_gemm(64, 128, 400)
    *arguments, _ = operands((64, 128, 400))
    D = np.zeros((64, 128), ml_dtypes.bfloat16)
    clock = tvm.simulate(kernel, gpu="h100", data=False)
    full = tvm.simulate(kernel, *arguments, D, gpu="h100", checks=False)
    assert (clock.verdict, clock.cycles) == ("clock", full.cycles)


def test_the_second_set_of_sums_is_worth_time_where_one_consumer_has_the_tensor_core() -> None:
    one, two = (
        tvm.simulate(tiled(64, 128, 4096, Tiling(64, 128, 1, sets, 4)), gpu="h100", data=False) for sets in (1, 2)
    )
    assert one.cycles is not None and two.cycles is not None and two.cycles < 0.85 * one.cycles


@pytest.mark.parametrize("promoted", [True, False])
def test_a_tiling_has_room_for_its_sums(promoted: bool) -> None:
    for k in (4096, 4112):
        for chosen in tilings(4096, 4096, k, promoted):
            assert chosen.registers <= extra.CONSUMER_REGS - 24 and chosen.part_n * chosen.parts == chosen.blk_n
            assert (chosen.sets > 0) == promoted and chosen.part_n % 8 == chosen.blk_n % (8 * chosen.ctas) == 0


def test_tilings_fit_their_shapes() -> None:
    assert tiling(4096, 4096, 4096, promoted=False) == Tiling(128, 256)
    assert tiling(8192, 8192, 8192) == Tiling(128, 192, 1, 1)  # 256 columns need two parts, and nothing is saved
    assert tiling(512, 4096, 4096).blk_n == 128  # one wave
    assert tiling(4096, 4096, 4112).ctas == 2  # rows that begin within a sector


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="K"):
        fp8_gemm(128, 128, 100)


@pytest.mark.compiler
@pytest.mark.parametrize(
    "chosen",
    [
        Tiling(128, 256), Tiling(128, 256, 4, 2, 2), Tiling(128, 192, 1, 1), Tiling(128, 208, 2, 2, 2, 2),
        Tiling(128, 128, 1, 2, 2), Tiling(64, 128, 1, 2, 2),
    ],
)  # fmt: skip
def test_wgmmas_are_not_serialised_and_no_register_is_spilled(chosen: Tiling) -> None:
    compiled = build(lower(tiled(4096, 4096, 1168, chosen)), "sm_90a").compiled
    assert compiled.resources.spill_store_bytes == compiled.resources.spill_load_bytes == 0
    assert "C7514" not in compiled.log and "serialized" not in compiled.log
