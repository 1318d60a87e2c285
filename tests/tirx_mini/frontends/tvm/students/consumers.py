"""Step 10 with names made by f-strings, an inline function with defaults in a branch, barriers by warpgroup."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import TileLayout, S, TLane, TCol, tid_in_wg as axis_tid_in_wg
from tvm.tirx.op_schedule.cuda.common import tma_shared_layout, SwizzleMode
from tvm.tirx.tile_scheduler import ClusterPersistentScheduler2D
from tvm.tirx.pipeline import PipelineState, TMABar, TCGen05Bar, MBarrier


def hgemm_v10(M, N, K, SM_COUNT=4, EPI_N=64, separate=False):
    dtype, acc = "float16", "float32"
    CTA_GROUP, NUM_CONSUMER, WG_NUMBER, PIPE_DEPTH = 2, 2, 3, 4
    BLK_M, BLK_N, BLK_K, DTYPE_SIZE = 128, 128, 64, 2
    MMA_N = BLK_N * CTA_GROUP
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, NUM_CONSUMER, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (NUM_CONSUMER, BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        # the final kernel
        with Tx.kernel():
            cbx, cby = Tx.cta_id([CTA_GROUP, 1], parent="cluster")
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            wg_id = Tx.warpgroup_id([WG_NUMBER], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid = Tx.meta_var(warp_id * 32 + lane_id)
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            names = [f"{a}2{b}" for a, b in (("tma", "mma"), ("mma", "tma"), ("mma", "ld"), ("ld", "mma"))]
            tma2mma = TMABar(pool, PIPE_DEPTH, names[0])
            mma2tma = TCGen05Bar(pool, PIPE_DEPTH, names[1])
            mma2ld = TCGen05Bar(pool, NUM_CONSUMER, names[2])
            ld2mma = MBarrier(pool, NUM_CONSUMER, f"ld2mma_{NUM_CONSUMER}")
            pool.move_base_to(1024)
            Asmem = pool.alloc((PIPE_DEPTH, NUM_CONSUMER, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((NUM_CONSUMER, BLK_M, EPI_N), dtype, layout=D_layout)
            pool.commit()
            tma2mma.init(1)
            mma2tma.init(NUM_CONSUMER)
            mma2ld.init(1)
            ld2mma.init(128 * CTA_GROUP)
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=CTA_GROUP)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cluster_sync()
            tmem = Tx.decl_buffer(
                (128, 512),
                acc,
                scope="tmem",
                allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )
            ts = ClusterPersistentScheduler2D(
                "ts",
                num_m_tiles=M // 256 // NUM_CONSUMER,
                num_n_tiles=N // MMA_N,
                l2_group_size=8,
                num_clusters=SM_COUNT // CTA_GROUP,
            )
            ts.init(bx // CTA_GROUP)
            m_base = Tx.meta_var((ts.m_idx * CTA_GROUP + cbx) * NUM_CONSUMER * BLK_M)
            n_st = Tx.meta_var((ts.n_idx * CTA_GROUP + cbx) * BLK_N)
            n_out = Tx.meta_var(ts.n_idx * MMA_N)
            cta0 = tma2mma.remote_view(0)

            if wg_id == NUM_CONSUMER:
                if warp_id == 3:
                    tma_state = PipelineState("tma", PIPE_DEPTH)
                    tma_state.init(is_producer=True)

                    @Tx.inline
                    def load(dst, src, row, k, rows=BLK_M):
                        Tx.copy_async(
                            dst,
                            src[row : row + rows, k * BLK_K : (k + 1) * BLK_K],
                            dispatch="tma",
                            cta_group=CTA_GROUP,
                            mbar=cta0.ptr_to([tma_state.stage]),
                        )

                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        while ts.valid():
                            for k in Tx.serial(K_TILES):
                                mma2tma.wait(tma_state.stage, tma_state.phase)
                                for c in range(NUM_CONSUMER) if not separate else (0, 1):
                                    load(Asmem[tma_state.stage, c, :, :], A, m_base + c * BLK_M, k)
                                load(Bsmem[tma_state.stage, :, :], B, n_st, k, rows=BLK_N)
                                if cbx == 0:
                                    cta0.arrive(
                                        tma_state.stage,
                                        CTA_GROUP * (NUM_CONSUMER * BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE,
                                    )
                                tma_state.move_to_next_stage()
                            ts.next_tile()
                        # No CTA may exit before the last arrivals of both tensor cores.
                        for _ in range(PIPE_DEPTH):
                            mma2tma.wait(tma_state.stage, tma_state.phase)
                            tma_state.move_to_next_stage()
                elif warp_id < NUM_CONSUMER:
                    if cbx == 0:
                        mma_state = PipelineState("mma", PIPE_DEPTH)
                        mma_state.init(is_producer=False)
                        ld_state = PipelineState("ld", 1)
                        ld_state.init(is_producer=True)
                        col = Tx.meta_var(warp_id * MMA_N)
                        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                            while ts.valid():
                                ld2mma.wait(warp_id, ld_state.phase)
                                ld_state.move_to_next_stage()
                                Tx.ptx.tcgen05.fence.after_thread_sync()
                                for k in Tx.serial(K_TILES):
                                    tma2mma.wait(mma_state.stage, mma_state.phase)
                                    Tx.ptx.tcgen05.fence.after_thread_sync()
                                    Tx.gemm_async(
                                        tmem[:, col : col + MMA_N],
                                        Asmem[mma_state.stage, warp_id, :, :],
                                        Bsmem[mma_state.stage, :, :],
                                        accum=(k != 0),
                                        dispatch="tcgen05",
                                        cta_group=CTA_GROUP,
                                    )
                                    mma2tma.arrive(mma_state.stage, cta_group=CTA_GROUP, cta_mask=3)
                                    mma_state.move_to_next_stage()
                                mma2ld.arrive(warp_id, cta_group=CTA_GROUP, cta_mask=3)
                                ts.next_tile()
            else:
                wb_state = PipelineState("wb", 1)
                wb_state.init(is_producer=False)
                m_st = Tx.meta_var(m_base + wg_id * BLK_M)
                Dreg = Tx.alloc_local((EPI_N,), acc)
                Dreg_wg = Dreg.view(128, EPI_N, layout=TileLayout(S[(128, EPI_N) : (1 @ axis_tid_in_wg, 1)]))
                Dreg_16b = Tx.alloc_local((EPI_N,), dtype)
                while ts.valid():
                    mma2ld.wait(wg_id, wb_state.phase)
                    wb_state.move_to_next_stage()
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    for no in Tx.unroll(MMA_N // EPI_N):
                        c_st = Tx.meta_var(wg_id * MMA_N + no * EPI_N)
                        with Tx.warpgroup():
                            Tx.copy(Dreg_wg[:, :], tmem[:, c_st : c_st + EPI_N])
                        with Tx.thread():
                            Tx.cast(Dreg_16b[:], Dreg[:])
                        if no == MMA_N // EPI_N - 1:
                            Tx.ptx.tcgen05.fence.before_thread_sync()
                            ld2mma.arrive(wg_id, cta_id=0, pred=True)
                        with Tx.thread():
                            Tx.copy(Dsmem[wg_id, tid, :], Dreg_16b[:])
                            Tx.ptx.fence.proxy_async("shared::cta")
                        Tx.cuda.warpgroup_sync(wg_id + 10)
                        with Tx.thread(parent="warpgroup")[tid == 0]:
                            Tx.copy_async(
                                D[m_st : m_st + BLK_M, n_out + no * EPI_N : n_out + (no + 1) * EPI_N],
                                Dsmem[wg_id, :, :],
                                dispatch="tma",
                            )
                            Tx.ptx.cp_async.bulk.commit_group()
                            Tx.ptx.cp_async.bulk.wait_group(0)
                        Tx.cuda.warpgroup_sync(wg_id + 10)
                    ts.next_tile()
            Tx.cuda.cluster_sync()
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=CTA_GROUP)
                    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=CTA_GROUP)

    return kernel


CASES = [(hgemm_v10, (512, 512, 384), {}), (hgemm_v10, (1024, 256, 128), {"separate": True})]
