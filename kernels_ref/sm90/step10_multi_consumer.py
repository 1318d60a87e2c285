"""Step 10: two consumers. A CTA computes 128 × 256 of D, each consumer 64 rows, with all the accumulators it can hold.

    warpgroup 0, one thread    TMA                  loads tiles of A and B
    warpgroups 1, 2            MMA and write-back   warpgroup c: rows 64 (c - 1) … of A times all of B

Each tile of B in shared memory is multiplied twice, by instructions of the widest shape, so a load feeds more
arithmetic: that is worth more than sharing loads in a cluster, whose CTAs have to wait for one another. A consumer
stores its result in two halves through its part of Dsmem, and waits for a store only before it overwrites what that
reads: it goes on to the next tile meanwhile, and while one consumer stores, the tensor core works for the other.
"""

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 132
BLK_M, BLK_N, BLK_K = 128, 256, 64
NUM_CONSUMER = 2
WG_NUMBER = 1 + NUM_CONSUMER
WG_M = BLK_M // NUM_CONSUMER
PIPE_DEPTH = 4
EPI_N = 128
DREG_N = WG_M * BLK_N // 128
EPI_REGS = WG_M * EPI_N // 128
DTYPE_SIZE = 2
TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE
PRODUCER_REGS, CONSUMER_REGS = 24, 240


def hgemm_v10(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm_v10", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (NUM_CONSUMER, WG_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            wg_id = Tx.warpgroup_id([WG_NUMBER], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # Clusters of one CTA here: CTA bx computes the tiles bx, bx + SM_COUNT, … of the scheduler's order.
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // BLK_M, num_n_tiles=N // BLK_N, l2_group_size=8, num_clusters=SM_COUNT
            )
            tile_scheduler.init(bx)
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the barriers between the actors, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((NUM_CONSUMER, WG_M, EPI_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so no guard may stand around it.
            tma2mma.init(1)
            mma2tma.init(NUM_CONSUMER)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            # One state for each end: TMA and MMA step through the stages.
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

            if wg_id == 0:
                Tx.ptx.setmaxnreg.dec(PRODUCER_REGS)
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        while tile_scheduler.valid():
                            for k in range(K_TILES):
                                mma2tma.wait(tma_phase.stage, tma_phase.phase)
                                tma_load(tma_phase.stage, k)
                                tma_phase.move_to_next_stage()
                            tile_scheduler.next_tile()
            else:
                Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)
                Dreg = Tx.alloc_local((DREG_N,), "float32")
                Dacc = Dreg.view(WG_M, BLK_N, layout=wgmma_accumulator_layout(BLK_N))
                Dreg_16b = Tx.alloc_local((EPI_REGS,), dtype)
                D_16b = Dreg_16b.view(WG_M, EPI_N, layout=wgmma_accumulator_layout(EPI_N))
                consumer = Tx.meta_var(wg_id - 1)
                last: Tx.int32
                last = 0

                @Tx.inline
                def mma(stage, k):
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.fence()
                        Tx.gemm_async(
                            Dacc[:, :], Asmem[stage, consumer * WG_M : (consumer + 1) * WG_M, :], Bsmem[stage, :, :],
                            accum=(k != 0), dispatch="wgmma",
                        )
                        Tx.ptx.wgmma.commit_group()

                @Tx.inline
                def write_back():
                    for i in Tx.unroll(BLK_N // EPI_N):
                        # The last store has read Dsmem; then all threads of the warpgroup may overwrite it.
                        if warp_id == 0:
                            if lane_id == 0:
                                Tx.ptx.cp_async.bulk.wait_group(0, read=True)
                        Tx.cuda.warpgroup_sync(wg_id)
                        with Tx.thread():
                            Tx.cast(Dreg_16b[:], Dreg[i * EPI_REGS : (i + 1) * EPI_REGS])
                        # The copy ends with each thread's fence to the proxy through which TMA reads shared memory.
                        with Tx.warpgroup():
                            Tx.copy(Dsmem[consumer, :, :], D_16b[:, :])
                        Tx.cuda.warpgroup_sync(wg_id)
                        if warp_id == 0:
                            if lane_id == 0:
                                m_epi = Tx.meta_var(m_st + consumer * WG_M)
                                n_epi = Tx.meta_var(n_st + i * EPI_N)
                                out = Tx.meta_var(D[m_epi : m_epi + WG_M, n_epi : n_epi + EPI_N])
                                Tx.copy_async(out, Dsmem[consumer, :, :], dispatch="tma")
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
                # Shared memory must be there until the last store has read it.
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.cp_async.bulk.wait_group(0)

    return kernel
