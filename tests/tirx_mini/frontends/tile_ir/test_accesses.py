"""Accesses of memory as programs write them: slices of arrays, atomic operations on numbers of 64 bits."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.frontends.tile_ir.run import interpret, simulate
from tirx_mini.tile_ir import ct


@ct.kernel
def _rows_between(x, y, start: int, stop: int):
    part = x.slice(axis=0, start=start, stop=stop)
    tile = ct.load(part, (0, ct.bid(0)), (8, 8), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (0, ct.bid(0)), tile)


@pytest.mark.parametrize("columns", [16, 12])
def test_a_slice_is_loaded(columns: int) -> None:
    x, y = np.arange(20.0 * columns, dtype=np.float32).reshape(20, columns), np.ones((8, columns), np.float32)
    report = simulate((2,), _rows_between, (x, y, 3, 9), "h100")
    assert report.ok and not report.findings
    np.testing.assert_array_equal(y, np.concatenate([x[3:9], np.zeros((2, columns), np.float32)]))


@ct.kernel
def _every_atomic(numbers, out):
    i = ct.arange(4, dtype=ct.int32)
    ct.store(out, (0, 0), ct.atomic_or(numbers, i, 0)[None, :])
    ct.store(out, (1, 0), ct.atomic_add(numbers, i, 2)[None, :])
    ct.store(out, (2, 0), ct.atomic_max(numbers, i, -3)[None, :])
    ct.store(out, (3, 0), ct.atomic_xchg(numbers, i, -9)[None, :])
    ct.store(out, (4, 0), ct.atomic_xor(numbers, i, -1)[None, :])
    ct.store(out, (5, 0), ct.atomic_and(numbers, 1, -1)[None, None] >> 1)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_atomic_operations_return_negative_numbers(dtype: type) -> None:
    results = []
    for execute in (simulate, interpret):
        numbers, out = np.array([-458, 3, -(1 << 30), -9], dtype), np.zeros((6, 4), dtype)
        execute((1,), _every_atomic, (numbers, out), "h100")
        results.append((numbers, out))
    np.testing.assert_array_equal(*(out for _, out in results))
    np.testing.assert_array_equal(*(numbers for numbers, _ in results))
    assert results[0][1][:2].tolist() == [[-458, 3, -(1 << 30), -9], [-458, 3, -(1 << 30), -9]]
