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


@ct.kernel
def _swap(x, old):
    i = ct.arange(4, dtype=ct.int32)
    ct.store(old, 0, ct.atomic_xchg(x, i, ct.load(x, (0,), (4,)) * 2))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_are_exchanged(dtype: type) -> None:
    for execute in (simulate, interpret):
        x, old = np.array([1, -2, 0.5, np.inf], dtype), np.zeros(4, dtype)
        execute((1,), _swap, (x, old), "h100")
        assert x.tolist() == [2, -4, 1, np.inf] and old.tolist() == [1, -2, 0.5, np.inf]


@ct.kernel
def _without_dimensions(x, total, y):
    scale = ct.load(x, (), ())
    ct.store(y, ct.bid(0), ct.load(y, ct.bid(0), 4) * scale)
    if ct.bid(0) == 0:
        ct.store(total, (), scale + 1)


def test_an_array_without_dimensions_is_loaded_and_stored() -> None:
    for execute in (simulate, interpret):
        x, total, y = np.array(3, np.float32), np.array(0, np.float32), np.ones(8, np.float32)
        execute((2,), _without_dimensions, (x, total, y), "h100")
        assert total == 4 and (y == 3).all()
