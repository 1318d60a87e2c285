"""The facts of a new entry reach the compiler and the simulator: no room asks for its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import PrimFunc
from tirx_mini.isa import TABLE, LaneResult, Scope
from tirx_mini.isa.core import instruction
from tirx_mini.isa.facts import CudaName
from tirx_mini.isa.machine import Machine, Thread
from tirx_mini.isa.operands import u32
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T


def laneid(gpu: Machine, thread: Thread) -> u32:
    """The number of the lane."""
    return np.arange(32)


def kernel_with(monkeypatch: pytest.MonkeyPatch, **facts: Any) -> PrimFunc:
    """A kernel that uses an instruction with these facts, which the table has for this test."""
    entry = instruction(
        "mov.u32 {result}, %laneid;", name="laneid", issued_by=Scope.WARP, min_sm=70, cost="alu", **facts
    )(laneid)
    monkeypatch.setitem(TABLE, "laneid", entry)

    @T.prim_func
    def kernel(out: T.Buffer((32,), "int32")):
        T.device_entry()
        tx = T.thread_id([32])
        out[tx] = -1
        if T.call("laneid") >= 30:
            out[tx] = tx

    return kernel


def cuda(kernel: PrimFunc) -> str:
    return cuda_source(lower(kernel)).text


def test_a_result_per_lane_splits_a_warp(monkeypatch: pytest.MonkeyPatch) -> None:
    out = np.zeros(32, np.int32)
    assert tvm.simulate(kernel_with(monkeypatch, lanes=LaneResult.PER_LANE), out).ok
    np.testing.assert_array_equal(out, [-1] * 30 + [30, 31])


def test_a_pure_instruction_leaves_memory_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert '"memory"' in cuda(kernel_with(monkeypatch))
    assert '"memory"' not in cuda(kernel_with(monkeypatch, pure=True))


def test_an_instruction_has_the_name_that_it_states(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "tvm_builtin_ptx_laneid()" in cuda(kernel_with(monkeypatch))
    assert "tvm_builtin_lane_of_warp()" in cuda(kernel_with(monkeypatch, cuda=CudaName("lane_of_warp")))
