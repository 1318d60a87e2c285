"""Barriers of CTA, warp and cluster, fences and the clock: what one side writes, the other reads."""

from __future__ import annotations

from tirx_mini.script import tirx as T

from .case import Built, Case, blank, random_bytes


def cta_barrier(number: int) -> Built:
    """All threads swap values; the barrier is 0 (__syncthreads) or another of the sixteen."""

    @T.prim_func
    def kernel(out: T.Buffer((4, 96), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([96])
        box = T.alloc_shared((96,), "int32")
        for i in T.serial(4):
            box[tx] = tx + 1000 * i
            T.ptx.bar.sync.all(number)
            out[i, tx] = box[95 - tx]
            T.ptx.bar.sync.all(number)

    return kernel, (blank((4, 96)),)


def two_groups() -> Built:
    """Two warpgroups use a barrier each, a different number of times."""

    @T.prim_func
    def kernel(out: T.Buffer((256,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([256])
        box = T.alloc_shared((256,), "int32")
        box[tx] = tx
        if tx < 128:
            for i in T.serial(3):
                T.ptx.bar.sync(1, 128)
                moved = T.let(box[(tx + 1) % 128])
                T.ptx.bar.sync(1, 128)
                box[tx] = moved
        else:
            for i in T.serial(5):
                T.cuda.warpgroup_sync(2)
                moved = T.let(box[128 + (tx + 1) % 128])
                T.cuda.warpgroup_sync(2)
                box[tx] = moved
        out[tx] = box[tx]

    return kernel, (blank(256),)


def arrive_and_sync() -> Built:
    """Two warps fill a buffer and arrive; two others wait for it, and say when it may be filled again."""

    @T.prim_func
    def kernel(out: T.Buffer((5, 64), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([128])
        box = T.alloc_shared((64,), "int32")
        if tx < 64:
            for i in T.serial(5):
                T.ptx.bar.sync(4, 128)
                box[tx] = tx * (i + 1)
                T.ptx.bar.arrive(3, 128)
        else:
            for i in T.serial(5):
                T.ptx.bar.arrive(4, 128)
                T.ptx.bar.sync(3, 128)
                out[i, tx - 64] = box[127 - tx]

    return kernel, (blank((5, 64)),)


def warp_barrier() -> Built:
    @T.prim_func
    def kernel(out: T.Buffer((64,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        box = T.alloc_shared((64,), "int32")
        box[tx] = 3 * tx
        T.cuda.warp_sync()
        out[tx] = box[tx // 32 * 32 + 31 - tx % 32]

    return kernel, (blank(64),)


def cluster_barrier(size: int, split: bool) -> Built:
    """Each CTA writes global memory, and reads what the next CTA of its cluster wrote before the barrier."""

    @T.prim_func
    def kernel(box: T.Buffer((2 * size, 32), "int32"), out: T.Buffer((2 * size, 32), "int32")):
        T.device_entry()
        bx = T.cta_id([2 * size], parent="kernel")
        rank = T.cta_id([size], parent="cluster")
        tx = T.thread_id([32])
        box[bx, tx] = bx * 100 + tx
        if split:
            T.ptx.barrier.cluster.arrive()
            T.ptx.barrier.cluster.wait()
        else:
            T.cuda.cluster_sync()
        out[bx, tx] = box[bx - rank + (rank + 1) % size, 31 - tx]

    return kernel, (blank((2 * size, 32)), blank((2 * size, 32)))


def fence_of_the_async_proxy(space: str) -> Built:
    """Ordinary stores, the fence, a barrier, and a TMA store of what was written."""

    @T.prim_func
    def kernel(out: T.Buffer((8, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        box = T.alloc_shared((8, 64), "float16", align=128)
        for i in T.serial(8):
            box[i, tx] = T.Cast("float16", i * 64 + tx)
        T.ptx.fence.proxy_async(space)
        T.cuda.cta_sync()
        if tx == 0:
            with T.thread():
                T.copy_async(out[:, :], box[:, :], dispatch="tma")
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel, (blank((8, 64), "float16"),)


def fence_of_global_memory() -> Built:
    """Ordinary stores to global memory, the fence, and a TMA load of what was written."""

    @T.prim_func
    def kernel(box: T.Buffer((8, 64), "float16"), out: T.Buffer((8, 64), "float16")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        tile = T.alloc_shared((8, 64), "float16", align=128)
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        for i in T.serial(8):
            box[i, tx] = T.Cast("float16", i * 64 + tx)
        T.ptx.fence.proxy_async("global")
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if tx == 0:
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
            with T.thread():
                T.copy_async(tile[:, :], box[:, :], dispatch="tma", mbar=bar.ptr_to([0]))
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        for i in T.serial(8):
            out[i, tx] = tile[7 - i, tx]

    return kernel, (random_bytes((8, 64), "float16"), blank((8, 64), "float16"))


def thread_fence(scope: str) -> Built:
    """The fence between two writes that a barrier orders anyway: it is executed, and disturbs nothing."""

    @T.prim_func
    def kernel(box: T.Buffer((64,), "int32"), out: T.Buffer((64,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        box[tx] = tx
        T.ptx.fence.acq_rel(scope)
        T.cuda.cta_sync()
        out[tx] = box[63 - tx]

    return kernel, (blank(64), blank(64))


def grid_dependence(everyone: bool) -> Built:
    """All threads wait for the grid before, or one does and a barrier follows; then the next grid may begin."""

    @T.prim_func
    def kernel(box: T.Buffer((4, 64), "int32"), out: T.Buffer((4, 64), "int32")):
        T.device_entry()
        bx = T.cta_id([4])
        tx = T.thread_id([64])
        if everyone:
            T.ptx.griddepcontrol.wait()
        else:
            if tx == 40:
                T.ptx.griddepcontrol.wait()
            T.cuda.cta_sync()
        T.ptx.griddepcontrol.launch_dependents()
        out[bx, tx] = box[3 - bx, 63 - tx]

    return kernel, (random_bytes((4, 64), "int32"), blank((4, 64)))


def clock() -> Built:
    """No thread reads an earlier time than one before it did, whatever its SM, and time goes on while a loop waits."""

    @T.prim_func
    def kernel(out: T.Buffer((3, 4, 64), "int32")):
        T.device_entry()
        bx = T.cta_id([4], parent="kernel")
        rank = T.cta_id([4], parent="cluster")
        tx = T.thread_id([64])
        box = T.alloc_shared((64,), "uint64")
        box[tx] = T.ptx.globaltimer()
        T.cuda.cluster_sync()
        began = T.ptx.globaltimer()
        out[0, bx, tx] = T.Cast("int32", began >= box[63 - tx])
        while T.ptx.globaltimer() < began + 20000:
            out[1, bx, tx] = rank
        T.cuda.cta_sync()
        out[2, bx, tx] = T.Cast("int32", T.ptx.globaltimer() >= box[63 - tx] + 20000)

    return kernel, (blank((3, 4, 64)),)


SYNC = (
    *(Case("bar", f"bar.sync {n}", lambda n=n: cta_barrier(n)) for n in (0, 5, 15)),
    Case("bar", "bar.sync of two warpgroups", two_groups),
    Case("bar", "bar.arrive and bar.sync", arrive_and_sync),
    Case("bar", "bar.warp.sync", warp_barrier),
    Case("cluster", "arrive, wait of 2", lambda: cluster_barrier(2, True)),
    Case("cluster", "sync of 4", lambda: cluster_barrier(4, False)),
    Case("cluster", "sync of 8", lambda: cluster_barrier(8, False)),
    Case("globaltimer", "advances", clock),
    Case("griddepcontrol", "every thread waits", lambda: grid_dependence(True)),
    Case("griddepcontrol", "one thread waits for its CTA", lambda: grid_dependence(False)),
    *(
        Case("fence", f"proxy.async {space}".strip(), lambda space=space: fence_of_the_async_proxy(space))
        for space in ("", "shared::cta", "shared::cluster")
    ),
    Case("fence", "proxy.async global", fence_of_global_memory),
    *(Case("fence", f"acq_rel {s}", lambda s=s: thread_fence(s)) for s in ("cta", "cluster", "gpu", "sys")),
)
