"""Products of few rows: the tensor core computes them transposed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirx_mini.tile_ir import compile, ct, simulated


@ct.kernel
def biased(A, B, BIAS, D, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    acc, count = ct.load(BIAS, (0, 0), shape=(TM, TN)), 0
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        acc = ct.mma(ct.load(A, (0, k), shape=(TM, TK)), ct.load(B, (k, 0), shape=(TK, TN)), acc)
        count = count + 1
    ct.store(D, (0, 0), acc + count)


@ct.kernel
def summed(A, B, D, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(A, 1, (TM, TK))):
        acc = ct.mma(ct.load(A, (0, k), shape=(TM, TK)), ct.load(B, (k, 0), shape=(TK, TN)), acc)
    ct.store(D, (0, 0), acc)


def random(*shape: int, turned: bool = False) -> np.ndarray:
    """turned: column by column in memory."""
    numbers = np.random.default_rng(len(shape) + shape[0]).standard_normal(shape).astype(np.float16)
    return np.asfortranarray(numbers) if turned else numbers


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("gpu", "rows", "columns", "instruction"),
    [("h100", 32, 128, "wgmma"), ("h100", 8, 64, "wgmma"), ("b200", 16, 128, "tcgen05"), ("b200", 64, 128, "tcgen05")],
)
def test_few_rows_are_the_columns_of_an_instruction(
    gpu: str, rows: int, columns: int, instruction: str, turned: bool
) -> None:
    a, b = random(rows, 192, turned=turned), random(192, columns, turned=turned)
    d = np.zeros((rows, columns), np.float32)
    with simulated(gpu, schedules=5) as reports:
        ct.launch(None, (1,), summed, (a, b, d, rows, columns, 64))
    assert np.allclose(d, a.astype(np.float32) @ b.astype(np.float32), atol=1e-2) and not reports[0].findings
    program = compile(summed, (a, b, d, rows, columns, 64), gpu)
    assert "mma_sync" not in program.text("nv_tileas") and instruction in program.text("cuda")
    assert f"tensor<{columns}x{rows}xf32" in program.text("nv_tileas") and "convert_layout" not in loop_of(program)


def loop_of(program: Any) -> str:
    """The text of the loop over K of those that multiply."""
    return program.text("nv_tileas").split("agent ")[-1].split("scf.for %k")[-1].split("scf.yield")[0]


def test_the_sums_begin_with_the_transpose_of_what_they_began_with() -> None:
    a, b, bias = random(16, 128), random(128, 64), np.arange(16 * 64, dtype=np.float32).reshape(16, 64)
    d = np.zeros((16, 64), np.float32)
    with simulated("h100", schedules=5):
        ct.launch(None, (1,), biased, (a, b, bias, d, 16, 64, 64))
    assert np.allclose(d, a.astype(np.float32) @ b.astype(np.float32) + bias + 2, atol=1e-2)
    assert "mma_sync" not in compile(biased, (a, b, bias, d, 16, 64, 64), "h100").text("nv_tileas")


def test_a_product_of_few_rows_and_columns_stays_as_it_is() -> None:
    a, b, d = random(32, 128), random(128, 32), np.zeros((32, 32), np.float32)
    program = compile(summed, (a, b, d, 32, 32, 64), "h100")
    assert "mma = mma_sync" in program.text("nv_tileas")
