"""Kernels that succeed, hang and fault."""

from __future__ import annotations

from tirx_mini.ir import PrimFunc
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.script import tirx as T

N = 1024


@T.prim_func
def scale(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32"), factor: T.float32):
    T.device_entry()
    cta = T.cta_id([N // 128])
    tx = T.thread_id([128])
    B[cta * 128 + tx] = A[cta * 128 + tx] * factor


@T.prim_func
def waits_for_ever(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    """33 arrivals are expected of 32 threads."""
    T.device_entry()
    cta = T.cta_id([1])
    tx = T.thread_id([32])
    ready = T.alloc_shared((1,), "uint64")
    if tx == 0:
        T.ptx.mbarrier.init(ready.ptr_to([0]), 33)
    T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    T.ptx.mbarrier.arrive(ready.ptr_to([0]))
    T.ptx.mbarrier.try_wait(ready.ptr_to([0]), 0)
    B[tx] = A[tx]


@T.prim_func
def works_once(launches: T.Buffer((1,), "int32"), B: T.Buffer((N,), "float32")):
    """From the second launch on, one arrival is missing."""
    T.device_entry()
    cta = T.cta_id([1])
    tx = T.thread_id([32])
    ready = T.alloc_shared((1,), "uint64")
    before = launches[0]
    T.cuda.cta_sync()
    if tx == 0:
        launches[0] = 1
        T.ptx.mbarrier.init(ready.ptr_to([0]), 32 + before)
    T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    T.ptx.mbarrier.arrive(ready.ptr_to([0]))
    T.ptx.mbarrier.try_wait(ready.ptr_to([0]), 0)
    B[tx] = 1.0


@T.prim_func
def writes_far_away(at: T.Buffer((4,), "int32"), B: T.Buffer((N,), "float32")):
    """`at` holds an index outside B."""
    T.device_entry()
    cta = T.cta_id([1])
    tx = T.thread_id([32])
    B[at[0] + tx * 4] = 1.0


@T.prim_func
def vector_by_tma(A: T.Buffer((N,), "float32"), B: T.Buffer((N,), "float32")):
    """A[256:512] to the start of B, through a tensor map of one dimension."""
    T.device_entry()
    cta = T.cta_id([1])
    tx = T.thread_id([32])
    bar = T.alloc_shared((1,), "uint64")
    tile = T.alloc_shared((256,), "float32", align=128)
    if tx == 0:
        T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
        with T.thread():
            T.copy_async(tile[:], A[256:512], dispatch="tma", mbar=bar.ptr_to([0]))
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        with T.thread():
            T.copy_async(B[0:256], tile[:], dispatch="tma")
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group(0)


def copy_by_tma(rows: int, columns: int) -> PrimFunc:
    """B = A with TMA loads and stores, a tile of 64 × 64 a CTA."""
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))

    @T.prim_func
    def copy(A: T.Buffer((rows, columns), "float16"), B: T.Buffer((rows, columns), "float16")):
        T.device_entry()
        cx, cy = T.cta_id([rows // 64, columns // 64])
        tx = T.thread_id([32])
        pool = T.PoolAllocator()
        bar = pool.alloc((1,), "uint64")
        tile = pool.alloc((64, 64), "float16", layout=layout)
        pool.commit()
        r = T.meta_var(cx * 64)
        c = T.meta_var(cy * 64)
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 64 * 64 * 2)
            with T.thread():
                T.copy_async(tile[:, :], A[r : r + 64, c : c + 64], dispatch="tma", mbar=bar.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            with T.thread():
                T.copy_async(B[r : r + 64, c : c + 64], tile[:, :], dispatch="tma")
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return copy
