"""Further forms of mbarriers and barriers: counted arrivals, bytes that a thread completes, conditions of a CTA."""

from __future__ import annotations

import numpy as np

from tirx_mini.script import tirx as T

from .case import Built, Case, blank, random_bytes, small_integers


def counted_arrivals() -> Built:
    """Arrivals that count more than once, and bytes that no copy brings, complete phases one after the other."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), out: T.Buffer((3, 64), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        box = T.alloc_shared((3, 64), "int32")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 96)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        for phase in T.unroll(3):
            if tx < 32:
                box[phase, tx] = A[tx] + phase
                box[phase, tx + 32] = A[tx + 32] - phase
                if phase == 0:
                    T.ptx.mbarrier.arrive(bar.ptr_to([0]), count=3)
                if phase == 1:
                    T.ptx.mbarrier.arrive.no_complete(bar.ptr_to([0]), 2)
                    T.ptx.mbarrier.arrive(bar.ptr_to([0]))
                if phase == 2:
                    T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 16)
                    T.ptx.mbarrier.arrive(bar.ptr_to([0]), count=2)
                    T.ptx.mbarrier.complete_tx(bar.ptr_to([0]), 16)
            T.ptx.mbarrier.try_wait_acquire_cluster(bar.ptr_to([0]), phase % 2)
            out[phase, tx] = box[phase, 63 - tx]
            T.cuda.cta_sync()

    return kernel, (random_bytes((64,), "int32"), blank((3, 64)))


def bytes_expected_elsewhere() -> Built:
    """Each CTA of a pair expects bytes at the barrier of the other one, and completes them there."""

    @T.prim_func
    def kernel(out: T.Buffer((2, 32), "int32")):
        T.device_entry()
        T.cta_id([2])
        rank = T.cta_id_in_cluster([2])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if tx == 0:
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 32, remote=1 - rank)
            T.ptx.mbarrier.complete_tx(T.ptx.map_shared_rank(bar.ptr_to([0]), 1 - rank), 32)
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        out[rank, tx] = tx + 100 * rank
        T.ptx.barrier.cluster.arrive("relaxed")
        T.ptx.barrier.cluster.wait()

    return kernel, (blank((2, 32)),)


def pending_besides() -> Built:
    """Arrivals of copies that are pending besides those that the barrier expects."""

    @T.prim_func
    def kernel(A: T.Buffer((128,), "int32"), out: T.Buffer((128,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        box = T.alloc_shared((128,), "int32", align=16)
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        T.ptx.cp_async(box.ptr_to([4 * tx]), A.ptr_to([4 * tx]), bytes=16)
        T.ptx.cp_async.mbarrier.arrive(bar.ptr_to([0]))
        T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        for i in T.unroll(4):
            out[32 * i + tx] = box[127 - 32 * i - tx]

    return kernel, (random_bytes((128,), "int32"), blank(128))


def conditions() -> Built:
    """Conditions of all threads of a CTA."""

    @T.prim_func
    def kernel(A: T.Buffer((128,), "int32"), out: T.Buffer((6, 128), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([128])
        out[0, tx] = T.Cast("int32", T.cuda.syncthreads_and(A[tx] > -5))
        out[1, tx] = T.Cast("int32", T.cuda.syncthreads_and(A[tx] > 0))
        out[2, tx] = T.Cast("int32", T.cuda.syncthreads_or(A[tx] > 3))
        out[3, tx] = T.Cast("int32", T.cuda.syncthreads_or(A[tx] > 4))
        out[4, tx] = T.Cast("int32", T.cuda.syncthreads_count(A[tx] > 0))
        out[5, tx] = T.Cast("int32", T.cuda.syncthreads_count(tx < 70))

    return kernel, (small_integers((128,), "int32"), blank((6, 128)))


def time_passes() -> Built:
    """A thread that sleeps sees its clock go on; an address of shared memory is a multiple of its alignment."""

    @T.prim_func
    def kernel(out: T.Buffer((2, 32), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        box = T.alloc_shared((64,), "int32", align=128)
        before: T.let = T.cuda.clock64()
        T.cuda.nano_sleep(1000)
        after: T.let = T.cuda.clock64()
        out[0, tx] = T.Cast("int32", before < after)
        out[1, tx] = T.Cast("int32", T.cuda.cvta_generic_to_shared(box.ptr_to([tx])) % T.uint32(128))

    return kernel, (np.zeros((2, 32), np.int32),)


SIGNALS = (
    Case("mbarrier", "counted arrivals", counted_arrivals),
    Case("mbarrier", "bytes of another CTA", bytes_expected_elsewhere),
    Case("mbarrier", "copies besides arrivals", pending_besides),
    Case("bar", "red", conditions),
    Case("clock64", "nanosleep", time_passes),
)
