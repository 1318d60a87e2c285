"""Step 9: clusters of two CTAs that share the tile of B. The pair computes 256 × 128 elements of D.

    CTA 0: D[0:128, 0:128]      loads A[0:128]   for itself, B[0:64]   for both
    CTA 1: D[128:256, 0:128]    loads A[128:256] for itself, B[64:128] for both

A multicast load writes to the same offset in both CTAs and signals the same barrier in both: each tma2mma counts a
whole tile of A and of B. A stage is free when both consumers have finished with it, so each consumer arrives at mma2tma
of both CTAs. The L2 cache delivers B once instead of twice. In return, the CTAs wait for each other; two more stages
shorten these waits.
"""

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 132
BLK_M, BLK_N, BLK_K = 128, 128, 64
CLUSTER = 2
NUM_CLUSTERS = SM_COUNT // CLUSTER
B_PART = BLK_N // CLUSTER
CONSUMER_WARPS = 4
PIPE_DEPTH = 6
DREG_N = BLK_M * BLK_N // 128
DTYPE_SIZE = 2
TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE


def hgemm_v9(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm_v9", multiple={"M": (M, BLK_M * CLUSTER), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            cbx, cby = Tx.cta_id([CLUSTER, 1], parent="cluster")
            warp_id = Tx.warp_id([CONSUMER_WARPS + 1], parent="cta")
            lane_id = Tx.thread_id([32], parent="warp")

            # A cluster computes every NUM_CLUSTERS-th tile in the scheduler's order. The lower half of them starts at
            # even tiles, so a cluster and its neighbours stay within 2 of the 4 rows of a group. m_st: this CTA's
            # rows of A and D. n_st: the columns of D, which are the rows of B, of both CTAs.
            cluster = Tx.meta_var(bx // CLUSTER)
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // (BLK_M * CLUSTER), num_n_tiles=N // BLK_N, l2_group_size=4,
                num_clusters=NUM_CLUSTERS,
            )
            tile_scheduler.init(cluster % (NUM_CLUSTERS // 2) * 2 + cluster // (NUM_CLUSTERS // 2))
            m_st = Tx.meta_var((tile_scheduler.m_idx * CLUSTER + cbx) * BLK_M)
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
            mma2tma.init(CLUSTER)
            Tx.ptx.fence.mbarrier_init()
            # After this, the barriers of both CTAs are initialised.
            Tx.cuda.cluster_sync()

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
                b_st = Tx.meta_var(cbx * B_PART)
                Tx.copy_async(
                    Bsmem[stage, b_st : b_st + B_PART, :],
                    B[n_st + b_st : n_st + b_st + B_PART, k_st : k_st + BLK_K],
                    cta_mask=(1 << CLUSTER) - 1, **tma,
                )

            @Tx.inline
            def release(stage):
                # Lane r signals CTA r.
                if warp_id == 0:
                    if lane_id < CLUSTER:
                        mma2tma.arrive(stage, cta_id=lane_id, pred=True)

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
                last: Tx.int32
                last = 0

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
                    # Once the last store has read Dsmem, all threads may overwrite it.
                    if warp_id == 0:
                        if lane_id == 0:
                            Tx.ptx.cp_async.bulk.wait_group(0, read=True)
                    with Tx.thread():
                        Tx.cast(Dreg_16b[:], Dreg[:])
                    Tx.cuda.warpgroup_sync(1)
                    # The copy ends with a fence in each thread, which makes its stores visible to TMA.
                    with Tx.warpgroup():
                        Tx.copy(Dsmem[:, :], D_16b[:, :])
                    Tx.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        if lane_id == 0:
                            Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                            Tx.ptx.cp_async.bulk.commit_group()

                while tile_scheduler.valid():
                    for k in range(K_TILES):
                        tma2mma.wait(mma_phase.stage, mma_phase.phase)
                        mma(mma_phase.stage, k)
                        with Tx.warpgroup():
                            Tx.ptx.wgmma.wait_group(1)
                        if k > 0:
                            release(last)
                        last = mma_phase.stage
                        mma_phase.move_to_next_stage()
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.wait_group(0)
                    release(last)
                    write_back()
                    tile_scheduler.next_tile()
                # The CTA must not exit before the last store has read shared memory.
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.cp_async.bulk.wait_group(0)

            # No CTA may exit while the other still loads into it or arrives at its barriers.
            Tx.cuda.cluster_sync()

    return kernel
