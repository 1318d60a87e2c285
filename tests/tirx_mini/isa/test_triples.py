"""Maxima and minima of three numbers take the place of nested ones where the target has them."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import Call, PrimFunc
from tirx_mini.isa import for_target
from tirx_mini.passes import lower
from tirx_mini.script import from_source

KERNEL = """
@T.prim_func
def kernel(A: T.Buffer((32, 5), "float32"), O: T.Buffer((32,), "float32")):
    T.device_entry()
    T.cta_id([1])
    tx = T.thread_id([32])
    O[tx] = {value}
"""


def kernel(value: str) -> PrimFunc:
    return from_source(KERNEL.format(value=value))


def operations(value: str, arch: str = "sm_100a") -> list[str]:
    """The maxima and minima of the kernel for a target, innermost last."""
    nodes = for_target(lower(kernel(value)), arch).nodes
    return [node.op for node in nodes if isinstance(node, Call) and node.op.startswith(("max", "min"))]


def nested(op: str, count: int, **options: bool) -> str:
    """The maximum of the first numbers of a row, one after the other."""
    value = "A[tx, 0]"
    given = "".join(f", {name}={flag}" for name, flag in options.items())
    for i in range(1, count):
        value = f"T.ptx.{op}.f32({value}, A[tx, {i}]{given})"
    return value


@pytest.mark.parametrize("op", ["max", "min"])
def test_two_become_one(op: str) -> None:
    assert operations(nested(op, 3)) == [f"{op}3.f32"]
    assert operations(nested(op, 4)) == [f"{op}.f32", f"{op}3.f32"]
    assert operations(nested(op, 5)) == [f"{op}3.f32", f"{op}3.f32"]
    assert operations(nested(op, 3), "sm_90a") == [f"{op}.f32", f"{op}.f32"]


def test_others_stay() -> None:
    assert operations("T.ptx.max.f32(T.ptx.min.f32(A[tx, 0], A[tx, 1]), A[tx, 2])") == ["max.f32", "min.f32"]
    assert operations("T.ptx.max.f32(T.ptx.max.f32(A[tx, 0], A[tx, 1], nan=True), A[tx, 2])") == ["max.f32", "max.f32"]


@pytest.mark.parametrize("nan", [False, True])
def test_values(nan: bool) -> None:
    a = np.random.default_rng(0).standard_normal((32, 5)).astype(np.float32)
    a[0, 0], a[1, 2], a[2, 4], a[3] = np.nan, np.nan, np.inf, np.nan
    found = np.zeros(32, np.float32)
    report = tvm.simulate(kernel(nested("max", 5, nan=nan)), a, found, gpu="b200")
    assert report.ok
    reduce = np.maximum if nan else np.fmax
    np.testing.assert_array_equal(found, reduce.reduce(a, axis=1))
