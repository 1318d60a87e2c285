"""Step 9 with a list of barriers, arrivals from both CTAs or one, positional commits, element stores."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import TileLayout, S, TLane, TCol, tid_in_wg as axis_tid_in_wg
from tvm.tirx.op_schedule.cuda.common import tma_shared_layout, SwizzleMode
from tvm.tirx.tile_scheduler import ClusterPersistentScheduler2D
from tvm.tirx.pipeline import PipelineState, TMABar, TCGen05Bar, MBarrier

CTA_GROUP, BLK_M, BLK_N, BLK_K, DEPTH, EPI_N, LD_N = 2, 128, 128, 64, 4, 64, 128
MMA_N = 256


def gemm(M, N, K, SM_COUNT=4, both_arrive=True, pred_arrive=False, elect_if=False):
    dt = tvm.DataType("float16")
    L = SwizzleMode.SWIZZLE_128B_ATOM

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dt), B: Tx.Buffer((N, K), dt), D: Tx.Buffer((M, N), dt)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            cbx, _ = Tx.cta_id([CTA_GROUP, 1], parent="cluster")
            wg_id = Tx.warpgroup_id([2], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            bars = [
                TMABar(pool, DEPTH, "tma2mma"),
                TCGen05Bar(pool, DEPTH, "mma2tma"),
                TCGen05Bar(pool, 1, "mma2ld"),
                MBarrier(pool, 1, "ld2mma"),
            ]
            tma2mma, mma2tma, mma2ld, ld2mma = bars
            pool.move_base_to(1024)
            Asmem, Bsmem = [
                pool.alloc((DEPTH, 128, BLK_K), dt, layout=tma_shared_layout(dt, L, (DEPTH, 128, BLK_K))) for _ in "AB"
            ]
            Dsmem = pool.alloc((BLK_M, EPI_N), dt, layout=tma_shared_layout(dt, L, (BLK_M, EPI_N)))
            pool.commit()
            counts = [CTA_GROUP if both_arrive else 1, 1, 1, CTA_GROUP * 128 if not pred_arrive else CTA_GROUP * 4]
            for b, c in zip(bars, counts):
                b.init(c)
            Tx.ptx.fence.mbarrier_init()
            if wg_id == 0 and warp_id == 1:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=256, cta_group=2)
            Tx.cuda.cta_sync()
            Tx.cuda.cluster_sync()
            tmem = Tx.decl_buffer(
                (128, 256),
                "float32",
                scope="tmem",
                allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 256) : (1 @ TLane, 1 @ TCol)]),
            )
            ts = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // 256, num_n_tiles=N // 256, l2_group_size=4, num_clusters=SM_COUNT // 2
            )
            ts.init(bx // 2)
            full0 = tma2mma.remote_view(0)
            if wg_id == 1 and warp_id == 3:
                tma = PipelineState("tma", DEPTH)
                tma.init(is_producer=True)
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    while ts.valid():
                        m = Tx.meta_var(ts.m_idx * 256 + cbx * 128)
                        n = Tx.meta_var(ts.n_idx * 256 + cbx * 128)
                        for k in range(K // BLK_K):
                            mma2tma.wait(tma.stage, tma.phase)
                            if both_arrive:
                                full0.arrive(tma.stage, 2 * 128 * BLK_K * 2)
                            else:
                                if cbx == 0:
                                    tma2mma.arrive(tma.stage, 4 * 128 * BLK_K * 2)
                            for smem, gmem, row in ((Asmem, A, m), (Bsmem, B, n)):
                                Tx.copy_async(
                                    smem[tma.stage, :, :],
                                    gmem[row : row + 128, k * BLK_K : (k + 1) * BLK_K],
                                    dispatch="tma",
                                    mbar=full0.ptr_to([tma.stage]),
                                    cta_group=2,
                                )
                            tma.move_to_next_stage()
                        ts.next_tile()
                    # No CTA may exit before the last arrivals of both tensor cores.
                    for _ in range(DEPTH):
                        mma2tma.wait(tma.stage, tma.phase)
                        tma.move_to_next_stage()
            elif wg_id == 1 and warp_id == 0 and cbx == 0:
                mma = PipelineState("mma", DEPTH)
                mma.init(is_producer=False)
                free = PipelineState("free", 1)
                free.init(True)
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    while ts.valid():
                        ld2mma.wait(free.stage, free.phase)
                        free.move_to_next_stage()
                        Tx.ptx.tcgen05.fence.after_thread_sync()
                        for k in range(K // BLK_K):
                            tma2mma.wait(mma.stage, mma.phase)
                            Tx.ptx.tcgen05.fence.after_thread_sync()
                            Tx.gemm_async(
                                tmem[:, :],
                                Asmem[mma.stage, :, :],
                                Bsmem[mma.stage, :, :],
                                accum=k > 0,
                                dispatch="tcgen05",
                                cta_group=2,
                            )
                            Tx.ptx.tcgen05.commit(mma2tma.ptr_to([mma.stage]), 2, 3)
                            mma.move_to_next_stage()
                        Tx.ptx.tcgen05.commit(mma2ld.ptr_to([0]), cta_group=2, cta_mask=(1 << CTA_GROUP) - 1)
                        ts.next_tile()
            elif wg_id == 0:
                phase: Tx.int32 = 0
                reg = Tx.alloc_local((LD_N,), "float32")
                half = Tx.alloc_local((LD_N,), dt)
                while ts.valid():
                    mma2ld.wait(0, phase)
                    phase = phase ^ 1
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    for part in Tx.unroll(256 // LD_N):
                        with Tx.warpgroup():
                            Tx.copy(
                                reg.view(128, LD_N, layout=TileLayout(S[(128, LD_N) : (1 @ axis_tid_in_wg, 1)])),
                                tmem[:, part * LD_N : (part + 1) * LD_N],
                            )
                        Tx.cast(half, reg)
                        if part == 256 // LD_N - 1:
                            Tx.ptx.tcgen05.fence.before_thread_sync()
                            if pred_arrive:
                                Tx.cuda.warp_sync()
                                ld2mma.arrive(0, cta_id=0, pred=(lane_id == 0))
                            else:
                                ld2mma.arrive(0, cta_id=0)
                        for no in range(LD_N // EPI_N):
                            st = Tx.meta_var(no * EPI_N)
                            for j in Tx.unroll(EPI_N):
                                Dsmem[warp_id * 32 + lane_id, j] = half[st + j]
                            Tx.ptx.fence.proxy_async("shared::cta")
                            Tx.cuda.warpgroup_sync(1)
                            if warp_id == 0:
                                with Tx.thread(parent="warp")[lane_id == 0]:
                                    c = Tx.meta_var(ts.n_idx * MMA_N + part * LD_N + st)
                                    Tx.copy_async(
                                        D[ts.m_idx * 256 + cbx * 128 : ts.m_idx * 256 + cbx * 128 + 128, c : c + EPI_N],
                                        Dsmem,
                                        dispatch="tma",
                                    )
                                    Tx.ptx.cp_async.bulk.commit_group()
                                    Tx.ptx.cp_async.bulk.wait_group(0)
                            Tx.cuda.warpgroup_sync(1)
                    ts.next_tile()
            Tx.cuda.cluster_sync()
            if wg_id == 0 and warp_id == 1:
                Tx.ptx.tcgen05.relinquish_alloc_permit(2)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], 256, 2)

    return kernel


CASES = [(gemm, (512, 256, 320), {}), (gemm, (256, 512, 128), {"both_arrive": False, "pred_arrive": True})]
