"""Step 1 in the names of Apache TVM 0.26, every primitive bound to its scope."""

import tvm
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import S, TCol, TileLayout, TLane, wg_local_layout
from tvm.tirx.lang.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar
from tvm.tirx.lang.tile_scheduler import ClusterPersistentScheduler2D
from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode, mma_shared_layout


def single(M, N, K):
    lay = mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, K))

    @T.prim_func
    def kernel(A: T.Buffer((M, K), "float16"), B: T.Buffer((N, K), "float16"), D: T.Buffer((M, N), "float16")):
        T.device_entry()
        bx = T.cta_id([1])
        warp_id = T.warp_id([4])
        tid = T.thread_id_in_wg([128])
        pool = T.SMEMPool()
        addr = pool.alloc((1,), "uint32")
        bar = pool.alloc((1,), "uint64", align=8)
        sA = pool.alloc((M, K), "float16", layout=lay, align=1024)
        sB = pool.alloc((N, K), "float16", layout=lay, align=1024)
        pool.commit()
        if T.filter(warp_id, 0, 1):
            T.ptx.tcgen05.alloc(T.address_of(addr), n_cols=128, cta_group=1)
        if tid == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        acc = T.decl_buffer(
            (128, 128),
            "float32",
            scope="tmem",
            allocated_addr=addr[0],
            layout=TileLayout(S[(128, 128) : (1 @ TLane, 1 @ TCol)]),
        )
        Tx.cta.copy(sA[:, :], A[:, :])
        Tx.cta.copy(sB[:, :], B[:, :])
        T.cuda.cta_sync()
        T.ptx.tcgen05.fence.after_thread_sync()
        if warp_id == 0:
            if T.ptx.elect_sync():
                Tx.gemm_async(acc[:, :], sA[:, :], sB[:, :], accum=False, dispatch="tcgen05", cta_group=1)
                T.ptx.tcgen05.commit(bar.ptr_to([0]), cta_group=1)
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        T.ptx.tcgen05.fence.after_thread_sync()
        reg = T.alloc_buffer((128, 128), "float32", scope="local", layout=wg_local_layout(128))
        out = T.alloc_buffer((128, 128), "float16", scope="local", layout=wg_local_layout(128))
        Tx.wg.copy_async(reg[:, :], acc[:, :])
        T.ptx.tcgen05.wait.ld()
        Tx.wg.cast(out[:, :], reg[:, :])
        Tx.wg.copy(D[0:128, 0:128], out[:, :])
        T.cuda.cta_sync()
        if warp_id == 0:
            T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
            T.ptx.tcgen05.dealloc(addr[0], n_cols=128, cta_group=1)

    return kernel


CASES = [(single, (128, 128, 128), {})]
