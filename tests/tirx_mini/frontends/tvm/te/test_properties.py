"""Whatever legal transformations a schedule applies, the result stays the same."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, note, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from tirx_mini import te

from .examples import matmul, random


def loops_of(stage: te.Stage, kind: str | None = None) -> list[te.IterVar]:
    return [leaf for leaf in stage.leaf_iter_vars if kind is None or leaf.kind == kind]


def transform(data: st.DataObject, stage: te.Stage, most: int = 6) -> None:
    """Random splits, fusions and orders of the loops of a stage."""
    for _ in range(data.draw(st.integers(0, most))):
        leaves = stage.leaf_iter_vars
        what = data.draw(st.sampled_from(["split", "nparts", "fuse", "reorder"]))
        if what in ("split", "nparts"):
            factor = data.draw(st.sampled_from([1, 2, 3, 4, 5, 8, 40]))
            stage.split(data.draw(st.sampled_from(leaves)), **{"factor" if what == "split" else "nparts": factor})
        elif what == "fuse":
            pairs = [pair for pair in pairwise(leaves) if pair[0].kind == pair[1].kind]
            if pairs:
                stage.fuse(*data.draw(st.sampled_from(pairs)))
        else:
            stage.reorder(*data.draw(st.permutations(leaves)))


def annotate(data: st.DataObject, stage: te.Stage) -> None:
    """Random kinds of loops for a CPU."""
    for leaf in stage.leaf_iter_vars:
        kinds = ["serial", "unroll"] + (["vectorize", "parallel"] if leaf.kind == "data parallel" else [])
        kind = data.draw(st.sampled_from(kinds))
        if kind != "serial":
            getattr(stage, kind)(leaf)


def place(data: st.DataObject, producer: te.Stage, consumer: te.Stage) -> None:
    """A random place for a stage that only `consumer` reads."""
    where = data.draw(st.sampled_from(["root", "inline", "at", "at"]))
    if where == "inline" and producer.compute.reduction is None:
        producer.compute_inline()
    elif where == "at":
        producer.compute_at(consumer, data.draw(st.sampled_from(consumer.leaf_iter_vars)))


def pipeline(rows: int, columns: int):
    """A stencil of a pointwise stage, and a reduction of its rows."""
    A = te.placeholder((rows + 2, columns), name="A")
    B = te.compute((rows + 2, columns), lambda i, j: A[i, j] * 2 + 1, name="B")
    C = te.compute((rows, columns), lambda i, j: B[i, j] + B[i + 2, columns - 1 - j], name="C")
    k = te.reduce_axis((0, columns), "k")
    D = te.compute((rows,), lambda i: te.max(C[i, k], axis=k), name="D")
    E = te.compute((rows, columns), lambda i, j: C[i, j] - D[i], name="E")
    return A, B, C, D, E


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_pipeline_on_the_cpu(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    A, B, C, D, E = pipeline(rows, columns)
    s = te.create_schedule(E.op)
    transform(data, s[E])
    if data.draw(st.booleans()):
        s[D].compute_at(s[E], data.draw(st.sampled_from(s[E].leaf_iter_vars)))
    transform(data, s[D], 3)
    transform(data, s[C], 2)
    place(data, s[B], s[C])
    if data.draw(st.booleans()) and s[B].leaves:
        transform(data, s[B], 2)
    for tensor in (B, C, D, E):
        annotate(data, s[tensor])
    a, out = random(rows + 2, columns), np.full((rows, columns), np.nan, np.float32)
    te.build(s, [A, E], "llvm")(a, out)
    b = a * 2 + 1
    c = b[:-2] + b[2:, ::-1]
    np.testing.assert_array_equal(out, c - c.max(1, keepdims=True))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_matmul_with_caches_on_the_cpu(data: st.DataObject) -> None:
    M, N, K = (data.draw(st.integers(1, 9)) for _ in range(3))
    mm = matmul(M, N, K)
    s = te.create_schedule(mm.C.op)
    writer = mm.C
    if data.draw(st.booleans()):
        writer = s.cache_write(mm.C, "local")
    reads = [s.cache_read(t, "shared", [writer]) for t in (mm.A, mm.B) if data.draw(st.booleans())]
    transform(data, s[mm.C])
    if writer is not mm.C:
        s[writer].compute_at(s[mm.C], data.draw(st.sampled_from(s[mm.C].leaf_iter_vars)))
        transform(data, s[writer])
    for read in reads:
        s[read].compute_at(s[writer], data.draw(st.sampled_from(s[writer].leaf_iter_vars)))
        transform(data, s[read], 3)
        if data.draw(st.booleans()):
            s[read].storage_align(read.op.axis[0], data.draw(st.sampled_from([4, 32])), data.draw(st.integers(0, 3)))
    for stage in s.stages[2:]:
        if stage.leaves:
            annotate(data, stage)
    a, b, c = random(M, K), random(K, N, seed=1), np.full((M, N), np.nan, np.float32)
    te.build(s, mm.args, "llvm")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_a_matmul_with_caches_in_the_simulator(data: st.DataObject) -> None:
    M, N, K = (data.draw(st.integers(1, 12)) for _ in range(3))
    mm = matmul(M, N, K)
    s = te.create_schedule(mm.C.op)
    CL = s.cache_write(mm.C, "local")
    reads = [s.cache_read(t, "shared", [CL]) for t in (mm.A, mm.B) if data.draw(st.booleans())]
    i, j = mm.C.op.axis
    tiles = [data.draw(st.sampled_from([1, 2, 3, 4])) for _ in range(2)]
    io, jo, ii, ji = s[mm.C].tile(i, j, *tiles)
    names = data.draw(st.permutations(["threadIdx.x", "threadIdx.y"]))
    outer = data.draw(st.permutations(["blockIdx.x", "blockIdx.y", "blockIdx.z"]))
    for axis, name in zip((io, jo, ii, ji), (*outer[:2], *names), strict=True):
        s[mm.C].bind(axis, te.thread_axis(name))
    s[CL].compute_at(s[mm.C], data.draw(st.sampled_from([ji, ii]) if not reads else st.just(ji)))
    transform(data, s[CL], 4)
    for read in reads:
        places = [*((CL, leaf) for leaf in s[CL].leaf_iter_vars), (mm.C, jo), (mm.C, ji)]
        parent, at = data.draw(st.sampled_from(places))
        s[read].compute_at(s[parent], at)
        for leaf, name in zip(s[read].leaf_iter_vars, names, strict=True):
            if data.draw(st.booleans()):
                s[read].bind(leaf, te.thread_axis(name))
        s[read].storage_align(read.op.axis[0], 4, data.draw(st.integers(0, 1)))
    a, b, c = random(M, K), random(K, N, seed=1), np.full((M, N), np.nan, np.float32)
    module = te.lower(s, mm.args)
    note(str(module))
    report = tvm.simulate(module, a, b, c, gpu="h100")
    assert report.verdict == "ok", str(report)
    np.testing.assert_array_equal(c, a @ b)
