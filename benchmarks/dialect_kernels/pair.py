"""A pair of CTAs: the launch of a cluster, an MMA of both, and its commit to both."""

from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode, mma_shared_layout
from tvm.script import tirx as T
from tvm.tirx.layout import S, TCol, TileLayout, TLane

LAYOUT = mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))


@T.prim_func
def kernel(A: T.Buffer((256, 64), "float16"), B: T.Buffer((256, 64), "float16"), D: T.Buffer((256,), "float32")):
    T.device_entry()
    T.cta_id([2])
    rank = T.cta_id_in_cluster([2])
    T.warpgroup_id([1])
    warp = T.warp_id([4])
    thread = T.thread_id([128])
    pool = T.SMEMPool()
    address = pool.alloc((1,), "uint32")
    full = pool.alloc((1,), "uint64", align=8)
    done = pool.alloc((1,), "uint64", align=8)
    a_tile = pool.alloc((128, 64), "float16", layout=LAYOUT, align=1024)
    b_tile = pool.alloc((128, 64), "float16", layout=LAYOUT, align=1024)
    pool.commit()
    if warp == 0:
        T.ptx.tcgen05.alloc(T.address_of(address), n_cols=256, cta_group=2)
    if thread == 0:
        T.ptx.mbarrier.init(full.ptr_to([0]), 1)
        T.ptx.mbarrier.init(done.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
    T.cuda.cluster_sync()
    accumulator = T.decl_buffer(
        (128, 256), "float32", scope="tmem", allocated_addr=address[0],
        layout=TileLayout(S[(128, 256) : (1 @ TLane, 1 @ TCol)]),
    )  # fmt: skip
    if thread == 0:
        T.tile.copy_async(
            a_tile[:, :], A[rank * 128 : rank * 128 + 128, :], dispatch="tma_auto", mbar=full.ptr_to([0]), cta_group=2
        )
        T.tile.copy_async(
            b_tile[:, :], B[rank * 128 : rank * 128 + 128, :], dispatch="tma_auto", mbar=full.ptr_to([0]), cta_group=2
        )
        T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([0]), 32768)
    T.ptx.mbarrier.try_wait(full.ptr_to([0]), 0)
    T.cuda.cluster_sync()
    if thread == 0:
        if rank == 0:
            T.ptx.tcgen05.fence.after_thread_sync()
            T.tile.gemm_async(
                accumulator[:, :], a_tile[:, :], b_tile[:, :], accum=False, dispatch="tcgen05", cta_group=2
            )
            T.ptx.tcgen05.commit(done.ptr_to([0]), cta_group=2, cta_mask=3)
    T.ptx.mbarrier.try_wait(done.ptr_to([0]), 0)
    T.ptx.tcgen05.fence.after_thread_sync()
    D[rank * 128 + thread] = T.float32(0)
    T.cuda.cluster_sync()
    if warp == 0:
        T.ptx.tcgen05.relinquish_alloc_permit(cta_group=2)
        T.ptx.tcgen05.dealloc(address[0], n_cols=256, cta_group=2)
