"""Schedules that would change the result, or mean nothing, are refused with one sentence and the line."""

from __future__ import annotations

import pytest

from tirx_mini import te
from tirx_mini.ir import TirxError

from .examples import MatMul, matmul, threads


@pytest.fixture
def mm() -> MatMul:
    return matmul()


@pytest.fixture
def s(mm) -> te.Schedule:
    return te.create_schedule(mm.C.op)


def refused(message: str):
    return pytest.raises(TirxError, match=message)


@pytest.mark.parametrize("what", ["vectorize", "parallel"])
def test_a_reduction_is_not_independent(s, mm, what):
    with refused(r"k is a reduction: its iterations add to the same elements, so it cannot be"):
        getattr(s[mm.C], what)(mm.k)


def test_a_reduction_is_not_bound(s, mm):
    with refused(r"k is a reduction: .* bound to blockIdx\.x") as caught:
        s[mm.C].bind(mm.k, *threads("blockIdx.x"))
    assert "choose a data parallel loop of C: i, j" in str(caught.value)


def test_loops_of_two_kinds_are_not_fused(s, mm):
    with refused(r"j \(data parallel\) and k \(reduction\) cannot be fused"):
        s[mm.C].fuse(mm.C.op.axis[1], mm.k)


def test_loops_apart_are_not_fused(s, mm):
    i, j = mm.C.op.axis
    s[mm.C].reorder(i, mm.k, j)
    with refused("j is not the loop directly inside i"):
        s[mm.C].fuse(i, j)


def test_a_loop_that_is_split_is_none_any_more(s, mm):
    i, _ = mm.C.op.axis
    s[mm.C].split(i, factor=4)
    with refused(r"vectorize: i is not a loop of C; it was split into i\.outer and i\.inner") as caught:
        s[mm.C].vectorize(i)
    assert caught.value.span.line > 0


@pytest.mark.parametrize("factor", [0, -1, 2.5, True])
def test_factors_are_positive_numbers(s, mm, factor):
    with refused(r"i cannot be split by"):
        s[mm.C].split(mm.C.op.axis[0], factor=factor)


def test_one_index_counts_one_loop(s, mm):
    tx = te.thread_axis("threadIdx.x")
    i, j = mm.C.op.axis
    s[mm.C].bind(i, tx)
    with refused(r"i and j cannot both be threadIdx\.x"):
        s[mm.C].bind(j, tx)


def test_the_extent_of_an_index_is_that_of_its_loop(s, mm):
    s[mm.C].bind(mm.C.op.axis[0], te.thread_axis((0, 32), "threadIdx.x"))
    with refused(r"i of C has 64 iterations, but threadIdx\.x has 32"):
        te.lower(s, mm.args)


def test_a_tensor_with_another_reader_is_not_moved_into_one():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    C = te.compute((8,), lambda i: B[i] * 2, name="C")
    D = te.compute((8,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[C], C.op.axis[0])
    with refused("B cannot be computed at i of C: D also reads it, outside of that loop"):
        te.lower(s, [A, D])
    s[C].compute_at(s[D], D.op.axis[0])
    with refused("D also reads it"):
        te.lower(s, [A, D])
    s[B].compute_at(s[D], D.op.axis[0])
    te.lower(s, [A, D])


def test_a_reduction_is_not_inlined(mm):
    D = te.compute((64, 64), lambda i, j: mm.C[i, j] + 1, name="D")
    s = te.create_schedule(D.op)
    with refused("C is a reduction, whose readers cannot compute it within an expression"):
        s[mm.C].compute_inline()


def test_an_output_is_computed_in_full(s, mm):
    with refused("compute_inline: C is an output of the schedule"):
        s[mm.C].compute_inline()


def test_a_cache_is_made_before_other_transformations(s, mm):
    s[mm.C].unroll(mm.C.op.axis[0])
    with refused("cache_write: C already has transformations, which would be lost"):
        s.cache_write(mm.C, "local")


def test_a_cache_is_for_a_reader(s, mm):
    with refused("cache_read: B does not read A"):
        s.cache_read(mm.A, "shared", [mm.B])
    with refused("'register' is not a memory of a stage"):
        s.cache_read(mm.A, "register", [mm.C])


def test_a_stage_within_the_grid_is_not_in_global_memory_nor_shared_among_threads_in_local_memory(mm):
    s = te.create_schedule(mm.C.op)
    CL = s.cache_write(mm.C, "global")
    s[mm.C].bind(mm.C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[CL].compute_at(s[mm.C], mm.C.op.axis[0])
    with refused("C.global is in global memory, but is computed within a loop that is bound to the grid"):
        te.lower(s, mm.args)
    s[CL].set_scope("local")
    s[CL].bind(CL.op.axis[1], te.thread_axis("threadIdx.x"))
    with refused(r"C\.global is in local memory, which each thread has for itself"):
        te.lower(s, mm.args)


def test_placeholders_have_no_loops(s, mm):
    with refused("A is a placeholder: no loops compute it"):
        s[mm.A].compute_inline()


def test_padding_is_for_memory_of_the_schedule(s, mm):
    s[mm.C].storage_align(mm.C.op.axis[0], 32, 1)
    with refused("storage_align: C is an argument, whose memory the caller lays out"):
        te.lower(s, mm.args)


def test_tensors_are_of_known_shapes_and_reductions_stand_alone(mm):
    with refused(r"the shape of X is \(0, 4\)"):
        te.placeholder((0, 4), name="X")
    with refused("the function of Y has 1 parameters, but the tensor has 2 dimensions"):
        te.compute((4, 4), lambda i: mm.A[i, i], name="Y")
    with refused("Z uses the result of a reduction in the same compute"):
        te.compute((64,), lambda i: te.sum(mm.A[i, mm.k], axis=mm.k) + 1, name="Z")
    with refused(r"'blockDim\.x' is not an index of a grid"):
        te.thread_axis("blockDim.x")
    with refused("the axis k has no values"):
        te.reduce_axis((4, 4), "k")
