"""`te.check`: the notes of a symptom table, each with its fix, and none where the fix was made."""

from __future__ import annotations

import pytest

from tirx_mini import te
from tirx_mini.script import tir as T

from .examples import matmul, threads


def messages(*args, **kwargs) -> list[str]:
    return [note.message for note in te.check(*args, **kwargs)]


def test_an_inner_loop_without_vectors():
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[i, j] * 2, name="B")
    s = te.create_schedule(B.op)
    (note,) = te.check(s, [A, B])
    assert note.message == "the innermost loop j is computed one element at a time"
    assert note.severity == "note" and "s[B].vectorize(j)" in note.render() and note.span is not None
    s[B].vectorize(s[B].split(B.op.axis[1], factor=16)[1])
    assert messages(s, [A, B]) == []


def test_an_inner_loop_that_reduces():
    mm = matmul()
    s = te.create_schedule(mm.C.op)
    assert messages(s, mm.args) == ["the innermost loop k reduces, so it cannot be a vector"]
    s[mm.C].reorder(mm.C.op.axis[0], mm.k, mm.C.op.axis[1])
    assert "the innermost loop j is computed one element at a time" in messages(s, mm.args)
    s[mm.C].vectorize(mm.C.op.axis[1])
    assert messages(s, mm.args) == []


def test_large_temporaries():
    image = te.placeholder((128, 257), name="image")
    slope = te.compute((128, 256), lambda y, x: image[y, x + 1] - image[y, x], name="slope")
    energy = te.compute((128, 256), lambda y, x: slope[y, x] * slope[y, x], name="energy")
    s = te.create_schedule(energy.op)
    for tensor in (slope, energy):
        s[tensor].vectorize(tensor.op.axis[1])
    kept = "slope is kept in full between its producer and its readers: 131,072 bytes"
    assert messages(s, [image, energy]) == [kept]
    s[slope].compute_at(s[energy], energy.op.axis[0])
    assert messages(s, [image, energy]) == []


@pytest.mark.parametrize("align", [False, True])
def test_loops_to_bind_and_bank_conflicts(align):
    mm = matmul()
    s = te.create_schedule(mm.C.op)
    AA = s.cache_read(mm.A, "shared", [mm.C])
    i, j = mm.C.op.axis
    io, ii = s[mm.C].split(i, factor=32)
    s[AA].compute_at(s[mm.C], io)
    assert [message.split(":")[0] for message in messages(s, mm.args, target="cuda")][-2:] == [
        "no loop is bound to blockIdx", "no loop is bound to threadIdx"
    ]  # fmt: skip
    bx, tx = threads("blockIdx.x", "threadIdx.x")
    s[mm.C].bind(io, bx)
    s[mm.C].bind(ii, tx)
    if align:
        s[AA].storage_align(AA.op.axis[0], 32, 1)
    expected = [] if align else ["an access of A.shared by a warp takes 32 passes through the banks of shared memory"]
    assert messages(s, mm.args, target="cuda") == expected


@pytest.mark.parametrize("begins", [False, True])
def test_a_reduction_without_its_first_value(begins):
    @T.prim_func
    def sums(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
        for i, k in T.grid(8, 64):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                B[vi] = B[vi] + A[vi, vk]

    @T.prim_func
    def right(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
        for i, k in T.grid(8, 64):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    said = "B is added to, but nothing gives it a first value"
    assert (said in messages(right if begins else sums)) == (not begins)


def test_an_update_in_place_is_no_reduction():
    @T.prim_func
    def add_one(A: T.Buffer((64,), "float32")):
        for i in T.vectorized(64):
            A[i] = A[i] + T.float32(1)

    assert messages(add_one) == []
