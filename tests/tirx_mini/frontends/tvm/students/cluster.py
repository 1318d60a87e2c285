"""Step 9: two CTAs, remote views, both CTAs in the mask."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import TileLayout, S, TLane, TCol, tid_in_wg as axis_tid_in_wg
from tvm.tirx.op_schedule.cuda.common import tma_shared_layout, SwizzleMode
from tvm.tirx.tile_scheduler import ClusterPersistentScheduler2D
from tvm.tirx.pipeline import PipelineState, TMABar, TCGen05Bar, MBarrier


def hgemm_v9(M, N, K, SM_COUNT=4, EPI_N=64, TMEM_LD_N=64, cta_mask=3):
    a_type = b_type = d_type = tvm.DataType("float16")
    acc_type = tvm.DataType("float32")
    BLK_M, BLK_N, BLK_K = 128, 128, 64
    PIPE_DEPTH, WG_NUMBER, CTA_GROUP = 4, 2, 2
    MMA_N = BLK_N * CTA_GROUP
    DTYPE_SIZE = 2
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(a_type, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(b_type, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(d_type, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), a_type), B: Tx.Buffer((N, K), b_type), D: Tx.Buffer((M, N), d_type)):
        with Tx.kernel():
            cbx, cby = Tx.cta_id([CTA_GROUP, 1], parent="cluster")
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            wg_id = Tx.warpgroup_id([WG_NUMBER], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = TCGen05Bar(pool, PIPE_DEPTH, "mma2tma")
            mma2ld = TCGen05Bar(pool, 1, "mma2ld")
            ld2mma = MBarrier(pool, 1, "ld2mma")
            pool.move_base_to(1024)
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), a_type, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), b_type, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, EPI_N), d_type, layout=D_layout)
            pool.commit()
            tma2mma.init(1)
            mma2tma.init(1)
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
                acc_type,
                scope="tmem",
                allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // 256, num_n_tiles=N // 256, l2_group_size=8, num_clusters=SM_COUNT // 2
            )
            tile_scheduler.init(bx // CTA_GROUP)
            m_st = Tx.meta_var((tile_scheduler.m_idx * CTA_GROUP + cbx) * BLK_M)
            n_st = Tx.meta_var((tile_scheduler.n_idx * CTA_GROUP + cbx) * BLK_N)
            n_out = Tx.meta_var(tile_scheduler.n_idx * MMA_N)
            tma2mma_cta0 = tma2mma.remote_view(0)
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            ld_phase = PipelineState("ld", 1)
            wb_phase = PipelineState("wb", 1)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)
            ld_phase.init(is_producer=True)
            wb_phase.init(is_producer=False)

            if wg_id == 1:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        while tile_scheduler.valid():
                            for k in range(K_TILES):
                                stage = Tx.meta_var(tma_phase.stage)
                                mma2tma.wait(stage, tma_phase.phase)
                                if cbx == 0:
                                    tma2mma_cta0.arrive(stage, CTA_GROUP * (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE)
                                tma_config = {
                                    "dispatch": "tma",
                                    "cta_group": CTA_GROUP,
                                    "mbar": tma2mma_cta0.ptr_to([stage]),
                                }
                                Tx.copy_async(
                                    Asmem[stage, :, :],
                                    A[m_st : m_st + BLK_M, k * BLK_K : k * BLK_K + BLK_K],
                                    **tma_config,
                                )
                                Tx.copy_async(
                                    Bsmem[stage, :, :],
                                    B[n_st : n_st + BLK_N, k * BLK_K : k * BLK_K + BLK_K],
                                    **tma_config,
                                )
                                tma_phase.move_to_next_stage()
                            tile_scheduler.next_tile()
                        # No CTA may exit before the last arrivals of the tensor core.
                        for _ in range(PIPE_DEPTH):
                            mma2tma.wait(tma_phase.stage, tma_phase.phase)
                            tma_phase.move_to_next_stage()
                elif warp_id == 0:
                    if cbx == 0:
                        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                            while tile_scheduler.valid():
                                ld2mma.wait(0, ld_phase.phase)
                                ld_phase.move_to_next_stage()
                                Tx.ptx.tcgen05.fence.after_thread_sync()
                                for k in range(K_TILES):
                                    tma2mma.wait(mma_phase.stage, mma_phase.phase)
                                    Tx.ptx.tcgen05.fence.after_thread_sync()
                                    Tx.gemm_async(
                                        tmem[:, :MMA_N],
                                        Asmem[mma_phase.stage, :, :],
                                        Bsmem[mma_phase.stage, :, :],
                                        accum=(k != 0),
                                        dispatch="tcgen05",
                                        cta_group=CTA_GROUP,
                                    )
                                    mma2tma.arrive(mma_phase.stage, cta_group=CTA_GROUP, cta_mask=cta_mask)
                                    mma_phase.move_to_next_stage()
                                mma2ld.arrive(0, cta_group=CTA_GROUP, cta_mask=cta_mask)
                                tile_scheduler.next_tile()
            elif wg_id == 0:
                Dreg = Tx.alloc_local((TMEM_LD_N,), acc_type)
                Dreg_wg = Dreg.view(128, TMEM_LD_N, layout=TileLayout(S[(128, TMEM_LD_N) : (1 @ axis_tid_in_wg, 1)]))
                Dreg_16b = Tx.alloc_local((MMA_N,), d_type)
                while tile_scheduler.valid():
                    mma2ld.wait(0, wb_phase.phase)
                    wb_phase.move_to_next_stage()
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    for i in Tx.unroll(MMA_N // TMEM_LD_N):
                        with Tx.warpgroup():
                            Tx.copy(Dreg_wg[:, :], tmem[:, i * TMEM_LD_N : (i + 1) * TMEM_LD_N])
                        with Tx.thread():
                            Tx.cast(Dreg_16b[i * TMEM_LD_N : (i + 1) * TMEM_LD_N], Dreg[:])
                    Tx.ptx.tcgen05.fence.before_thread_sync()
                    ld2mma.arrive(0, cta_id=0, pred=True)
                    for no in Tx.unroll(MMA_N // EPI_N):
                        with Tx.thread():
                            Tx.copy(Dsmem[warp_id * 32 + lane_id, :], Dreg_16b[no * EPI_N : (no + 1) * EPI_N])
                            Tx.ptx.fence.proxy_async("shared::cta")
                        Tx.cuda.warpgroup_sync(10)
                        if warp_id == 0:
                            with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                                Tx.copy_async(
                                    D[m_st : m_st + BLK_M, n_out + no * EPI_N : n_out + (no + 1) * EPI_N],
                                    Dsmem[:, :],
                                    dispatch="tma",
                                )
                                Tx.ptx.cp_async.bulk.commit_group()
                                Tx.ptx.cp_async.bulk.wait_group(0)
                        Tx.cuda.warpgroup_sync(10)
                    tile_scheduler.next_tile()
            Tx.cuda.cluster_sync()
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=CTA_GROUP)
                    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=CTA_GROUP)

    return kernel


CASES = [
    (hgemm_v9, (512, 512, 384), {}),
    (hgemm_v9, (256, 256, 128), {"EPI_N": 128, "cta_mask": 0b11}),
    (hgemm_v9, (256, 512, 128), {"SM_COUNT": 148}),
]
