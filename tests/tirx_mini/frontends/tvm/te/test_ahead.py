"""Reductions in two steps, double buffers and virtual threads compute the same, in other loops."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini import te
from tirx_mini.ir import TirxError

from .examples import MatMul, lines, matmul, random
from .test_tensorize import on_tensor_cores


def row_sums() -> tuple[te.Tensor, te.Tensor, te.IterVar]:
    A, k = te.placeholder((40, 100), name="A"), te.reduce_axis((0, 100), "k")
    return A, te.compute((40,), lambda i: te.sum(A[i, k], axis=k), name="B"), k


@pytest.mark.parametrize("factor", [10, 16])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("outer", [False, True])
def test_a_reduction_in_two_steps(factor: int, place: int, outer: bool) -> None:
    A, B, k = row_sums()
    s = te.create_schedule(B.op)
    loop = s[B].split(k, factor=factor)[0 if outer else 1]
    partial = s.rfactor(B, loop, place)
    parts = -(-100 // factor) if outer else factor
    assert partial.shape == ((40, parts) if place else (parts, 40))
    assert [axis.extent for axis in s[B].op.reduce_axis] == [parts]
    a, out = random(40, 100), np.full(40, np.nan, np.float32)
    te.build(s, [A, B], "llvm")(a, out)
    np.testing.assert_array_equal(out, a.sum(1))


def test_the_last_loop_of_a_reduction_leaves_products_to_sum_up() -> None:
    mm = matmul(8, 8, 16)
    s = te.create_schedule(mm.C.op)
    partial = s.rfactor(mm.C, mm.k)
    assert partial.op.reduce_axis == () and partial.shape == (16, 8, 8)
    computes(s, mm)


def test_threads_share_a_reduction() -> None:
    A, B, k = row_sums()
    s = te.create_schedule(B.op)
    partial = s.rfactor(B, s[B].split(k, factor=32)[1], 1)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[partial].compute_at(s[B], B.op.axis[0])
    s[partial].set_scope("shared")
    s[partial].bind(partial.op.axis[1], te.thread_axis("threadIdx.x"))
    a, out = random(40, 100), np.full(40, np.nan, np.float32)
    report = tvm.simulate(te.lower(s, [A, B]), a, out)
    assert report.ok and not report.findings, report
    np.testing.assert_array_equal(out, a.sum(1))


def computes(s: te.Schedule, mm: MatMul) -> None:
    (m, k), n = mm.A.shape, mm.B.shape[1]
    a, b, c = random(m, k), random(k, n, seed=1), np.full((m, n), np.nan, np.float32)
    te.build(s, mm.args, "llvm")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_a_double_buffer_is_filled_one_iteration_ahead() -> None:
    mm = matmul()
    s = te.create_schedule(mm.C.op)
    copy = s.cache_read(mm.A, "local", [mm.C])
    outer, inner = s[mm.C].split(mm.k, factor=16)
    s[mm.C].reorder(outer, *mm.C.op.axis, inner)
    s[copy].compute_at(s[mm.C], outer)
    s[copy].double_buffer()
    text = lines(te.lower(s, mm.args))
    start = next(number for number, line in enumerate(text) if "T.alloc_buffer((2, 64, 16)" in line)
    assert text[start + 3 : start + 6] == [
        "        A_local[0, ax0, ax1] = A[ax0, ax1]", "for k_outer in range(4):", "    if k_outer + 1 < 4:",
    ]  # fmt: skip
    assert any("A_local[k_outer % 2, i, k_inner]" in line for line in text)
    computes(s, mm)


def test_tensor_cores_read_a_double_buffer() -> None:
    s, args = on_tensor_cores()
    for stage in s.stages:
        if stage.scope == "shared":
            stage.double_buffer()
    a, b = (random(64, 64, seed=seed).astype(np.float16) for seed in (0, 1))
    c = np.full((64, 64), np.nan, np.float32)
    report = tvm.simulate(te.lower(s, args), a, b, c, gpu="h100", schedules=3)
    assert report.ok and not report.findings, report
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_virtual_threads_are_executed_by_each_thread() -> None:
    mm = matmul(16, 8, 8)
    s = te.create_schedule(mm.C.op)
    i, j = mm.C.op.axis
    thread, virtual = s[mm.C].split(i, factor=2)
    s[mm.C].bind(thread, te.thread_axis("threadIdx.x"))
    s[mm.C].bind(virtual, te.thread_axis("vthread", name="vx"))
    s[mm.C].bind(j, te.thread_axis("blockIdx.x"))
    a, b, c = random(16, 8), random(8, 8, seed=1), np.full((16, 8), np.nan, np.float32)
    report = tvm.simulate(te.lower(s, mm.args), a, b, c)
    assert report.ok and "for i_inner in T.unroll(2)" in te.lower(s, mm.args).script()
    np.testing.assert_array_equal(c, a @ b)


def test_what_cannot_be_done_says_why() -> None:
    A, B, k = row_sums()
    s = te.create_schedule(B.op)
    with pytest.raises(TirxError, match=r"rfactor: i is not a loop over which B reduces") as error:
        s.rfactor(B, B.op.axis[0])
    assert "it reduces over k" in str(error.value)
    with pytest.raises(TirxError, match="rfactor: B has no dimension 2"):
        s.rfactor(B, k, 2)
    with pytest.raises(TirxError, match="B is an output of the schedule"):
        s[B].double_buffer()
