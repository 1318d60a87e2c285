"""min and max of special numbers, and roundings that a program asks for: the chip computes what the simulator does."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import tirx_mini as tvm
from tests.tirx_mini.frontends.tile_ir.emit.test_rounding import MODE, SPECIAL, X, arithmetic, conversion, extremes
from tests.tirx_mini.sim.translate.test_extremes import PAIRS, TYPES, bits, kernel_of
from tirx_mini.runtime import Executable
from tirx_mini.tile_ir import ct, simulated

pytestmark = pytest.mark.gpu

TORCH = {np.float16: torch.float16, ml_dtypes.bfloat16: torch.bfloat16, np.float32: torch.float32,
         np.float64: torch.float64}  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES)
def test_extremes_of_tirx(dtype: str) -> None:
    a, b = (np.array(side).astype(TYPES[dtype]) for side in zip(*PAIRS, strict=True))
    simulated_, found = (np.zeros((4, len(PAIRS)), TYPES[dtype]) for _ in range(2))
    assert tvm.simulate(kernel_of(dtype), a, b, simulated_).ok
    exe = tvm.compile(kernel_of(dtype), target="cuda")
    assert isinstance(exe, Executable)
    exe.run_guarded(a, b, found)
    assert [*map(bits, found.flat)] == [*map(bits, simulated_.flat)]


def agree(kernel: Any, *args: Any) -> None:
    """Launch a tile program in the simulator and on the chip; `o`, which begins with zeros, must be the same."""
    at = list(kernel.function.__annotations__).index("o")
    host = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with simulated("h100"):
        ct.launch(None, (1,), kernel, tuple(host))
    there = [torch.from_numpy(a.astype(np.float64)).to(TORCH[a.dtype.type]).cuda() if isinstance(a, np.ndarray) else a
             for a in args]  # fmt: skip
    ct.launch(torch.cuda.current_stream(), (1,), kernel, tuple(there))
    chip = there[at].double().cpu().numpy()
    assert [*map(bits, chip.flat)] == [*map(bits, host[at].astype(np.float64).flat)]


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("mode", [MODE.RN, MODE.RZ, MODE.RM, MODE.RP])
def test_arithmetic(mode: Any, flush: bool) -> None:
    y = np.array([1e-9, -1e-9, 1e-8, 2e-39, 0.1, 1e22, 1, 1], np.float32)
    agree(arithmetic, X, y, np.zeros((4, 8), np.float32), mode, flush)


@pytest.mark.parametrize("mode", [MODE.RN, MODE.RZ])
@pytest.mark.parametrize("dtype", [ct.tfloat32, ct.float16, ct.bfloat16])
def test_conversions(dtype: Any, mode: Any) -> None:
    rng = np.random.default_rng(5)
    agree(conversion, X, np.zeros(8, np.float32), dtype, mode)
    agree(conversion, rng.standard_normal(8).astype(np.float32), np.zeros(8, np.float32), dtype, mode)


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_extremes_of_cutile(dtype: Any, nan: bool) -> None:
    x, y = (np.array(side).astype(dtype) for side in zip(*itertools.product(SPECIAL, SPECIAL), strict=True))
    agree(extremes, x, y, np.zeros((3, 64), dtype), nan)
