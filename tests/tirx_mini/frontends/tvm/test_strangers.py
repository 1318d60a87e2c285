"""Kernels in the dialects of TVM that were refused, or failed inside of the package."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import tirx_mini
from tirx_mini.codegen import cuda_source
from tirx_mini.compat.tvm import imports
from tirx_mini.passes import lower
from tirx_mini.script import from_source

HALVES = """
from tirx_mini.script import tirx as T

@T.prim_func
def kernel(out: T.Buffer((32, 8), "float16")):
    T.device_entry(); T.warp_id([1]); lane = T.lane_id([32])
    s = T.alloc_local((8,), "float32")
    u = T.alloc_local((8,), "float32")
    p = T.decl_buffer((16,), "float16", data={holder}.data, scope="local")
    for i in T.serial(8):
        s[i] = T.cast(i + lane, "float32")
    T.tile.cast(p[0:8], s[0:8])
    for i in T.serial(8):
        out[lane, i] = p[i]
"""


@pytest.mark.parametrize("holder", ["u", "s"])
def test_a_cast_into_halves_of_registers(holder: str) -> None:
    """Into a view of other registers, and of those that are cast."""
    out = np.zeros((32, 8), np.float16)
    assert tirx_mini.simulate(from_source(HALVES.format(holder=holder)), out).ok
    np.testing.assert_array_equal(out, np.add.outer(np.arange(32), np.arange(8)))


def test_a_buffer_of_rank_0_has_one_element() -> None:
    kernel = from_source("""
@T.prim_func
def kernel(A: T.Buffer((), "int32"), B: T.Buffer((32,), "int32")):
    T.device_entry(); T.warp_id([1]); lane = T.lane_id([32])
    B[lane] = A[()] + lane
    T.cuda.warp_sync()
    if lane == 0:
        A[()] = 7
""")
    A, B = np.array(5, np.int32), np.zeros(32, np.int32)
    assert tirx_mini.simulate(kernel, A, B).ok
    assert A == 7 and B[3] == 8
    assert "A[0]" in cuda_source(lower(kernel), "sm_100a").text


REGISTERS = """
@T.prim_func
def kernel(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    T.device_entry()
    T.cta_id([1])
    tx = T.thread_id([64])
    a = T.alloc_local((32,), "float32")
    b = T.alloc_local((32,), "float32")
    T.tile.copy(a[:], A[tx, :])
    T.tile.copy(b[:], B[tx, :])
    T.tile.add(a[:], a[:], b[:])
    T.tile.copy(A[tx, :], a[:])
"""


@pytest.mark.parametrize(("arch", "packed"), [("sm_100a", True), ("sm_90a", False)])
def test_sums_of_registers_are_those_that_tvm_emits(arch: str, packed: bool) -> None:
    with imports():
        tvm = importlib.import_module("tvm")
        with tvm.target.Target({"kind": "cuda", "arch": arch}) as target:
            exe = tvm.compile(from_source(REGISTERS), target=target, tir_pipeline="tirx")
    assert ("add.f32x2" in exe.mod.imports[0].inspect_source()) is packed
