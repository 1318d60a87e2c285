"""Step 7: warp specialisation. Two roles run concurrently, each with its own loop over the same tiles.

    warp 4, one thread    TMA                  loads tiles of A and B
    warps 0 to 3          MMA and write-back   a warpgroup: multiplies the loaded tiles, casts, stores

    tma2mma  data is in shared memory      TMA signals bytes
    mma2tma  shared memory is free         one thread arrives for the warpgroup

Each side of a barrier tracks its own stage and phase. The first waits of a producer do not block, because all stages
are empty; the first wait of a consumer blocks. The computing warps no longer issue loads, and the loads of the next
tile start during the store of the current one.
"""

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 132
CTAS_PER_SM = 2
BLK_M, BLK_N, BLK_K = 128, 128, 64
CONSUMER_WARPS = 4
PIPE_DEPTH = 2
DREG_N = BLK_M * BLK_N // 128
DTYPE_SIZE = 2
TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE


def hgemm_v7(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm_v7", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT * CTAS_PER_SM], parent="kernel")
            warp_id = Tx.warp_id([CONSUMER_WARPS + 1], parent="cta")
            lane_id = Tx.thread_id([32], parent="warp")

            # Each cluster is one CTA: CTA bx computes the tiles bx, bx + 264, … in the scheduler's order.
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // BLK_M, num_n_tiles=N // BLK_N, l2_group_size=8,
                num_clusters=SM_COUNT * CTAS_PER_SM,
            )
            tile_scheduler.init(bx)
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the barriers between the roles, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so it must not be guarded.
            tma2mma.init(1)
            mma2tma.init(1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            # One state per side: TMA and MMA step through the stages.
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma2mma.ptr_to([stage])})
                tma2mma.arrive(stage, TMA_BYTES)
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)

            @Tx.inline
            def release(stage):
                if warp_id == 0:
                    if lane_id == 0:
                        mma2tma.arrive(stage)

            if warp_id == CONSUMER_WARPS:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    while tile_scheduler.valid():
                        for k in range(K_TILES):
                            mma2tma.wait(tma_phase.stage, tma_phase.phase)
                            tma_load(tma_phase.stage, k)
                            tma_phase.move_to_next_stage()
                        tile_scheduler.next_tile()
            else:
                Dreg = Tx.alloc_local((DREG_N,), "float32")
                Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
                Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
                D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)

                @Tx.inline
                def mma(stage, k):
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.fence()
                        Tx.gemm_async(
                            Dacc[:, :], Asmem[stage, :, :], Bsmem[stage, :, :], accum=(k != 0), dispatch="wgmma"
                        )
                        Tx.ptx.wgmma.commit_group()

                @Tx.inline
                def write_back():
                    with Tx.thread():
                        Tx.cast(Dreg_16b[:], Dreg[:])
                    # The copy ends with a fence in each thread, which makes its stores visible to TMA.
                    with Tx.warpgroup():
                        Tx.copy(Dsmem[:, :], D_16b[:, :])
                    Tx.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                            Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                            Tx.ptx.cp_async.bulk.commit_group()
                            Tx.ptx.cp_async.bulk.wait_group(0)
                    # The next tile overwrites Dsmem.
                    Tx.cuda.warpgroup_sync(1)

                while tile_scheduler.valid():
                    for k in range(K_TILES):
                        tma2mma.wait(mma_phase.stage, mma_phase.phase)
                        mma(mma_phase.stage, k)
                        with Tx.warpgroup():
                            Tx.ptx.wgmma.wait_group(0)
                        release(mma_phase.stage)
                        mma_phase.move_to_next_stage()
                    write_back()
                    tile_scheduler.next_tile()

    return kernel
