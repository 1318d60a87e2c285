"""Operands of mma.sync: TMA writes them to shared memory, and ldmatrix or vector loads read the fragments."""

from __future__ import annotations

import re

import numpy as np
import pytest

from .test_tensor_cores import gemm

GPUS = ("h100", "b200")


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize(
    ("turned", "transposed"), [("", {"left": False, "right": True}), ("ab", {"left": True, "right": False})]
)
def test_halves_are_read_by_ldmatrix(gpu: str, turned: str, transposed: dict[str, bool]) -> None:
    program, c, expected = gemm((64, 128, 96), (32, 32, 32), turned=turned)
    program.run(gpu, schedules=5)
    assert np.allclose(c, expected, atol=2e-3)
    loads = re.findall(r"ldmatrix\((\w+)_1\.ptr_to.*num=4, transpose=(\w+)\)", program.kernel(gpu).script())
    assert {name: text == "True" for name, text in loads} == transposed


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize(
    ("dtype", "shape", "tile"),
    [
        ("float32", (64, 72, 40), (64, 64, 32)),
        ("float32", (64, 72, 40), (32, 32, 8)),
        ("float16", (32, 24, 40), (16, 16, 16)),
    ],
)
def test_other_fragments(gpu: str, dtype: str, shape: tuple[int, int, int], tile: tuple[int, int, int]) -> None:
    program, c, expected = gemm(shape, tile, dtype=dtype)
    program.run(gpu, schedules=5)
    assert np.allclose(c, expected, atol=5e-2)
    script = program.kernel(gpu).script()
    assert "copy_async" in script and ("ldmatrix" in script) == (dtype == "float16")
