"""mbarrier: phases, arrivals of every kind, bytes before and after they are expected.

The words themselves are opaque: what test_wait says of them is compared.
"""

from __future__ import annotations

from tirx_mini.script import tirx as T

from .case import Built, Case, blank, random_bytes

FAMILY = "mbarrier"


def phases(count: int, steps: int) -> Built:
    """One thread arrives `steps` times, and looks at both parities before and after each arrival."""

    @T.prim_func
    def kernel(out: T.Buffer((steps + 1, 2), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), count)
            T.ptx.fence.mbarrier_init()
            for i in T.serial(steps + 1):
                out[i, 0] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0))
                out[i, 1] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 1))
                if i < steps:
                    T.ptx.mbarrier.arrive(bar.ptr_to([0]))

    return kernel, (blank((steps + 1, 2)),)


def reused_after_inval() -> Built:
    @T.prim_func
    def kernel(out: T.Buffer((5,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            out[0] = T.Cast("int32", T.ptx.mbarrier.try_wait_once(bar.ptr_to([0]), 0, 100))
            T.ptx.mbarrier.inval(bar.ptr_to([0]))
            T.ptx.mbarrier.init(bar.ptr_to([0]), 2)
            for i in T.serial(4):
                out[i + 1] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0))
                T.ptx.mbarrier.arrive(bar.ptr_to([0]))

    return kernel, (blank(5),)


def dropped_arrivals() -> Built:
    """Of five arrivals of the first phase, the four later phases lack those that were dropped."""

    @T.prim_func
    def kernel(out: T.Buffer((8,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 5)
            T.ptx.mbarrier.arrive_drop(bar.ptr_to([0]))
            T.ptx.mbarrier.arrive_drop.count(bar.ptr_to([0]), 2)
            out[0] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0))
            state: T.uint64 = T.ptx.mbarrier.arrive_drop.state(bar.ptr_to([0]))
            out[1] = T.Cast("int32", state == state)
            for i in T.serial(6):
                T.ptx.mbarrier.arrive(bar.ptr_to([0]))
                out[i + 2] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0))

    return kernel, (blank(8),)


def all_threads_exchange(rounds: int) -> Built:
    """128 threads pass values through shared memory, with a barrier after the writes and one after the reads."""

    @T.prim_func
    def kernel(out: T.Buffer((rounds, 128), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([128])
        bars = T.alloc_shared((2,), "uint64")
        box = T.alloc_shared((128,), "int32")
        if tx < 2:
            T.ptx.mbarrier.init(bars.ptr_to([tx]), 128)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        for i in T.serial(rounds):
            box[tx] = tx * 100 + i
            T.ptx.mbarrier.arrive(bars.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bars.ptr_to([0]), i % 2)
            out[i, tx] = box[(tx + 37 * (i + 1)) % 128]
            T.ptx.mbarrier.arrive(bars.ptr_to([1]))
            T.ptx.mbarrier.try_wait(bars.ptr_to([1]), i % 2)

    return kernel, (blank((rounds, 128)),)


def polled() -> Built:
    @T.prim_func
    def kernel(out: T.Buffer((32,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        word = T.alloc_shared((1,), "int32")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if tx == 32:
            word[0] = 4711
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        if tx < 32:
            done: T.int32 = 0
            while done == 0:
                done = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0))
            out[tx] = word[0]

    return kernel, (blank(32),)


def bytes_of_a_load(expected: str) -> Built:
    """A box of 1024 bytes, expected with the arrival, by itself before it, in two parts, or only after the load."""

    @T.prim_func
    def kernel(A: T.Buffer((8, 64), "float16"), out: T.Buffer((512,), "float16"), seen: T.Buffer((3,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        box = T.alloc_shared((8, 64), "float16", align=128)
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.fence.proxy_async("shared::cta")
            if expected == "with the arrival":
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
            if expected == "before the arrival":
                T.ptx.mbarrier.expect_tx(bar.ptr_to([0]), 1024)
                seen[0] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0))
                T.ptx.mbarrier.arrive(bar.ptr_to([0]))
            if expected == "in two parts":
                T.ptx.mbarrier.expect_tx(bar.ptr_to([0]), 1000)
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 24)
            if expected == "after the load":
                with T.thread():
                    T.copy_async(box[:, :], A[:, :], dispatch="tma", mbar=bar.ptr_to([0]))
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
            else:
                seen[1] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0))
                with T.thread():
                    T.copy_async(box[:, :], A[:, :], dispatch="tma", mbar=bar.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            seen[2] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0))
            for i in T.serial(512):
                out[i] = box[i // 64, i % 64]

    return kernel, (random_bytes((8, 64), "float16"), blank(512, "float16"), blank(3))


def remote_arrivals(size: int) -> Built:
    """Every even lane of each CTA arrives at the barrier of the next CTA of the cluster."""

    @T.prim_func
    def kernel(out: T.Buffer((size, 3), "int32")):
        T.device_entry()
        cta = T.cta_id([size], parent="kernel")
        rank = T.cta_id([size], parent="cluster")
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if tx == 0:
            out[rank, 0] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 1))
        T.cuda.cluster_sync()
        T.ptx.mbarrier.arrive(bar.ptr_to([0]), (rank + 1) % size, tx % 2 == 0)
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        if tx == 0:
            out[rank, 1] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0))
            out[rank, 2] = T.Cast("int32", T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 1))
        T.cuda.cluster_sync()

    return kernel, (blank((size, 3)),)


def remote_expectation() -> Built:
    """CTA 0 says how many bytes the barrier of CTA 1 is to expect; CTA 1 loads them."""

    @T.prim_func
    def kernel(A: T.Buffer((8, 64), "float16"), out: T.Buffer((8, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([2], parent="kernel")
        rank = T.cta_id([2], parent="cluster")
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        box = T.alloc_shared((8, 64), "float16", align=128)
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if rank == 0:
            if tx == 0:
                T.ptx.mbarrier.arrive.expect_tx(T.ptx.map_shared_rank(bar.ptr_to([0]), 1), 1024)
        else:
            if tx == 0:
                with T.thread():
                    T.copy_async(box[:, :], A[:, :], dispatch="tma", mbar=bar.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            for i in T.serial(8):
                out[i, tx] = box[i, tx]
        T.cuda.cluster_sync()

    return kernel, (random_bytes((8, 64), "float16"), blank((8, 64), "float16"))


MBARRIERS = (
    *(Case(FAMILY, f"phases of {n} arrivals", lambda n=n: phases(n, 3 * n)) for n in (1, 2, 5)),
    Case(FAMILY, "inval, then another init", reused_after_inval),
    Case(FAMILY, "arrivals that drop out of later phases", dropped_arrivals),
    Case(FAMILY, "128 arrivals, 6 phases", lambda: all_threads_exchange(6)),
    Case(FAMILY, "test_wait in a loop", polled),
    *(
        Case(FAMILY, f"bytes expected {when}", lambda when=when: bytes_of_a_load(when))
        for when in ("with the arrival", "before the arrival", "in two parts", "after the load")
    ),
    *(Case(FAMILY, f"remote arrivals, cluster of {n}", lambda n=n: remote_arrivals(n)) for n in (2, 4)),
    Case(FAMILY, "remote expect_tx", remote_expectation),
)
