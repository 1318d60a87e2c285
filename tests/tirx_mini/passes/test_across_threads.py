"""Blocks that reduce over threads."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini import te
from tirx_mini.ir import TirxError
from tirx_mini.script import tir as T


@T.prim_func
def sums(A: T.Buffer((8, 100), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 100):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


def values(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 5, (rows, columns)).astype(np.float32)


def test_threads_share_a_reduction_whose_iterations_they_do_not_divide():
    sch = te.TirSchedule(sums)
    i, k = sch.get_loops("B")
    outer, row = sch.split(i, [None, 3])
    _, lane = sch.split(k, [None, 16])
    sch.bind(outer, "blockIdx.x")
    sch.bind(row, "threadIdx.y")
    sch.bind(lane, "threadIdx.x")
    a, b = values(8, 100), np.full(8, np.nan, np.float32)
    te.build(sch.mod, target="sim:h100")(a, b)
    np.testing.assert_array_equal(b, a.sum(1))


def test_every_thread_has_a_result_in_its_registers_and_a_maximum_begins_with_its_identity():
    @T.prim_func
    def shifted(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4, 32), "float32")):
        top = T.alloc_buffer((4,), "float32", scope="local")
        for i in T.thread_binding(4, thread="blockIdx.x"):
            for k in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("top"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        top[vi] = T.min_value("float32")
                    top[vi] = T.max(top[vi], A[vi, vk])
            for j in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] - top[vi]

    a, b = values(4, 32), np.zeros((4, 32), np.float32)
    te.build(shifted, target="sim:h100")(a, b)
    np.testing.assert_array_equal(b, a - a.max(1, keepdims=True))


def refused(func, message: str) -> None:
    with pytest.raises(TirxError, match=message):
        te.build(func, target="sim:h100")


def test_what_threads_cannot_share_is_refused():
    @T.prim_func
    def no_init(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
        for k in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                vk = T.axis.reduce(32, k)
                B[0] = B[0] + A[vk]

    refused(no_init, r"B cannot be reduced across the threads of k, which threadIdx\.x counts: it does not begin with")

    @T.prim_func
    def beside(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32"), C: T.Buffer((32,), "float32")):
        for k in T.thread_binding(32, thread="threadIdx.x"):
            C[k] = A[k]
            with T.block("B"):
                vk = T.axis.reduce(32, k)
                with T.init():
                    B[0] = T.float32(0)
                B[0] = B[0] + A[vk]

    refused(beside, "other statements are in the loops that reduce")
    sch = te.TirSchedule(sums)
    i, k = sch.get_loops("B")
    sch.reorder(k, i)
    sch.bind(k, "threadIdx.x")
    refused(sch.func, "the loop i is inside the reduction")
    other = te.TirSchedule(sums)
    other.decompose_reduction("B", other.get_loops("B")[1])
    with pytest.raises(TirxError, match=r"k cannot be bound to threadIdx\.x: B_update reduces over it") as caught:
        other.bind(k, "threadIdx.x")
    assert "bind it before decompose_reduction" in str(caught.value)
