"""Instructions that are written as PTX spells them: states of mbarriers, arrivals in a cluster, fences, hints."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tirx_mini.script import tirx as T

from .case import Built, Case, blank, random_bytes, small_integers

FAMILY = "as PTX spells it"


def states(bytes: int, phases: int) -> Built:
    """A thread arrives twice in each phase, and tests its state and its parity before and after the second arrival."""

    @T.prim_func
    def kernel(out: T.Buffer((phases, 2, 2), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        state = T.alloc_local((1,), "uint64")
        done = T.alloc_local((1,), "bool")
        if tx == 0:
            T.ptx["mbarrier.init.shared::cta.b64"](bar.ptr_to([0]), T.uint32(2))
            for i in T.serial(phases):
                if bytes > 0:
                    T.ptx["mbarrier.arrive.expect_tx.shared::cta.b64"](state[0], bar.ptr_to([0]), T.uint32(bytes))
                    T.ptx.mbarrier.complete_tx(bar.ptr_to([0]), bytes)
                else:
                    T.ptx["mbarrier.arrive.shared::cta.b64"](state[0], bar.ptr_to([0]))
                for j in T.serial(2):
                    T.ptx["mbarrier.test_wait.shared::cta.b64"](done[0], bar.ptr_to([0]), state[0])
                    out[i, j, 0] = T.Cast("int32", done[0])
                    T.ptx["mbarrier.test_wait.parity.shared::cta.b64"](done[0], bar.ptr_to([0]), T.uint32(i))
                    out[i, j, 1] = T.Cast("int32", done[0])
                    if j == 0:
                        T.ptx["mbarrier.arrive.shared::cta.b64"](state[0], bar.ptr_to([0]), T.uint32(1))

    return kernel, (blank((phases, 2, 2)),)


def waits(counted: bool) -> Built:
    """All threads arrive, wait for the state by try_wait, and read what their neighbour wrote."""

    @T.prim_func
    def kernel(A: T.Buffer((128,), "int32"), out: T.Buffer((128,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([128])
        bar = T.alloc_shared((1,), "uint64")
        tile = T.alloc_shared((128,), "int32")
        state = T.alloc_local((1,), "uint64")
        done = T.alloc_local((1,), "bool")
        if tx == 0:
            T.ptx["mbarrier.init.shared::cta.b64"](bar.ptr_to([0]), T.uint32(128))
        T.cuda.cta_sync()
        tile[tx] = A[tx]
        if counted:
            T.ptx["mbarrier.arrive.shared::cta.b64"](state[0], bar.ptr_to([0]), T.uint32(1))
        else:
            T.ptx["mbarrier.arrive.shared::cta.b64"](state[0], bar.ptr_to([0]))
        done[0] = False
        while not done[0]:
            T.ptx["mbarrier.try_wait.shared::cta.b64"](done[0], bar.ptr_to([0]), state[0])
        out[tx] = tile[127 - tx]

    return kernel, (random_bytes((128,), "int32"), blank(128))


def in_cluster(counted: bool) -> Built:
    """Two CTAs: the threads of both arrive at the barrier of the first, which waits by try_wait.parity."""

    @T.prim_func
    def kernel(out: T.Buffer((2, 32), "int32")):
        T.device_entry()
        cta = T.cta_id([2])
        rank = T.cta_id_in_cluster([2])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        place = T.alloc_local((1,), "uint32")
        done = T.alloc_local((1,), "bool")
        if tx == 0:
            T.ptx["mbarrier.init.shared::cta.b64"](bar.ptr_to([0]), T.uint32(64))
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        T.ptx["mapa.shared::cluster.u32"](place[0], bar.ptr_to([0]), T.uint32(0))
        if counted:
            T.ptx["mbarrier.arrive.release.cluster.shared::cluster.b64"](place[0], T.uint32(1))
        else:
            T.ptx["mbarrier.arrive.release.cluster.shared::cluster.b64"](place[0])
        if rank == 0:
            done[0] = False
            while not done[0]:
                T.ptx["mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"](done[0], bar.ptr_to([0]), T.uint32(0))
        T.cuda.cluster_sync()
        T.ptx["mbarrier.test_wait.parity.shared::cta.b64"](done[0], bar.ptr_to([0]), T.uint32(0))
        out[rank, tx] = T.Cast("int32", done[0])

    return kernel, (blank((2, 32)),)


def fused_halves(kind: str) -> Built:
    @T.prim_func
    def kernel(A: T.Buffer((3, 256), "uint32"), out: T.Buffer((256,), "uint32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([256])
        word = T.alloc_local((1,), "uint32")
        T.ptx[f"fma.rn.{kind}"](word[0], A[0, tx], A[1, tx], A[2, tx])
        out[tx] = word[0]

    halves = small_integers((3, 512), "bfloat16" if kind == "bf16x2" else "float16")
    return kernel, (halves.view("uint32"), blank(256, "uint32"))


def without_effect() -> Built:
    """Hints, fences and a profiler's event between a load and a store."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), map: T.Buffer((32,), "int32"), out: T.Buffer((64,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([64])
        policy = T.alloc_local((1,), "uint64")
        value = T.alloc_local((1,), "int32")
        T.ptx["createpolicy.fractional.L2::evict_first.b64"](policy[0], T.float32(0.5))
        value[0] = A[tx]
        T.ptx["membar.gl"]()
        T.ptx["fence.proxy.tensormap::generic.release.gpu"]()
        T.ptx["fence.proxy.tensormap::generic.acquire.gpu"](map.ptr_to([0]), 128)
        T.ptx["pmevent"](3)
        out[tx] = value[0]

    return kernel, (random_bytes((64,), "int32"), random_bytes((32,), "int32"), blank(64))


def discarded() -> Built:
    """The bytes that are discarded are written again."""

    @T.prim_func
    def kernel(out: T.Buffer((32,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        if tx == 0:
            T.ptx["discard.global.L2"](out.ptr_to([0]), 128)
        T.cuda.cta_sync()
        out[tx] = T.Cast("int32", tx) * 5

    return kernel, (blank(32),)


def trapped() -> Built:
    @T.prim_func
    def kernel(out: T.Buffer((32,), "int32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        if tx == 7:
            T.ptx["trap"]()
        out[tx] = 1

    return kernel, (blank(32),)


def awaited_all() -> Built:
    """Copies of a closed group and of the open one."""

    @T.prim_func
    def kernel(A: T.Buffer((256,), "float32"), out: T.Buffer((256,), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([128])
        tile = T.alloc_shared((256,), "float32")
        T.ptx.cp_async(tile.ptr_to([tx]), A.ptr_to([tx]), bytes=4)
        T.ptx.cp_async.commit_group()
        T.ptx.cp_async(tile.ptr_to([tx + 128]), A.ptr_to([tx + 128]), bytes=4)
        T.ptx["cp.async.wait_all"]()
        T.cuda.cta_sync()
        out[tx] = tile[255 - tx]
        out[tx + 128] = tile[127 - tx]

    return kernel, (random_bytes((256,), "float32"), blank(256, "float32"))


_BUILDS: dict[str, Callable[[], Built]] = {
    "states of two phases": partial(states, 0, 2),
    "the state of a phase with bytes expected": partial(states, 16, 1),
    "all threads wait for the state of their arrival": partial(waits, False),
    "all threads wait for the state of a counted arrival": partial(waits, True),
    "arrivals at another CTA's barrier": partial(in_cluster, False),
    "counted arrivals at another CTA's barrier": partial(in_cluster, True),
    "fma.rn.f16x2": partial(fused_halves, "f16x2"),
    "fma.rn.bf16x2": partial(fused_halves, "bf16x2"),
    "hints, fences and events change no value": without_effect,
    "bytes are written after discard": discarded,
    "cp.async.wait_all": awaited_all,
}

WRITTEN: tuple[Case, ...] = (
    *(Case(FAMILY, what, build) for what, build in _BUILDS.items()),
    Case(FAMILY, "trap", trapped, faults=True),
)
