"""Unordered writes are known to be identical by what the values are computed from, not by the data of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.script import tirx as T


@T.prim_func
def constant(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    _bx = T.cta_id([1])
    _tx = T.thread_id([64])
    D[0] = 1.0


@T.prim_func
def argument(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    _bx = T.cta_id([2])
    _tx = T.thread_id([64])
    D[n] = T.cast(n * 2 + 1, "float32")


@T.prim_func
def element_that_is_only_read(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    _bx = T.cta_id([2])
    _tx = T.thread_id([64])
    D[0] = A[n] * 2.0


@T.prim_func
def number_of_the_cta(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([2])
    _tx = T.thread_id([64])
    D[bx] = T.cast(bx, "float32")


@T.prim_func
def sum_of_a_loop(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    _bx = T.cta_id([2])
    _tx = T.thread_id([64])
    total = T.alloc_local((1,), "int32")
    total[0] = 0
    for i in range(n + 2):
        total[0] = total[0] + i
    D[0] = T.cast(total[0], "float32")


@T.prim_func
def multiple_of_the_warp(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    _bx = T.cta_id([1])
    tx = T.thread_id([64])
    D[0] = T.cast(tx // 32 * (n - 1), "float32")


@T.prim_func
def element_of_the_warp(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    _bx = T.cta_id([1])
    tx = T.thread_id([64])
    D[0] = A[tx // 32]


@T.prim_func
def element_that_is_written(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    _bx = T.cta_id([1])
    tx = T.thread_id([64])
    D[32 + tx % 2] = D[0]


@T.prim_func
def number_of_rounds(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    _bx = T.cta_id([1])
    tx = T.thread_id([64])
    count = T.alloc_local((1,), "int32")
    count[0] = 0
    while count[0] < 5:
        if A[tx // 32 + count[0]] < 0.0:
            break
        count[0] = count[0] + 1
    D[0] = T.cast(count[0], "float32")


@T.prim_func
def multiple_of_the_cta(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([2])
    _tx = T.thread_id([64])
    D[0] = T.cast(bx * (n - 1), "float32")


def findings(kernel: Any) -> list[str]:
    """The codes of what is found with arguments of ones."""
    report = tvm.simulate(kernel, np.ones(64, np.float32), np.ones(64, np.float32), 1)
    return sorted({finding.code for finding in report.findings})


@pytest.mark.parametrize(
    "kernel", [constant, argument, element_that_is_only_read, number_of_the_cta, sum_of_a_loop], ids=lambda k: k.name
)
def test_writes_of_a_uniform_value_are_a_warning(kernel: Any) -> None:
    assert findings(kernel) == ["TX206"]


@pytest.mark.parametrize(
    "kernel",
    [multiple_of_the_warp, element_of_the_warp, element_that_is_written, number_of_rounds, multiple_of_the_cta],
    ids=lambda k: k.name,
)
def test_writes_that_are_equal_in_this_run_only_are_a_race(kernel: Any) -> None:
    assert findings(kernel)[0] == "TX201"
