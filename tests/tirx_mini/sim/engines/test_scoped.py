"""Accesses with a memory order: what they order, and what is a race without."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


def run(kernel: PrimFunc, *arrays: np.ndarray, **options: Any) -> tuple[str, list[str]]:
    """The verdict, and the codes of the findings that are errors."""
    report = tvm.simulate(kernel, *arrays, gpu="b200", **options)
    return report.verdict, [f.code for f in report.findings if f.severity == "error"]


OK, RACE = ("ok", []), ("hazard", ["TX201"])


def message(
    write: str, read: str, fence: str = "none", after: str = "none", scope: str = "gpu"
) -> tuple[str, list[str]]:
    """CTA 0 writes data, then a flag; CTA 1 polls the flag, then reads the data. fence, after: the scope of a fence
    between the two writes, and between the two reads."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), F: T.Buffer((1,), "uint32"), O: T.Buffer((32,), "float32")):
        T.device_entry()
        bx = T.cta_id([2])
        tx = T.thread_id([32])
        if bx == 0:
            A[tx] = T.float32(tx)
            T.cuda.cta_sync()
            if tx == 0:
                if fence != "none":
                    T.ptx.fence(sem="acq_rel", scope=fence)
                if write == "weak":
                    F[0] = T.uint32(1)
                elif write == "relaxed":
                    T.ptx.st_relaxed(F.ptr_to([0]), T.uint32(1), scope=scope)
                elif write == "volatile":
                    T.ptx.st_volatile(F.ptr_to([0]), T.uint32(1))
                elif write == "red":
                    T.ptx.red(F.ptr_to([0]), T.uint32(1), op="add", sem="release", scope=scope)
                else:
                    T.ptx.st_release(F.ptr_to([0]), T.uint32(1), scope=scope)
        else:
            if tx == 0:
                if read == "relaxed":
                    while T.ptx.ld_relaxed(F.ptr_to([0]), scope=scope) != T.uint32(1):
                        pass
                elif read == "volatile":
                    while T.ptx.ld_volatile(F.ptr_to([0])) != T.uint32(1):
                        pass
                else:
                    while T.ptx.ld_acquire(F.ptr_to([0]), scope=scope) != T.uint32(1):
                        pass
                if after != "none":
                    T.ptx.fence(sem="acq_rel", scope=after)
            T.cuda.cta_sync()
            O[tx] = A[tx]

    out = np.zeros(32, np.float32)
    result = run(kernel, np.zeros(32, np.float32), np.zeros(1, np.uint32), out)
    if result == OK:
        np.testing.assert_array_equal(out, np.arange(32))
    return result


@pytest.mark.parametrize(
    ("write", "read", "fences"),
    [
        ("release", "acquire", {}), ("red", "acquire", {}), ("release", "acquire", {"scope": "sys"}),
        ("relaxed", "relaxed", {"fence": "gpu", "after": "gpu"}), ("relaxed", "acquire", {"fence": "gpu"}),
        ("release", "relaxed", {"after": "gpu"}), ("volatile", "volatile", {"fence": "gpu", "after": "sys"}),
    ],
)  # fmt: skip
def test_a_release_that_an_acquire_reads_orders_what_came_before(write: str, read: str, fences: dict[str, str]) -> None:
    assert message(write, read, **fences) == OK


@pytest.mark.parametrize(
    ("write", "read", "fences"),
    [
        ("relaxed", "acquire", {}), ("release", "relaxed", {}), ("relaxed", "relaxed", {"fence": "gpu"}),
        ("relaxed", "relaxed", {"after": "gpu"}), ("relaxed", "relaxed", {"fence": "cta", "after": "gpu"}),
        ("volatile", "volatile", {}),
    ],
)  # fmt: skip
def test_without_one_of_the_two_it_is_a_race(write: str, read: str, fences: dict[str, str]) -> None:
    assert message(write, read, **fences) == RACE


def test_the_flag_itself_is_a_race_where_a_scope_leaves_a_thread_out_or_an_access_is_weak() -> None:
    assert message("release", "acquire", scope="cta") == ("hazard", ["TX201", "TX201"])
    assert message("weak", "acquire", fence="gpu")[0] == "hazard"


def chain(middle: str, sem: str = "relaxed") -> tuple[str, list[str]]:
    """CTA 0 releases 1, CTA 1 makes it 2, CTA 2 acquires the 2 and reads what CTA 0 wrote."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "int32"), F: T.Buffer((1,), "uint32"), O: T.Buffer((32,), "int32")):
        T.device_entry()
        bx = T.cta_id([3])
        tx = T.thread_id([32])
        if bx == 0:
            A[tx] = tx
            T.cuda.warp_sync()
            if tx == 0:
                T.ptx.st_release(F.ptr_to([0]), T.uint32(1))
        elif bx == 1:
            if tx == 0:
                while T.ptx.ld_relaxed(F.ptr_to([0])) != T.uint32(1):
                    pass
                if middle == "add":
                    T.ptx.red(F.ptr_to([0]), T.uint32(1), op="add", sem=sem)
                elif middle == "cas":
                    T.evaluate(T.ptx.atom.cas(F.ptr_to([0]), T.uint32(1), T.uint32(2), sem=sem))
                else:
                    T.ptx.st_relaxed(F.ptr_to([0]), T.uint32(2))
        else:
            if tx == 0:
                while T.ptx.ld_acquire(F.ptr_to([0])) != T.uint32(2):
                    pass
            T.cuda.warp_sync()
            O[tx] = A[tx]

    return run(kernel, np.zeros(32, np.int32), np.zeros(1, np.uint32), np.zeros(32, np.int32))


def test_atomic_operations_go_on_with_a_release_and_stores_do_not() -> None:
    assert chain("add") == chain("cas") == chain("add", "release") == OK
    assert chain("store") == RACE


def last_one(fences: bool, sem: str = "") -> tuple[str, list[str]]:
    """Each CTA writes a part and counts itself; the last one adds them up."""

    @T.prim_func
    def kernel(P: T.Buffer((8,), "int32"), C: T.Buffer((1,), "int32"), O: T.Buffer((1,), "int32")):
        T.device_entry()
        bx = T.cta_id([8])
        tx = T.thread_id([32])
        if tx == 0:
            P[bx] = bx + 1
            if fences:
                T.cuda.thread_fence()
            before: T.int32 = T.ptx.atom(C.ptr_to([0]), 1, op="add", sem=sem)
            if before == 7:
                if fences:
                    T.cuda.thread_fence()
                total: T.int32 = 0
                for i in range(8):
                    total = total + P[i]
                O[0] = total

    out = np.zeros(1, np.int32)
    result = run(kernel, np.zeros(8, np.int32), np.zeros(1, np.int32), out)
    assert out[0] == 36
    return result


def test_the_last_cta_sees_the_parts_of_all() -> None:
    assert last_one(fences=True) == OK
    assert last_one(fences=False, sem="acq_rel") == OK


@pytest.mark.parametrize("sem", ["", "acquire", "release"])
def test_the_last_cta_races_with_the_others_without(sem: str) -> None:
    assert last_one(fences=False, sem=sem) == RACE


def last_cta(*, written: bool = True, read: bool = True, reset: str = "last") -> tuple[str, list[str]]:
    """The threads of each CTA write and fence, a barrier follows, and one of them counts the CTA: the last CTA reads.

    written, read: whether there are fences on either side. reset: which CTA makes the counter zero again.
    """

    @T.prim_func
    def kernel(P: T.Buffer((3, 64), "int32"), C: T.Buffer((1,), "int32"), O: T.Buffer((64,), "int32")):
        T.device_entry()
        bx = T.cta_id([3])
        tx = T.thread_id([64])
        last = T.alloc_shared((1,), "int32")
        P[bx, tx] = bx + 1
        if written:
            T.cuda.thread_fence()
        T.cuda.cta_sync()
        if tx == 0:
            last[0] = T.cuda.atomic_add(C.ptr_to([0]), 1)
            if reset == "first" and last[0] == 0:
                C[0] = 0
        T.cuda.cta_sync()
        if last[0] == 2:
            if read:
                T.cuda.thread_fence()
            O[tx] = P[0, tx] + P[1, tx] + P[2, tx]
            if reset == "last" and tx == 40:
                C[0] = 0

    return run(kernel, np.zeros((3, 64), np.int32), np.zeros(1, np.int32), np.zeros(64, np.int32))


def test_fences_around_a_barrier_order_what_one_thread_of_the_cta_counts() -> None:
    assert last_cta() == OK


@pytest.mark.parametrize("options", [{"written": False}, {"read": False}, {"reset": "first"}])
def test_without_a_fence_or_before_the_last_count_it_is_a_race(options: dict[str, Any]) -> None:
    assert last_cta(**options)[0] == "hazard"


def test_a_flag_in_shared_memory_orders_warps() -> None:
    def kernel(read: str) -> PrimFunc:
        @T.prim_func
        def warps(O: T.Buffer((32,), "int32")):
            T.device_entry()
            bx = T.cta_id([1])
            tx = T.thread_id([64])
            data = T.alloc_shared((32,), "int32")
            flag = T.alloc_shared((1,), "uint32")
            if tx == 0:
                flag[0] = T.uint32(0)
            T.cuda.cta_sync()
            if tx < 32:
                data[tx] = tx
                T.cuda.warp_sync()
                if tx == 0:
                    T.ptx.st(flag.ptr_to([0]), T.uint32(1), sem="release", scope="cta")
            else:
                if tx == 32:
                    while T.ptx.ld(flag.ptr_to([0]), sem=read, scope="cta", space="shared") != T.uint32(1):
                        pass
                T.cuda.warp_sync()
                O[tx - 32] = data[tx - 32]

        return warps

    out = np.zeros(32, np.int32)
    assert run(kernel("acquire"), out) == OK
    np.testing.assert_array_equal(out, np.arange(32))
    assert run(kernel("relaxed"), out) == RACE


STEPS: dict[str, Callable[[int, int], int]] = {
    "add": lambda old, v: old + v, "min": min, "max": max, "and": lambda old, v: old & v, "or": lambda old, v: old | v,
    "xor": lambda old, v: old ^ v, "exch": lambda old, v: v, "inc": lambda old, v: 0 if old >= v else old + 1,
    "dec": lambda old, v: v if old == 0 or old > v else old - 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("op", "dtype", "start"),
    [
        ("add", "int32", 5), ("add", "float32", 1), ("add", "uint64", 2**40), ("add", "int64", -1),
        ("add", "int32", -9), ("max", "int32", -3), ("min", "int32", 7),
        ("or", "uint32", 64), ("and", "uint32", 31), ("xor", "uint32", 3),
        ("inc", "uint32", 0), ("dec", "uint32", 5), ("exch", "int32", 9),
    ],
)  # fmt: skip
def test_atomic_operations_compute(op: str, dtype: str, start: int) -> None:
    @T.prim_func
    def kernel(A: T.Buffer((1,), dtype), O: T.Buffer((32,), dtype)):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([32])
        O[tx] = T.ptx.atom(A.ptr_to([0]), T.Cast(dtype, tx), op=op)

    place, old = np.array([start], dtype), np.zeros(32, dtype)
    assert run(kernel, place, old) == OK
    expected = list(accumulate(range(32), STEPS[op], initial=start))
    np.testing.assert_array_equal(old, np.array(expected[:-1], dtype))
    assert place[0] == np.array(expected[-1], dtype)


def test_lanes_that_add_to_places_of_their_own_and_to_one() -> None:
    @T.prim_func
    def histogram(V: T.Buffer((128,), "int32"), H: T.Buffer((8,), "int32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([128])
        T.ptx.red(H.ptr_to([V[tx]]), 1, op="add", scope="gpu", sem="relaxed")

    values = np.random.default_rng(0).integers(0, 8, 128).astype(np.int32)
    counts = np.zeros(8, np.int32)
    assert run(histogram, values, counts) == OK
    np.testing.assert_array_equal(counts, np.bincount(values, minlength=8))


def test_vectors_and_registers() -> None:
    @T.prim_func
    def copy(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32"), C: T.Buffer((64,), "float32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([32])
        regs = T.alloc_local((4,), "float32")
        T.ptx.ld(A.ptr_to([4 * tx]), dst=regs.ptr_to([0]), vec="v4", type="f32")
        T.ptx.st(B.ptr_to([4 * tx]), src=regs.ptr_to([0]), vec="v4", type="f32", space="global")
        T.ptx.st(C.ptr_to([2 * tx]), regs[1], regs[2], vec="v2", space="global")

    a = np.arange(128, dtype=np.float32)
    b, c = np.zeros(128, np.float32), np.zeros(64, np.float32)
    assert run(copy, a, b, c) == OK
    np.testing.assert_array_equal(b, a)
    np.testing.assert_array_equal(c, a.reshape(32, 4)[:, 1:3].ravel())


@T.prim_func
def eight_bits(
    A: T.Buffer((128,), "uint8"), B: T.Buffer((128,), "int8"), D: T.Buffer((2, 128), "int32"),
    E: T.Buffer((2, 128), "uint8"),
):  # fmt: skip
    T.device_entry()
    T.cta_id([1])
    tx = T.thread_id([128])
    box = T.alloc_shared((128,), "uint8")
    D[0, tx] = T.Cast("int32", T.ptx.ld(A.ptr_to([tx]), space="global"))
    D[1, tx] = T.Cast("int32", T.ptx.ld(B.ptr_to([127 - tx]), "int8", "s8"))
    T.ptx.st(box.ptr_to([tx]), T.Cast("uint8", tx * 3), type="u8")
    T.cuda.cta_sync()
    E[0, tx] = T.ptx.ld(box.ptr_to([127 - tx]), "uint8", "b8", space="shared", sem="relaxed", scope="cta")
    T.ptx.st(E.ptr_to([1, tx]), T.ptx.ld(box.ptr_to([tx]), type="u8", space="shared") + 1, type="b8", space="global")


def test_bytes_are_loaded_and_stored() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 256, 128, np.uint8), rng.integers(-128, 128, 128, np.int8)
    D, E = np.zeros((2, 128), np.int32), np.zeros((2, 128), np.uint8)
    assert tvm.simulate(eight_bits, A, B, D, E).ok
    place = np.arange(128)
    np.testing.assert_array_equal(D, [A, B[::-1]])
    np.testing.assert_array_equal(E, [(127 - place) * 3 % 256, (place * 3 + 1) % 256])
