"""`tensorize`: instructions in the place of loops, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini import te
from tirx_mini.ir import BufferStore, TirxError, const, seq
from tirx_mini.script import tir as T

from .examples import lines, matmul, random, threads


def on_tensor_cores(n: int = 64, align: bool = True) -> tuple[te.Schedule, list[te.Tensor]]:
    """A matmul of float16: CTAs of four warps, tiles of 32 × 32 × 32 in shared memory."""
    A, B = (te.placeholder((n, n), "float16", name) for name in "AB")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), axis=k), name="C")
    s = te.create_schedule(C.op)
    CF = s.cache_write(C, "wmma.accumulator")
    staged = [s.cache_read(tensor, "shared", [CF]) for tensor in (A, B)]
    by, bx, tz, ty, tx = threads("blockIdx.y", "blockIdx.x", "threadIdx.z", "threadIdx.y", "threadIdx.x")
    io, jo, ii, ji = s[C].tile(*C.op.axis, 32, 32)
    wi, wj, ii, ji = s[C].tile(ii, ji, 16, 16)
    for axis, index in ((io, by), (jo, bx), (wi, tz), (wj, ty)):
        s[C].bind(axis, index)
    *_, inner, _ = s[C].tile(ii, ji, 16, 8)
    s[C].tensorize(inner, te.mma_store())
    s[CF].compute_at(s[C], wj)
    ko, ki = s[CF].split(k, factor=32)
    km, kt = s[CF].split(ki, factor=16)
    mi, mj, ti, tj = s[CF].tile(*CF.op.axis, 16, 8)
    s[CF].reorder(ko, km, mi, mj, ti, tj, kt)
    s[CF].tensorize(ti, te.mma())
    for copy in staged:
        stage = s[copy]
        stage.compute_at(s[CF], ko)
        rows, columns = copy.op.axis
        columns, vector = stage.split(columns, factor=8)
        fused = stage.fuse(rows, columns)
        fused, x = stage.split(fused, factor=32)
        z, y = stage.split(fused, factor=2)
        for axis, index in ((x, tx), (y, ty), (z, tz)):
            stage.bind(axis, index)
        stage.vectorize(vector)
        if align:
            stage.storage_align(copy.op.axis[0], 64, 8)
    return s, [A, B, C]


@pytest.mark.parametrize("align", [False, True])
def test_tensor_cores_compute_the_product(align):
    s, args = on_tensor_cores(align=align)
    a, b = random(64, 64).astype(np.float16), random(64, 64, seed=1).astype(np.float16)
    c = np.full((64, 64), np.nan, np.float32)
    report = tvm.simulate(te.lower(s, args), a, b, c, gpu="h100")
    assert report.ok, str(report)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    assert report.stats["flops"] == 2 * 64**3 and report.tflops is not None


def test_the_instructions_are_in_the_text():
    text = "\n".join(lines(te.lower(*on_tensor_cores())))
    assert text.count('with T.attr({"tensor_intrin": "mma_m16n8k16_float16"}):') == 2  # begin, and step
    assert "T.ptx.mma.sync(" in text and "T.ptx.ldmatrix(" in text
    assert 'C_wmma_accumulator = T.alloc_buffer((1, 2, 4), "float32", scope="local")' in text


@pytest.mark.compiler
def test_tensor_cores_in_sass():
    assert "HMMA.16816.F32" in te.build(*on_tensor_cores(), target="cuda:sm_90a").source("sass")


def row_sum(width: int) -> te.TensorIntrin:
    """The sum of `width` neighbours, as a CPU might have it."""
    a = te.placeholder((width,), name="a")
    k = te.reduce_axis((0, width), "k")
    c = te.compute((1,), lambda i: te.sum(a[k], axis=k), name="c")

    def statements(inputs, outputs):
        total = outputs[0][0]
        for place in range(width):
            total = total + inputs[0][place]
        step = BufferStore(outputs[0], (const(0),), total)
        begin = BufferStore(outputs[0], (const(0),), const(0.0))
        return seq(begin, step), begin, step

    return te.decl_tensor_intrin(c.op, statements, name="row_sum")


@pytest.mark.parametrize("width", [4, 16])
def test_an_instruction_of_ones_own_on_the_cpu(width):
    A = te.placeholder((8, 16), name="A")
    k = te.reduce_axis((0, 16), "k")
    S = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="S")
    s = te.create_schedule(S.op)
    _, ki = s[S].split(k, factor=width)
    s[S].tensorize(ki, row_sum(width))
    text = te.lower(s, [A, S]).script()
    assert '"tensor_intrin": "row_sum"' in text and "for k_inner" not in text
    a, out = random(8, 16), np.full(8, np.nan, np.float32)
    te.build(s, [A, S], "llvm")(a, out)
    np.testing.assert_array_equal(out, a.sum(1))


def refused(message: str):
    return pytest.raises(TirxError, match=message)


def test_an_instruction_that_computes_something_else_is_refused():
    A = te.placeholder((8, 16), name="A")
    k = te.reduce_axis((0, 16), "k")
    S = te.compute((8,), lambda i: te.sum(A[i, k] * 2, axis=k), name="S")
    s = te.create_schedule(S.op)
    s[S].tensorize(k, row_sum(16))
    with refused("S cannot be tensorized by row_sum: the stage computes"):
        te.lower(s, [A, S])
    s[S].tensorize(s[S].split(k, factor=8)[1], row_sum(16))
    with refused("the loops from there on cover 8, and the instruction 16"):
        te.lower(s, [A, S])
    s = te.create_schedule(S.op)
    s[S].tensorize(s[S].split(k, factor=6)[1], row_sum(6))
    with refused("let the factors of its loops divide the extents"):
        te.lower(s, [A, S])
    with refused("is not an instruction"):
        s[S].tensorize(S.op.axis[0], row_sum)


def test_accumulators_are_accessed_by_instructions_alone():
    mm = matmul()
    s = te.create_schedule(mm.C.op)
    CF = s.cache_write(mm.C, "wmma.accumulator")
    io, ii = s[mm.C].split(mm.C.op.axis[0], factor=16)
    s[mm.C].bind(io, te.thread_axis("blockIdx.x"))
    s[CF].compute_at(s[mm.C], io)
    with refused("C.wmma.accumulator is spread over the lanes of a warp"):
        te.lower(s, mm.args)
    s[CF].compute_at(s[mm.C], ii)
    with refused("is an accumulator of 1 × 64, which is not a multiple of 16 × 8"):
        te.lower(s, mm.args)


def test_an_instruction_of_a_warp_needs_its_lanes():
    s, args = on_tensor_cores()
    for stage in s.stages:
        stage.kinds = {axis: kind for axis, kind in stage.kinds.items() if stage.threads.get(axis) is None
                       or stage.threads[axis].thread != "threadIdx.x"}  # fmt: skip
        stage.threads = {axis: index for axis, index in stage.threads.items() if index.thread != "threadIdx.x"}
    with refused(r"mma_m16n8k16_float16 is an instruction of a warp, but threadIdx\.x has 1 values"):
        tvm.compile(te.lower(s, args), "sim")


def dot(width: int) -> te.TensorIntrin:
    """The product of a row and a column of `width` elements."""
    a, b = te.placeholder((1, width), name="a"), te.placeholder((width, 1), name="b")
    k = te.reduce_axis((0, width), "k")
    c = te.compute((1, 1), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")

    def statements(inputs, outputs):
        (row, column), (total,) = inputs, outputs
        value = total[0, 0]
        for place in range(width):
            value = value + row[0, place] * column[place, 0]
        first = (const(0), const(0))
        return None, BufferStore(total, first, const(0.0)), BufferStore(total, first, value)

    return te.decl_tensor_intrin(c.op, statements, name="dot")


@T.prim_func
def product(A: T.Buffer((32, 24), "float32"), B: T.Buffer((24, 16), "float32"), C: T.Buffer((32, 16), "float32")):
    for i, j, k in T.grid(32, 16, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@pytest.mark.parametrize("width", [8, 24])
def test_blocks_are_tensorized(width):
    sch = te.TirSchedule(product)
    block = sch.get_block("C")
    *_, k = sch.get_loops(block)
    if width < 24:
        outer, k = sch.split(k, [None, width])
        sch.decompose_reduction(block, outer)
    sch.tensorize(k, dot(width))
    assert "tensorize(" in str(sch.trace) and "dot" in str(sch.trace)
    assert sch.mod.script().count('"tensor_intrin": "dot"') == (2 if width == 24 else 1)
    a, b, c = random(32, 24), random(24, 16, seed=1), np.full((32, 16), np.nan, np.float32)
    te.build(sch.mod, target="llvm")(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_blocks_that_compute_something_else_are_not_tensorized():
    sch = te.TirSchedule(product)
    i, j, k = sch.get_loops(sch.get_block("C"))
    _, ki = sch.split(k, [None, 8])
    with refused("its reduction goes on in a loop around it: call decompose_reduction first"):
        sch.tensorize(ki, dot(8))
    with refused("the loops from there on cover 1 × 1 × 8|the loops from there on cover 8, and the instruction 16"):
        sch.tensorize(ki, dot(16))
    with refused("there is no instruction 'dot'"):
        sch.tensorize(ki, "dot")
    with refused("C is not a block of loops around one block"):
        sch.tensorize(sch.get_block("C"), dot(8))
