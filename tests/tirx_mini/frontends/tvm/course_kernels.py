"""Kernels as students of the course write them: they import `tvm`, and each has its own style."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import S, TCol, TileLayout, TLane
from tvm.tir.layout import tid_in_wg as axis_tid_in_wg
from tvm.tirx.op_schedule.cuda.common import SwizzleMode, tma_shared_layout
from tvm.tirx.pipeline import MBarrier, PipelineState, TCGen05Bar, TMABar
from tvm.tirx.tile_scheduler import ClusterPersistentScheduler2D

SM_COUNT = 4


def tma_pipeline(M, N, K, EPI_N=64, use_lanes=True):
    """Phases in register arrays, a thread by index, helpers with parameters, a register view in TLane × TCol."""
    a_type = tvm.DataType("float16")
    d_type, acc_type = "float16", "float32"
    BLK_M, BLK_N, BLK_K = 128, 128, 64
    K_TILES = K // BLK_K
    PIPE_DEPTH = 2
    PRE_NUM = min(PIPE_DEPTH, K_TILES)
    A_layout = tma_shared_layout(a_type, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(a_type, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(d_type, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, EPI_N))
    rows = 1 @ (TLane if use_lanes else axis_tid_in_wg)
    reg_layout = TileLayout(S[(128, BLK_N) : (rows, 1 @ TCol if use_lanes else 1)])

    # fmt: off
    @Tx.prim_func(tirx=True)
    def kernel(
        A: Tx.Buffer((M, K), a_type),
        B: Tx.Buffer((N, K), a_type),
        D: Tx.Buffer((M, N), d_type),
    ):
        """One tile of D per CTA."""
        with Tx.kernel():
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid = Tx.meta_var(warp_id * 32 + lane_id)
            m_st, n_st = Tx.meta_var(bx * BLK_M), Tx.meta_var(by * BLK_N)

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            tma_bar = pool.alloc((PIPE_DEPTH,), "uint64", align=8)
            mma_bar = pool.alloc((1,), "uint64", align=8)
            pool.move_base_to(1024)
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), a_type, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), a_type, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, EPI_N), d_type, layout=D_layout)
            pool.commit()

            if warp_id == 0:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
                if lane_id == 0:
                    for i in range(PIPE_DEPTH):
                        Tx.ptx.mbarrier.init(tma_bar.ptr_to([i]), 1)
                    Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            tmem = Tx.decl_buffer((128, 512), acc_type, scope="tmem", allocated_addr=tmem_addr[0],
                                  layout=TileLayout(S[(128, 512) : (1@TLane, 1@TCol)]))
            phase_tma = Tx.alloc_local((PIPE_DEPTH,), "int32")
            phase_mma = Tx.alloc_local((1,), "int32")
            for i in Tx.unroll(PIPE_DEPTH):
                phase_tma[i] = 0
            phase_mma[0] = 0

            @Tx.inline
            def tma_load(stage, k_tile, bytes=(BLK_M + BLK_N) * BLK_K * 2):
                """Load one stage and expect its bytes."""
                tma_config = {"dispatch": "tma", "cta_group": 1, "mbar": tma_bar.ptr_to([stage])}
                k_st = Tx.meta_var(k_tile * BLK_K)
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma_config)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma_config)
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([stage]), bytes)

            @Tx.inline
            def mma(stage, accum):
                Tx.gemm_async(tmem[:, 0:BLK_N], Asmem[stage, :, :], Bsmem[stage, :, :],
                              accum=accum, dispatch="tcgen05", cta_group=1)
                Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)

            with Tx.thread(parent="warpgroup")[tid == 0]:
                for i in range(PRE_NUM):
                    tma_load(i, i)

            for k in Tx.serial(K_TILES):
                stage = k % PIPE_DEPTH
                Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), phase_tma[stage])
                phase_tma[stage] = phase_tma[stage] ^ 1
                Tx.ptx.tcgen05.fence.after_thread_sync()
                with Tx.thread(parent="warpgroup")[tid == 0]:
                    if k == 0:
                        mma(stage, accum=0)
                    else:
                        mma(stage, accum=1)
                Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma[0])
                phase_mma[0] = 1 - phase_mma[0]
                Tx.cuda.cta_sync()
                if k + PIPE_DEPTH < K_TILES:
                    with Tx.thread(parent="warpgroup")[tid == 0]:
                        tma_load(stage, k + PIPE_DEPTH)
            Tx.ptx.tcgen05.fence.after_thread_sync()
            Tx.cuda.cta_sync()

            Dreg = Tx.alloc_local((BLK_N,), acc_type)
            Dreg_wg = Dreg.view(128, BLK_N, layout=reg_layout)
            Dreg_16b = Tx.alloc_local((BLK_N,), d_type)
            with Tx.warpgroup():
                Tx.copy(Dreg_wg[:, :], tmem[:, 0:BLK_N])
            with Tx.thread():
                Tx.cast(Dreg_16b[:], Dreg[:])
            for no in Tx.unroll(BLK_N // EPI_N):
                with Tx.thread():
                    Tx.copy(Dsmem[tid, :], Dreg_16b[no * EPI_N : (no + 1) * EPI_N])
                    Tx.ptx.fence.proxy_async("shared::cta")
                Tx.cuda.cta_sync()
                with Tx.thread(parent="warpgroup")[tid == 0]:
                    n_out = Tx.meta_var(n_st + no * EPI_N)
                    Tx.copy_async(D[m_st : m_st + BLK_M, n_out : n_out + EPI_N], Dsmem[:, :], dispatch="tma")
                    Tx.ptx.cp_async.bulk.commit_group()
                    Tx.ptx.cp_async.bulk.wait_group(0)
                Tx.cuda.cta_sync()

            if warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)
    # fmt: on

    return kernel


def warp_specialized(M, N, K, EPI_N=64, TMEM_LD_N=8):
    """Roles split with if and elif, state captured by helpers, chunked reads of tensor memory."""
    a_type = b_type = d_type = "float16"
    BLK_M, BLK_N, BLK_K, PIPE_DEPTH, WG_NUMBER = 128, 128, 64, 2, 2
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(a_type, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(b_type, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(d_type, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), a_type), B: Tx.Buffer((N, K), b_type), D: Tx.Buffer((M, N), d_type)):
        with Tx.kernel():
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
            tma2mma.init(1)
            mma2tma.init(1)
            mma2ld.init(1)
            ld2mma.init(128)
            pool.commit()
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
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
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // BLK_M, num_n_tiles=N // BLK_N, l2_group_size=8, num_clusters=SM_COUNT
            )
            tile_scheduler.init(bx)
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            @Tx.inline
            def each_tile(body):
                while tile_scheduler.valid():
                    body()
                    tile_scheduler.next_tile()

            if wg_id == 1 and warp_id == 3:
                tma = PipelineState("tma", PIPE_DEPTH)
                tma.init(is_producer=True)

                @Tx.inline
                def load_tile():
                    for k in range(K_TILES):
                        mma2tma.wait(tma.stage, tma.phase)
                        mbar = Tx.meta_var(tma2mma.ptr_to([tma.stage]))
                        k_st = Tx.meta_var(k * BLK_K)
                        for smem, src, st in ((Asmem, A, m_st), (Bsmem, B, n_st)):
                            Tx.copy_async(
                                smem[tma.stage, :, :],
                                src[st : st + 128, k_st : k_st + BLK_K],
                                dispatch="tma",
                                mbar=mbar,
                            )
                        tma2mma.arrive(tma.stage, (BLK_M * BLK_K + BLK_N * BLK_K) * 2)
                        tma.move_to_next_stage()

                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    each_tile(load_tile)
            elif wg_id == 1 and warp_id == 0:
                mma = PipelineState("mma", PIPE_DEPTH)
                mma.init(is_producer=False)
                ld_phase: Tx.int32 = 1

                @Tx.inline
                def multiply_tile():
                    ld2mma.wait(0, ld_phase)  # noqa: F823 - the variable of the kernel
                    ld_phase ^= 1
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    for k in Tx.serial(0, K_TILES):
                        tma2mma.wait(mma.stage, mma.phase)
                        Tx.ptx.tcgen05.fence.after_thread_sync()
                        Tx.gemm_async(
                            tmem[:, :BLK_N],
                            Asmem[mma.stage, :, :],
                            Bsmem[mma.stage, :, :],
                            accum=(k != 0),
                            dispatch="tcgen05",
                            cta_group=1,
                        )
                        mma2tma.arrive(mma.stage, cta_group=1, cta_mask=1)
                        mma.move_to_next_stage()
                    mma2ld.arrive(0, cta_group=1, cta_mask=1)

                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    each_tile(multiply_tile)
            elif wg_id == 0:
                wb = PipelineState("wb", 1)
                wb.init(is_producer=False)
                Dreg = Tx.alloc_local((TMEM_LD_N,), "float32")
                Dreg_wg = Dreg.view(128, TMEM_LD_N, layout=TileLayout(S[(128, TMEM_LD_N) : (1 @ axis_tid_in_wg, 1)]))
                Dreg_16b = Tx.alloc_local((BLK_N,), d_type)
                while tile_scheduler.valid():
                    mma2ld.wait(0, wb.phase)
                    wb.move_to_next_stage()
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    for i in Tx.unroll(BLK_N // TMEM_LD_N):
                        with Tx.warpgroup():
                            Tx.copy(Dreg_wg[:, :], tmem[:, i * TMEM_LD_N : (i + 1) * TMEM_LD_N])
                        with Tx.thread():
                            Tx.cast(Dreg_16b[i * TMEM_LD_N : (i + 1) * TMEM_LD_N], Dreg[:])
                    Tx.ptx.tcgen05.fence.before_thread_sync()
                    ld2mma.arrive(0, cta_id=0, pred=True)
                    for no in Tx.unroll(BLK_N // EPI_N):
                        with Tx.thread():
                            Tx.copy(Dsmem[warp_id * 32 + lane_id, :], Dreg_16b[no * EPI_N : (no + 1) * EPI_N])
                            Tx.ptx.fence.proxy_async("shared::cta")
                        Tx.cuda.warpgroup_sync(1)
                        with Tx.thread(parent="warpgroup")[warp_id * 32 + lane_id == 0]:
                            n_out = Tx.meta_var(n_st + no * EPI_N)
                            Tx.copy_async(D[m_st : m_st + BLK_M, n_out : n_out + EPI_N], Dsmem[:, :], dispatch="tma")
                            Tx.ptx.cp_async.bulk.commit_group()
                            Tx.ptx.cp_async.bulk.wait_group(0)
                        Tx.cuda.warpgroup_sync(1)
                    tile_scheduler.next_tile()
            Tx.cuda.cta_sync()
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel
