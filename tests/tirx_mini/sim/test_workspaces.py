"""Workspaces: buffers in global memory that all CTAs of a launch share, without an argument."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.arguments import ArgumentError
from tirx_mini.script import from_source
from tirx_mini.script import tirx as Tx


@Tx.prim_func
def through_a_workspace(A: Tx.Buffer((4, 32), "float32"), D: Tx.Buffer((32,), "float32")):
    with Tx.kernel():
        bx = Tx.cta_id([4], parent="kernel")
        tid = Tx.thread_id([32], parent="cta")
        parts = Tx.alloc_buffer((4, 32), "float32", scope="global")
        parts[bx, tid] = A[bx, tid]
        Tx.cuda.grid_sync()
        if bx == 3:
            D[tid] = parts[0, tid] + parts[1, tid] + parts[2, tid] + parts[3, tid]


def test_ctas_exchange_values_through_a_workspace_that_is_no_argument() -> None:
    A, D = np.arange(128, dtype=np.float32).reshape(4, 32), np.full(32, np.nan, np.float32)
    report = tvm.simulate(through_a_workspace, A, D, gpu="h100", schedules=3)
    assert (report.verdict, report.findings) == ("ok", ()) and np.array_equal(D, A.sum(axis=0))
    assert tvm.simulate(through_a_workspace, gpu="h100", data=False).cycles == report.cycles


def test_unordered_accesses_to_a_workspace_are_a_race() -> None:
    text = through_a_workspace.script().replace("        Tx.ptx.grid.sync()\n", "")
    report = tvm.simulate(from_source(text), np.zeros((4, 32), np.float32), np.zeros(32, np.float32), gpu="h100")
    assert report.verdict == "hazard" and "parts[" in report.findings[0].message


def test_a_call_names_the_arguments_of_a_kernel_with_a_workspace() -> None:
    with pytest.raises(ArgumentError, match="takes 2 arguments"):
        tvm.simulate(through_a_workspace, np.zeros((4, 32), np.float32), gpu="h100")
