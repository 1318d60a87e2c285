"""Operations that round as their program asks: the simulated kernel agrees with the interpreter, bit by bit."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tirx_mini.ir import TirxError
from tirx_mini.tile_ir import ct, interpreted, simulated

MODE = ct.RoundingMode
X = np.array([1 + 2**-11, 1 + 3 * 2**-11, -np.pi, 1e-39, 65519.9, -1e30, np.inf, np.nan], np.float32)


@ct.kernel
def arithmetic(x: Any, y: Any, o: Any, mode: ct.Constant, flush: ct.Constant) -> None:
    a, b = ct.load(x, 0, (8,)), ct.load(y, 0, (8,))
    ct.store(o, (0, 0), ct.add(a, b, rounding_mode=mode, flush_to_zero=flush)[None, :])
    ct.store(o, (1, 0), ct.sub(a, b, rounding_mode=mode, flush_to_zero=flush)[None, :])
    ct.store(o, (2, 0), ct.mul(a, b, rounding_mode=mode, flush_to_zero=flush)[None, :])
    ct.store(o, (3, 0), ct.maximum(a, b, flush_to_zero=flush)[None, :])


@ct.kernel
def conversion(x: Any, o: Any, dtype: ct.Constant, mode: ct.Constant) -> None:
    ct.store(o, 0, ct.load(x, 0, (8,)).astype(dtype, rounding_mode=mode).astype(o.dtype))


@ct.kernel
def extremes(x: Any, y: Any, o: Any, nan: ct.Constant) -> None:
    a, b = ct.load(x, 0, (64,)), ct.load(y, 0, (64,))
    ct.store(o, (0, 0), ct.maximum(a, b, propagate_nan=nan)[None, :])
    ct.store(o, (1, 0), ct.minimum(a, b, propagate_nan=nan)[None, :])
    ct.store(o, (2, 0), ct.where(ct.arange(64, dtype=ct.int32) < 32, ct.max(a, propagate_nan=nan), ct.min(b))[None, :])


@ct.kernel
def places(x: Any, o: Any) -> None:
    tile = ct.load(x, (0, 0), (4, 8))
    ct.store(o, 0, ct.argmax(tile, axis=1))
    ct.scatter(o, 4, ct.argmin(tile, axis=None))


def agree(kernel: Any, *args: Any) -> np.ndarray:
    """Return what a kernel writes to `o` when it is simulated and when it is interpreted, which must agree."""
    at = list(kernel.function.__annotations__).index("o")
    outs = []
    for mode in (interpreted(), simulated("h100")):
        given = [np.zeros_like(a) if i == at else a for i, a in enumerate(args)]
        with mode:
            ct.launch(None, (1,), kernel, tuple(given))
        outs.append(given[at])
    a, b = (out.astype(np.float64) for out in outs)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b))
    return outs[1]


@pytest.mark.parametrize("mode", [MODE.RN, MODE.RZ, MODE.RM, MODE.RP])
def test_arithmetic(mode: Any) -> None:
    y = np.array([1e-9, -1e-9, 1e-8, 2e-39, 0.1, 1e22, 1, 1], np.float32)
    out = agree(arithmetic, X, y, np.zeros((4, 8), np.float32), mode, False)
    assert out[0, 2] == {MODE.RP: np.nextafter(X[2], np.float32(0)), MODE.RZ: np.nextafter(X[2], np.float32(0))}.get(
        mode, X[2]
    )


def test_subnormal_numbers_become_zeros() -> None:
    out = agree(arithmetic, X, np.full(8, 1e-39, np.float32), np.zeros((4, 8), np.float32), None, True)
    assert out[0, 3] == 0


@pytest.mark.parametrize("mode", [MODE.RN, MODE.RZ])
@pytest.mark.parametrize("dtype", [ct.tfloat32, ct.float16, ct.bfloat16])
def test_conversions(dtype: Any, mode: Any) -> None:
    out = agree(conversion, X, np.zeros(8, np.float32), dtype, mode)
    if dtype == ct.tfloat32:
        assert out[:2].tolist() == ([1, 1 + 2**-9] if mode == MODE.RN else [1, 1 + 2**-10])


@pytest.mark.parametrize("mode", [MODE.RM, MODE.RP])
def test_conversions_that_round_down_and_up(mode: Any) -> None:
    agree(conversion, X, np.zeros(8, np.float16), ct.float16, mode)


SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-7, -1e-7, 2.5)


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_extremes_of_special_numbers(dtype: Any, nan: bool) -> None:
    """A NaN gives way to a number, or wins where it propagates; 0 is greater than -0."""
    x, y = (np.array(side).astype(dtype) for side in zip(*itertools.product(SPECIAL, SPECIAL), strict=True))
    out = agree(extremes, x, y, np.zeros((3, 64), dtype), nan).astype(np.float64)
    assert np.isnan(out[0]).sum() == (15 if nan else 1)
    zeros = (x == 0) & (y == 0)
    assert np.signbit(out[0][zeros]).sum() == 1
    assert np.signbit(out[1][zeros]).sum() == 3


@pytest.mark.parametrize("dtype", [ct.float8_e4m3fn, ct.float8_e5m2])
def test_conversions_to_eight_bits_saturate(dtype: Any) -> None:
    x = np.array([1000, -1e6, 464, 465, np.inf, -np.inf, np.nan, 0.3], np.float32)
    out = agree(conversion, x, np.zeros(8, np.float32), dtype, None)
    largest = 448 if dtype == ct.float8_e4m3fn else 57344
    assert out[4:6].tolist() == [largest, -largest]


def test_a_rounding_that_no_code_has_is_a_sentence() -> None:
    with pytest.raises(TirxError, match="rounded by positive_inf: only the interpreter has"):
        agree(conversion, X, np.zeros(8, np.float32), ct.bfloat16, MODE.RP)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.int8, np.int16])
def test_places_of_extremes(dtype: Any) -> None:
    """Reductions of narrow numbers compute with wider ones; their bodies use constants from outside."""
    x = np.random.default_rng(3).integers(-9, 9, (4, 8)).astype(dtype)
    out = agree(places, x, np.zeros(8, np.int32))
    assert out[:5].tolist() == [*np.argmax(x.astype(np.float32), 1), np.argmin(x.astype(np.float32))]
