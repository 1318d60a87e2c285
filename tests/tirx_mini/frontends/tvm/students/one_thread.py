"""Step 4 as in its diagram: one thread loads, waits, multiplies and waits; the others meet it at cta_sync."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import TileLayout, S, TLane, TCol, tid_in_wg as axis_tid_in_wg
from tvm.tirx.op_schedule.cuda.common import tma_shared_layout, SwizzleMode


def gemm(M, N, K, warp_style=False):
    a_type = d_type = tvm.DataType("float16")
    BLK_M = BLK_N = 128
    BLK_K = 64
    A_layout = tma_shared_layout(a_type, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    D_layout = tma_shared_layout(d_type, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), a_type), B: Tx.Buffer((N, K), a_type), D: Tx.Buffer((M, N), d_type)):
        with Tx.kernel():
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            tma_bar = pool.alloc((1,), "uint64")
            mma_bar = pool.alloc((1,), "uint64")
            pool.move_base_to(1024)
            Asmem = pool.alloc((BLK_M, BLK_K), a_type, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), a_type, layout=A_layout)
            pool.move_base_to(1024)
            Dsmem = pool.alloc((BLK_M, BLK_N), d_type, layout=D_layout)
            pool.commit()
            with Tx.warp(parent="warpgroup")[warp_id == 0]:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
                with Tx.thread(parent="warp")[lane_id == 0]:
                    Tx.ptx.mbarrier.init(tma_bar.ptr_to([0]), 1)
                    Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()
            tmem = Tx.decl_buffer(
                (128, 512),
                "float32",
                scope="tmem",
                allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )
            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    phase: Tx.int32 = 0
                    for k in range(K // BLK_K):
                        cfg = {"dispatch": "tma", "cta_group": 1, "mbar": tma_bar.ptr_to([0])}
                        Tx.copy_async(Asmem[:, :], A[bx * BLK_M : (bx + 1) * BLK_M, k * BLK_K : (k + 1) * BLK_K], **cfg)
                        Tx.copy_async(Bsmem[:, :], B[by * BLK_N : (by + 1) * BLK_N, k * BLK_K : (k + 1) * BLK_K], **cfg)
                        Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), (BLK_M * BLK_K + BLK_N * BLK_K) * 2)
                        Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([0]), phase)
                        Tx.ptx.tcgen05.fence.after_thread_sync()
                        Tx.gemm_async(
                            tmem[:, :BLK_N], Asmem[:, :], Bsmem[:, :], accum=(k != 0), dispatch="tcgen05", cta_group=1
                        )
                        Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)
                        Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase)
                        phase = phase ^ 1
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()
            Dreg = Tx.alloc_local((BLK_N,), "float32")
            Dreg_16b = Tx.alloc_local((BLK_N,), d_type)
            Dreg_wg = Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ axis_tid_in_wg, 1)]))
            with Tx.warpgroup():
                Tx.copy(Dreg_wg[:, :], tmem[:, :BLK_N])
                with Tx.thread():
                    Tx.cast(Dreg_16b[:], Dreg[:])
                    Tx.copy(Dsmem[warp_id * 32 + lane_id, 0:BLK_N], Dreg_16b[0:BLK_N])
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.cuda.cta_sync()
            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    Tx.copy_async(
                        D[bx * BLK_M : (bx + 1) * BLK_M, by * BLK_N : (by + 1) * BLK_N], Dsmem[:, :], dispatch="tma"
                    )
                    Tx.ptx.cp_async.bulk.commit_group()
                    Tx.ptx.cp_async.bulk.wait_group(0)
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel


CASES = [(gemm, (128, 256, 192), {})]
