"""`tir.Schedule`: blocks, their transformations, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from tirx_mini import te
from tirx_mini.ir import PrimFunc, TirxError, structural_equal
from tirx_mini.script import tir as T

from .examples import matmul, random


@T.prim_func
def product(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (32, 24), "float32")
    B = T.match_buffer(b, (24, 16), "float32")
    C = T.match_buffer(c, (32, 16), "float32")
    D = T.alloc_buffer((32, 16), "float32")
    for i, j, k in T.grid(32, 16, 24):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(D[vi, vj])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(32, 16):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            vj = T.axis.spatial(16, j)
            C[vi, vj] = T.max(D[vi, vj] + T.float32(1), T.float32(0))


def computed(func: PrimFunc, target: str = "llvm") -> None:
    """Check what a form of `product` computes."""
    a, b, c = random(32, 24), random(24, 16, seed=1), np.full((32, 16), np.nan, np.float32)
    te.build(func, target=target)(a, b, c)
    np.testing.assert_array_equal(c, np.maximum(a @ b + 1, 0))


def scheduled() -> te.TirSchedule:
    return te.TirSchedule(product)


def loops(sch: te.TirSchedule, name: str) -> list[te.LoopRV]:
    return sch.get_loops(sch.get_block(name))


def test_blocks_print_as_they_are_written_and_are_built():
    text = product.script()
    assert 'with T.block("D"):' in text and "for i, j, k in T.grid(32, 16, 24):" in text
    assert "vk = T.axis.reduce(24, k)" in text and "with T.init():" in text
    computed(product)


def test_the_text_of_blocks_reads_back(tmp_path):
    path = tmp_path / "printed.py"
    path.write_text(product.script().replace("# from tvm.script", "from tirx_mini.script"), encoding="utf-8")
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    assert structural_equal(names["product"].body, product.body)


def test_a_block_that_initialises_itself():
    @T.prim_func
    def smallest(points: T.Buffer((24, 5), "float32"), least: T.Buffer((24,), "float32")):
        for group, lane in T.grid(3, 8):
            with T.block("row"):
                row = T.axis.spatial(24, group * 8 + lane)
                T.reads(points[row, 0:5])
                T.writes(least[row])
                least[row] = points[row, 0]
                for place in range(1, 5):
                    least[row] = T.min(least[row], points[row, place])

    points, least = random(24, 5), np.zeros(24, np.float32)
    tvm.compile(tvm.IRModule({"main": smallest}), target="llvm")(points, least)
    np.testing.assert_array_equal(least, points.min(1))


def test_loops_for_the_cpu():
    sch = scheduled()
    block = sch.get_block("D")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, [None, 8])
    ko, ki = sch.split(k, factors=[None, 4])
    jo, ji = sch.split(j, [2, 8])
    sch.reorder(io, jo, ko, ii, ki, ji)
    sch.parallel(io)
    sch.unroll(ki)
    sch.decompose_reduction(block, ko)
    sch.vectorize(ji)
    sch.vectorize(sch.get_loops(sch.get_block("D_init"))[-1])
    sch.reverse_compute_at(sch.get_block("C"), io)
    computed(sch.mod.main)
    text = sch.func.script()
    assert 'with T.block("D_init"):' in text and "T.vectorized(8)" in text and "T.init" not in text
    again = scheduled()
    sch.trace.apply_to_schedule(again)
    assert again.func.script() == text
    assert str(sch.trace).splitlines()[:3] == [
        "b0 = sch.get_block('D')", "l1, l2, l3 = sch.get_loops(b0)", "l4, l5 = sch.split(l1, [None, 8])"
    ]  # fmt: skip


def test_blocks_for_a_gpu_with_staged_operands():
    sch = scheduled()
    block = sch.get_block("D")
    i, j, k = sch.get_loops(block)
    io, ii = sch.split(i, [None, 8])
    jo, ji = sch.split(j, [None, 8])
    ko, ki = sch.split(k, [None, 8])
    sch.reorder(io, jo, ii, ji, ko, ki)
    staged = [sch.cache_read(block, index, "shared") for index in (0, 1)]
    local = sch.cache_write(block, 0, "local")
    for loop, index in ((io, "blockIdx.y"), (jo, "blockIdx.x"), (ii, "threadIdx.y"), (ji, "threadIdx.x")):
        sch.bind(loop, index)
    for copy in staged:
        sch.compute_at(copy, ko)
        y, x = sch.get_loops(copy)[-2:]
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.storage_align(copy, 0, 0, 32, 1)
    sch.reverse_compute_at(local, ji)
    sch.compute_inline(local)
    sch.reverse_compute_at(sch.get_block("C"), ji)
    computed(sch.func, "sim:h100")
    lowered = tvm.compile(sch.func, "sim").source("lowered")
    assert "smem_bytes=2176" in lowered or "alloc_shared" in lowered


def test_a_computation_becomes_blocks():
    mm = matmul(8, 8, 8)
    func = te.create_prim_func([mm.A, mm.B, mm.C])
    assert "v_k = T.axis.reduce(8, k)" in func.script()
    a, b, c = random(8, 8), random(8, 8, seed=1), np.zeros((8, 8), np.float32)
    te.build(func, target="llvm")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def refused(message: str):
    return pytest.raises(TirxError, match=message)


def test_what_would_change_the_result_is_refused():
    sch = scheduled()
    i, j, k = loops(sch, "D")
    with refused("k cannot be parallel: D reduces over it"):
        sch.parallel(k)
    with refused(r"k cannot be bound to blockIdx\.x: D reduces over it"):
        sch.bind(k, "blockIdx.x")
    with refused("compute_at: C writes an argument"):
        sch.compute_at(sch.get_block("C"), k)
    with refused("D cannot be computed at i: C reads it outside of it"):
        sch.compute_at(sch.get_block("D"), i)
    with refused("C cannot be computed at k: the elements are not complete before k ends"):
        sch.reverse_compute_at(sch.get_block("C"), k)
    with refused("D reduces, which its readers cannot do"):
        sch.compute_inline(sch.get_block("D"))
    with refused("k is not the loop directly inside i"):
        sch.fuse(i, k)
    with refused("12 iterations are fewer than the 24 of k"):
        sch.split(k, [3, 4])
    with refused("there is no block 'E'"):
        sch.get_block("E")
    with refused("D reads no buffer 2"):
        sch.cache_read(sch.get_block("D"), 2, "shared")
    ko, ki = sch.split(k, [None, 4])
    with refused("the loop k is gone"):
        sch.unroll(k)
    sch.reorder(ko, i)
    with refused("k_0, around i, reduces, so each of its iterations would begin anew"):
        sch.decompose_reduction(sch.get_block("D"), i)
    computed(sch.func)


def test_loops_that_count_elements_and_their_reduction_keep_their_order():
    sch = scheduled()
    _, j, k = loops(sch, "D")
    outer, inner = sch.split(sch.fuse(j, k), [None, 16])
    with refused("j_k_fused_0, j_k_fused_1 cannot change places: they count elements of D and their reduction"):
        sch.reorder(inner, outer)
    block = sch.get_block("D")
    sch.decompose_reduction(block, sch.get_loops(block)[0])
    sch.reorder(inner, outer)
    computed(sch.func)


def test_two_blocks_of_one_name_are_refused():
    with refused("there are two blocks named 'X'"):

        @T.prim_func
        def twice(A: T.Buffer((8,), "float32")):
            for i in range(8):
                with T.block("X"):
                    vi = T.axis.spatial(8, i)
                    A[vi] = 0.0
            for i in range(8):
                with T.block("X"):
                    vi = T.axis.spatial(8, i)
                    A[vi] = 1.0


def test_a_reduction_around_a_fused_loop():
    sch = scheduled()
    sch.fuse(*loops(sch, "D")[:2])
    fused, k = loops(sch, "D")
    sch.reorder(k, fused)
    for _ in range(5):
        computed(sch.func)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_random_transformations_keep_the_result(data: st.DataObject) -> None:
    sch = scheduled()
    for _ in range(data.draw(st.integers(1, 8))):
        names = data.draw(st.sampled_from(["C", "D"]))
        block = sch.get_block(names) if names == "C" else sch.get_block("D")
        around = sch.get_loops(block)
        what = data.draw(st.sampled_from("split fuse reorder at cache_read cache_write kind align".split()))
        try:
            if what == "split":
                loop = around[data.draw(st.integers(0, len(around) - 1))]
                sch.split(loop, [None, data.draw(st.sampled_from([1, 2, 3, 5, 8]))])
            elif what == "fuse" and len(around) > 1:
                first = data.draw(st.integers(0, len(around) - 2))
                sch.fuse(*around[first : first + 2])
            elif what == "reorder":
                sch.reorder(*(around[n] for n in data.draw(st.permutations(range(len(around))))))
            elif what == "at":
                other = sch.get_block("D" if names == "C" else "C")
                move = sch.compute_at if names == "C" else sch.reverse_compute_at
                move(other, around[data.draw(st.integers(0, len(around) - 1))])
            elif what == "cache_read":
                sch.cache_read(block, 0, "local")
            elif what == "cache_write":
                sch.cache_write(block, 0, "local")
            elif what == "align":
                sch.storage_align(block, 0, 0, 4, 1)
            elif what == "kind":
                kind = data.draw(st.sampled_from(["vectorize", "parallel", "unroll"]))
                getattr(sch, kind)(around[data.draw(st.integers(0, len(around) - 1))])
        except TirxError:
            pass  # refused, and nothing has changed
    note(str(sch.trace))
    note(sch.func.script())
    computed(sch.func)
