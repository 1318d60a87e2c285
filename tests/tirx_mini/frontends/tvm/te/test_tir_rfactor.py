"""`tir.Schedule`: reductions in two steps, blocks that become one, choices at random, and functions of any size."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini import te
from tirx_mini.arguments import ArgumentError
from tirx_mini.ir import TirxError
from tirx_mini.script import tir as T

from .examples import random


@T.prim_func
def largest(A: T.Buffer((6, 24), "float32"), C: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 24):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.min_value("float32")
            B[vi] = T.max(B[vi], A[vi, vk])
    for i in range(6):
        with T.block("C"):
            vi = T.axis.spatial(6, i)
            C[vi] = B[vi] * T.float32(2)


def computed(func) -> None:
    a, c = random(6, 24), np.full(6, np.nan, np.float32)
    te.build(func, target="llvm")(a, c)
    np.testing.assert_array_equal(c, a.max(1) * 2)


@pytest.mark.parametrize("factors", [[24], [None, 4], [3, None], [2, 3, 4]])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_each_loop_of_a_reduction_may_be_data_parallel(factors, axis):
    for number in range(len(factors)):
        sch = te.TirSchedule(largest)
        loops = sch.split(sch.get_loops(sch.get_block("B"))[1], factors)
        partial = sch.rfactor(loops[number], axis)
        extent = sch.get(loops[number]).stop.value
        shape = (extent, 6) if axis == 0 else (6, extent)
        assert f"B_rf = T.alloc_buffer({shape}" in sch.func.script() and partial.name == "B_rf"
        computed(sch.func)


def test_the_steps_are_scheduled_like_other_blocks():
    sch = te.TirSchedule(largest)
    block = sch.get_block("B")
    i, k = sch.get_loops(block)
    ko, ki = sch.split(k, [None, 8])
    partial = sch.rfactor(ki, 1)
    sch.reorder(ki, ko)
    sch.reverse_compute_at(sch.get_block("C"), sch.get_loops(block)[0])
    sch.decompose_reduction(partial, ko)
    sch.parallel(i)
    sch.vectorize(sch.get_loops(sch.get_block("B_rf_init"))[-1])
    computed(sch.func)
    again = te.TirSchedule(largest)
    sch.trace.apply_to_schedule(again)
    assert again.func.script() == sch.func.script() and "sch.rfactor(l" in str(sch.trace)


def test_a_reduction_that_cannot_be_factored_is_refused():
    sch = te.TirSchedule(largest)
    block = sch.get_block("B")
    i, k = sch.get_loops(block)
    with pytest.raises(TirxError, match="rfactor of B at i: the loop does not reduce") as caught:
        sch.rfactor(i, 0)
    assert "B reduces over k" in str(caught.value)
    with pytest.raises(TirxError, match="B has no dimension 2"):
        sch.rfactor(k, 2)
    other = sch.copy()
    _, ki = other.split(k, [None, 5])
    with pytest.raises(TirxError, match="not all of its iterations are executed"):
        other.rfactor(ki, 0)
    other = sch.copy()
    with pytest.raises(TirxError, match="a loop counts elements and their reduction"):
        other.rfactor(other.fuse(i, k), 0)
    sch.decompose_reduction(block, k)
    with pytest.raises(TirxError, match=r"its loops hold more than one block|it is not one reduction"):
        sch.rfactor(k, 0)


def test_blocks_are_found_by_what_they_read_and_write_and_copies_are_independent():
    sch = te.TirSchedule(largest)
    block, last = sch.get_block("B"), sch.get_block("C")
    assert [each.name for each in sch.get_producers(last)] == ["B"] and sch.get_producers(block) == []
    assert [each.name for each in sch.get_consumers(block)] == ["C"]
    assert [each.name for each in sch.get_child_blocks(sch.get_block("root"))] == ["B", "C"]
    assert [each.name for each in sch.get_output_blocks()] == ["C"]
    before, other = sch.func.script(), sch.copy()
    other.decompose_reduction(block, sch.get_loops(block)[1])
    other.unroll(other.get_loops(block)[-1])
    assert sch.func.script() == before and len(sch.get_loops(block)) == 2
    computed(other.func)


def test_a_reader_is_inlined_into_what_it_reads():
    @T.prim_func
    def shifted(A: T.Buffer((8, 6), "float32"), C: T.Buffer((6, 8), "float32")):
        B = T.alloc_buffer((8, 6), "float32")
        for i, j in T.grid(8, 6):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(6, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vj, vi] + T.float32(1)

    sch = te.TirSchedule(shifted)
    sch.reverse_compute_inline(sch.get_block("C"))
    sch.add_unit_loop(sch.get_block("B"))
    assert "alloc_buffer" not in sch.func.script() and "T.grid(8, 6, 1)" in sch.func.script()
    a, c = random(8, 6), np.zeros((6, 8), np.float32)
    te.build(sch.func, target="llvm")(a, c)
    np.testing.assert_array_equal(c, a.T * 2 + 1)
    sch = te.TirSchedule(largest)
    with pytest.raises(TirxError, match=r"C cannot be inlined into what it reads: .* neither may reduce"):
        sch.reverse_compute_inline(sch.get_block("C"))


def test_choices_are_kept_in_the_trace():
    chosen = set()
    for seed in range(8):
        sch = te.TirSchedule(largest, seed=seed)
        _, k = sch.get_loops(sch.get_block("B"))
        factors = sch.sample_perfect_tile(k, n=2, max_innermost_factor=8)
        assert factors[0] * factors[1] == 24 and factors[1] <= 8
        _, inner = sch.split(k, factors)
        sch.annotate(inner, "pragma_auto_unroll_max_step", sch.sample_categorical([4, 16], [0.5, 0.5]))
        sch.unannotate(inner, "pragma_auto_unroll_max_step")
        again = te.TirSchedule(largest)
        sch.trace.apply_to_schedule(again)
        assert again.func.script() == sch.func.script() and str(again.trace) == str(sch.trace)
        chosen.add(tuple(factors))
    assert len(chosen) > 1
    with pytest.raises(TirxError, match=r"k_0 has \d+ iterations, not \[5, 5\]"):
        sch.sample_perfect_tile(sch.get_loops(sch.get_block("B"))[1], 2, decision=[5, 5])


@pytest.mark.parametrize("target", ["llvm", "sim:h100"])
def test_blocks_of_symbolic_extents(target):
    @T.prim_func
    def doubled(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 4), "float32")
        B = T.match_buffer(b, (n, 4), "float32")
        for i in T.thread_binding(4, thread="threadIdx.x") if target != "llvm" else T.serial(4):
            for j in range(n):
                with T.block("B"):
                    vj, vi = T.axis.remap("SS", [j, i])
                    B[vj, vi] = A[vj, vi] * T.float32(2)

    function = te.build(doubled, target=target)
    for size in (3, 5):
        a, b = random(size, 4), np.zeros((size, 4), np.float32)
        function(a, b)
        np.testing.assert_array_equal(b, a * 2)
    with pytest.raises(ArgumentError, match="`n` is"):
        function(a, b[:2])
    with pytest.raises(TirxError, match="which no schedule knows"):
        sch = te.TirSchedule(doubled)
        sch.split(sch.get_loops(sch.get_block("B"))[1], [None, 2])
