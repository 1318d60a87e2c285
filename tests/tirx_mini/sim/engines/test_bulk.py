"""cp.async.bulk and cp.reduce.async.bulk of plain bytes, in kernels."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


def simulated(kernel: PrimFunc, *arrays: np.ndarray) -> Any:
    return tvm.simulate(kernel, *arrays, gpu="b200")


def copy(wait: bool = True, fence: bool = True, nbytes: int = 1024, first: int = 4) -> PrimFunc:
    """Bytes of A come to shared memory, threads double them, and they go to B."""

    @T.prim_func
    def kernel(A: T.Buffer((512,), "float32"), B: T.Buffer((512,), "float32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([128])
        box = T.alloc_shared((256,), "float32")
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if tx == 0:
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), nbytes)
            T.ptx.cp_async_bulk_g2s_cluster(box.ptr_to([0]), A.ptr_to([first]), nbytes, bar.ptr_to([0]))
        if wait:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        for i in range(2):
            box[tx + 128 * i] = box[tx + 128 * i] * 2.0
        if fence:
            T.ptx.fence.proxy_async("shared::cta")
        T.cuda.cta_sync()
        if tx == 0:
            T.ptx.cp_async_bulk_s2g(B.ptr_to([8]), box.ptr_to([0]), 1024)
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel


def test_bytes_come_and_go() -> None:
    a, b = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
    report = simulated(copy(), a, b)
    assert report.verdict == "ok" and not report.findings
    np.testing.assert_array_equal(b[8:264], 2 * a[4:260])
    assert not b[:8].any() and not b[264:].any()


def test_a_missing_wait_is_a_race_and_a_missing_fence_is_found() -> None:
    arrays = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
    assert "TX201" in [f.code for f in simulated(copy(wait=False), *arrays).findings]
    assert "TX202" in [f.code for f in simulated(copy(fence=False), *arrays).findings]


def to_the_other(
    wait: bool = True, fence: bool = True, stay: bool = True, nbytes: int = 1024, own_barrier: bool = False
) -> PrimFunc:
    """Each CTA of a pair sends its bytes to the other one."""

    @T.prim_func
    def kernel(A: T.Buffer((2, 256), "float32"), B: T.Buffer((2, 256), "float32")):
        T.device_entry()
        T.cta_id([2])
        rank = T.cta_id_in_cluster([2])
        tx = T.thread_id([256])
        mine = T.alloc_shared((256,), "float32", align=16)
        theirs = T.alloc_shared((256,), "float32", align=16)
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        mine[tx] = A[rank, tx]
        if fence:
            T.ptx.fence.proxy_async("shared::cta")
        T.cuda.cluster_sync()
        if tx == 0:
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), nbytes)
            dst = T.ptx.map_shared_rank(theirs.ptr_to([0]), 1 - rank)
            mbar = T.ptx.map_shared_rank(bar.ptr_to([0]), rank if own_barrier else 1 - rank)
            T.ptx.cp_async_bulk_s2s_cluster(dst, mine.ptr_to([0]), nbytes, mbar)
        if wait:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            B[rank, tx] = theirs[tx] + 1.0
        if stay:
            T.cuda.cluster_sync()

    return kernel


def test_bytes_go_to_another_cta_of_the_cluster() -> None:
    a, b = np.arange(512, dtype=np.float32).reshape(2, 256), np.zeros((2, 256), np.float32)
    report = simulated(to_the_other(), a, b)
    assert report.verdict == "ok" and not report.findings
    np.testing.assert_array_equal(b, a[::-1] + 1)
    assert tvm.simulate(to_the_other(), a, b, data=False).verdict == "clock"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"fence": False}, "TX202", "proxy"),
        ({"wait": False}, None, "ends while a bulk copy may still"),
        ({"stay": False}, None, "ends while a bulk copy may still read its shared memory"),
        ({"nbytes": 1000}, None, "the size of a bulk copy is 1000, which is not a multiple of 16"),
        ({"own_barrier": True}, None, "the barrier must be in the CTA that receives the bytes"),
    ],
)
def test_what_goes_wrong_between_ctas(options: dict[str, Any], code: str | None, message: str) -> None:
    report = simulated(to_the_other(**options), np.ones((2, 256), np.float32), np.zeros((2, 256), np.float32))
    found = [finding for finding in report.findings if message in finding.message]
    assert found and (code is None or found[0].code == code)


@pytest.mark.parametrize(("first", "nbytes", "what"), [(2, 1024, "global address"), (4, 1000, "size")])
def test_sizes_and_addresses_are_multiples_of_16(first: int, nbytes: int, what: str) -> None:
    report = simulated(copy(first=first, nbytes=nbytes), np.zeros(512, np.float32), np.zeros(512, np.float32))
    assert report.verdict == "fault" and f"the {what} of a bulk copy" in report.findings[0].message


def test_bytes_outside_of_the_argument_are_a_fault() -> None:
    report = simulated(copy(first=508), np.zeros(512, np.float32), np.zeros(512, np.float32))
    assert report.verdict == "fault" and "global memory does not have" in report.findings[0].message


@pytest.mark.parametrize(
    ("op", "type", "dtype"),
    [
        ("add", "f32", "float32"), ("add", "f16", "float16"), ("add", "bf16", "bfloat16"), ("add", "u64", "uint64"),
        ("min", "s32", "int32"), ("max", "u32", "uint32"), ("and", "b32", "uint32"), ("xor", "b64", "uint64"),
    ],
)  # fmt: skip
def test_ctas_reduce_into_one_place(op: str, type: str, dtype: str) -> None:
    @T.prim_func
    def kernel(A: T.Buffer((4, 64), dtype), B: T.Buffer((64,), dtype)):
        T.device_entry()
        bx = T.cta_id([4])
        tx = T.thread_id([64])
        box = T.alloc_shared((64,), dtype)
        box[tx] = A[bx, tx]
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.cta_sync()
        if tx == 0:
            T.ptx.cp_reduce_async.bulk(B.ptr_to([0]), box.ptr_to([0]), 64 * (box.dtype.bits // 8), op=op, type=type)
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    a = np.random.default_rng(0).integers(0, 100, (4, 64)).astype(kind)
    b = np.random.default_rng(1).integers(0, 100, 64).astype(kind)
    names = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "xor": np.bitwise_xor}
    expected = names[op].reduce(np.concatenate([b[None], a]), axis=0)
    report = simulated(kernel, a, b)
    assert report.verdict == "ok" and not report.findings, report
    np.testing.assert_array_equal(b, expected.astype(kind))


def test_bytes_come_to_each_cta_of_a_mask() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), B: T.Buffer((2, 64), "int32")):
        T.device_entry()
        bx = T.cta_id([2], parent="kernel")
        rank = T.cta_id([2], parent="cluster")
        tx = T.thread_id([64])
        box = T.alloc_shared((64,), "int32")
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 256)
        T.cuda.cluster_sync()
        if tx == 0:
            if rank == 0:
                T.ptx.cp.async_.bulk.shared__cluster.global_.mbarrier__complete_tx__bytes.multicast__cluster(
                    box.ptr_to([0]), A.ptr_to([0]), 256, bar.ptr_to([0]), 3
                )
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        B[bx, tx] = box[tx]
        T.cuda.cluster_sync()

    a, b = np.arange(64, dtype=np.int32), np.zeros((2, 64), np.int32)
    report = simulated(kernel, a, b)
    assert report.verdict == "ok" and not report.findings, report
    np.testing.assert_array_equal(b, np.stack([a, a]))


def sums_of_the_other(
    wait: bool = True, nbytes: int = 1024, own_barrier: bool = False, shift: int = 0, meet: bool = True
) -> PrimFunc:
    """Each thread of a pair of CTAs sends four words to its like in the other one, by st.async."""

    @T.prim_func
    def kernel(A: T.Buffer((2, 64, 4), "float32"), B: T.Buffer((2, 64, 4), "float32")):
        T.device_entry()
        T.cta_id([2])
        rank = T.cta_id_in_cluster([2])
        tx = T.thread_id([64])
        box = T.alloc_shared((65, 4), "float32", align=16)
        bar = T.alloc_shared((1,), "uint64")
        mine = T.alloc_local((4,), "float32")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), nbytes)
        for i in T.unroll(4):
            mine[i] = A[rank, tx, i]
        if meet:
            T.cuda.cluster_sync()
        else:
            T.cuda.cta_sync()
        dst = T.ptx.map_shared_rank(box.ptr_to([tx, shift]), 1 - rank)
        mbar = T.ptx.map_shared_rank(bar.ptr_to([0]), rank if own_barrier else 1 - rank)
        T.ptx.st_async(dst, mine.ptr_to([0]), mbar, vec="v4", type="f32")
        if wait:
            T.ptx.mbarrier.try_wait_acquire_cluster(bar.ptr_to([0]), 0)
        for i in T.unroll(4):
            B[rank, tx, i] = mine[i] + box[tx, i]

    return kernel


def test_words_go_from_registers_to_another_cta_of_the_cluster() -> None:
    a, b = np.random.default_rng(0).standard_normal((2, 64, 4)).astype(np.float32), np.zeros((2, 64, 4), np.float32)
    report = tvm.simulate(sums_of_the_other(), a, b, gpu="h100", schedules=4)
    assert report.verdict == "ok" and not report.findings
    assert report.proof is not None and report.proof.holds
    np.testing.assert_array_equal(b, a + a[::-1])
    assert tvm.simulate(sums_of_the_other(), gpu="h100", data=False).verdict == "clock"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"wait": False}, "TX209", "ends while st.async may still write its shared memory"),
        ({"nbytes": 1040}, "TX106", "bar waits for 16 bytes that nothing delivers"),
        ({"own_barrier": True}, None, "the barrier must be in the CTA that receives the bytes"),
        ({"shift": 1}, None, "is not a multiple of 16"),
        ({"meet": False}, "TX121", "which was not initialised before"),
    ],
)
def test_what_goes_wrong_with_stores_to_another_cta(options: dict[str, Any], code: str | None, message: str) -> None:
    arrays = np.ones((2, 64, 4), np.float32), np.zeros((2, 64, 4), np.float32)
    report = tvm.simulate(sums_of_the_other(**options), *arrays, gpu="h100")
    assert report.verdict != "ok"
    found = [finding for finding in report.findings if message in finding.message]
    assert found and (code is None or found[0].code == code)
