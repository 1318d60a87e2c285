"""Schedules for a GPU, run in the simulator."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini import te
from tirx_mini.ir import TirxError

from .examples import MatMul, matmul, random, threads


def tiled(mm: MatMul, tile: int = 16, align: bool = False) -> te.Schedule:
    """A matmul whose CTAs stage tiles of both operands in shared memory."""
    s = te.create_schedule(mm.C.op)
    CL = s.cache_write(mm.C, "local")
    AA, BB = (s.cache_read(tensor, "shared", [CL]) for tensor in (mm.A, mm.B))
    by, bx, ty, tx = threads("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    io, jo, ii, ji = s[mm.C].tile(*mm.C.op.axis, tile, tile)
    for axis, index in ((io, by), (jo, bx), (ii, ty), (ji, tx)):
        s[mm.C].bind(axis, index)
    s[CL].compute_at(s[mm.C], ji)
    ko, ki = s[CL].split(mm.k, factor=tile)
    s[CL].reorder(ko, ki, *CL.op.axis)
    for staged in (AA, BB):
        s[staged].compute_at(s[CL], ko)
        s[staged].bind(staged.op.axis[0], ty)
        s[staged].bind(staged.op.axis[1], tx)
        if align:
            s[staged].storage_align(staged.op.axis[0], 32, 1)
    return s


def run(module: tvm.IRModule, mm: MatMul) -> tvm.Report:
    """The report of a correct run on random operands."""
    a, b = random(*mm.A.shape), random(*mm.B.shape, seed=1)
    c = np.full(mm.C.shape, np.nan, np.float32)
    report = tvm.simulate(module, a, b, c, gpu="h100")
    assert report.verdict == "ok", str(report)
    np.testing.assert_array_equal(c, a @ b)
    return report


@pytest.mark.parametrize("align", [False, True])
def test_tiles_in_shared_memory_with_barriers_around_their_use(align):
    mm = matmul()
    run(te.lower(tiled(mm, align=align), mm.args), mm)


def test_shared_memory_holds_the_tile_of_all_virtual_threads():
    mm = matmul(32, 16, 16)
    s = te.create_schedule(mm.C.op)
    AA, CL = s.cache_read(mm.A, "shared", [mm.C]), s.cache_write(mm.C, "local")
    virtual, inner = s[mm.C].split(mm.C.op.axis[0], nparts=2)
    s[mm.C].reorder(virtual, inner, mm.C.op.axis[1])
    s[mm.C].bind(virtual, te.thread_axis("vthread"))
    s[mm.C].bind(inner, te.thread_axis((0, 16), "threadIdx.y"))
    s[mm.C].bind(mm.C.op.axis[1], te.thread_axis((0, 16), "threadIdx.x"))
    s[CL].compute_at(s[mm.C], mm.C.op.axis[1])
    ko, _ = s[CL].split(s[CL].op.reduce_axis[0], factor=8)
    s[AA].compute_at(s[CL], ko)
    y, x = s[AA].split(s[AA].fuse(*AA.op.axis), factor=16)
    s[AA].bind(y, te.thread_axis((0, 16), "threadIdx.y"))
    s[AA].bind(x, te.thread_axis((0, 16), "threadIdx.x"))
    module = te.lower(s, mm.args)
    assert "A_shared = T.alloc_buffer((32, 8)" in str(module)
    run(module, mm)


def test_extents_that_no_tile_divides():
    mm = matmul(40, 24, 50)
    run(te.lower(tiled(mm), mm.args), mm)


def test_an_unbound_copy_into_shared_memory_is_made_by_one_thread():
    mm = matmul(32, 32, 32)
    s = te.create_schedule(mm.C.op)
    AA = s.cache_read(mm.A, "shared", [mm.C])
    bx, tx = s[mm.C].split(mm.C.op.axis[0], factor=16)
    s[mm.C].bind(bx, te.thread_axis("blockIdx.x"))
    s[mm.C].bind(tx, te.thread_axis("threadIdx.x"))
    s[AA].compute_at(s[mm.C], bx)
    run(te.lower(s, mm.args), mm)


def test_loops_of_fewer_iterations_than_the_grid_has_threads():
    mm = matmul(32, 32, 8)
    s = te.create_schedule(mm.C.op)
    AA = s.cache_read(mm.A, "shared", [mm.C])
    bx, tx = s[mm.C].split(mm.C.op.axis[0], factor=16)
    s[mm.C].bind(bx, te.thread_axis("blockIdx.x"))
    s[mm.C].bind(tx, te.thread_axis("threadIdx.x"))
    s[AA].compute_at(s[mm.C], bx)
    s[AA].bind(AA.op.axis[1], te.thread_axis("threadIdx.x"))
    run(te.lower(s, mm.args), mm)


def test_a_function_of_several_kernels_is_none():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1, name="B")
    C = te.compute((64,), lambda i: B[i] * 2, name="C")
    s = te.create_schedule(C.op)
    for tensor in (B, C):
        s[tensor].bind(tensor.op.axis[0], te.thread_axis("threadIdx.x"))
    with pytest.raises(TirxError, match=r"main is 2 kernels, .*: main_0, main_1"):
        tvm.compile(te.lower(s, [A, C]), "sim")


def test_a_schedule_without_bound_loops_is_refused():
    mm = matmul()
    with pytest.raises(TirxError, match="no loop of main is bound to the grid"):
        tvm.compile(te.lower(te.create_schedule(mm.C.op), mm.args), "sim")


def test_a_parallel_loop_is_refused_on_a_gpu():
    mm = matmul()
    s = te.create_schedule(mm.C.op)
    s[mm.C].parallel(mm.C.op.axis[0])
    s[mm.C].bind(mm.C.op.axis[1], te.thread_axis("threadIdx.x"))
    with pytest.raises(TirxError, match="the loop over i is parallel, which is for the cores of a CPU"):
        tvm.compile(te.lower(s, mm.args), "sim")


@pytest.mark.parametrize("lanes", [4, 8])
def test_vectors_are_copied_16_bytes_at_once_and_computed_one_by_one(lanes):
    A = te.placeholder((256,), name="A")
    B = te.compute((256,), lambda i: A[i], name="B")
    C = te.compute((256,), lambda i: A[i] * 2, name="C")
    a = random(256)
    for tensor, factor in ((B, 1), (C, 2)):
        s = te.create_schedule(tensor.op)
        outer, inner = s[tensor].split(tensor.op.axis[0], factor=lanes)
        s[tensor].vectorize(inner)
        s[tensor].bind(outer, te.thread_axis("threadIdx.x"))
        module = te.lower(s, [A, tensor])
        out = np.zeros(256, np.float32)
        assert tvm.simulate(module, a, out).ok
        np.testing.assert_array_equal(out, a * factor)
        text = tvm.compile(module, "sim").source("lowered")
        assert ("ramp" in text) == (tensor is B and lanes == 4)
