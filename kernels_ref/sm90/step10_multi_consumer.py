"""Step 10: two consumers that take turns. Each computes its own tiles of D, from a shared pipeline.

    warpgroup 0, one thread    TMA                  loads the tiles of A and B for both, in the order of the tiles
    warpgroup 1                MMA and write-back   the even tiles of the CTA
    warpgroup 2                MMA and write-back   the odd tiles of the CTA

While one consumer multiplies, the other casts and stores, so the tensor core never waits for a write-back. A consumer
skips the stages of the other one, and `turn` prevents it from overtaking: a wait for a phase is only meaningful after
the previous phase has completed.

With no waits left inside an SM, the remaining losses are between SMs. The last wave of tiles seldom occupies every SM,
so the tile shape is chosen to minimise the total time of all waves. SMs that share a path to the L2 cache get tiles
that share rows of A and B. The kernel is launched while the previous one is still running.
"""

from math import ceil

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 132
TILES = ((128, 128), (128, 160), (128, 192), (64, 128))
BLK_K = 64
NUM_CONSUMER = 2
EPI_DEPTH = 2
WG_NUMBER = 1 + NUM_CONSUMER
WG_WARPS = 4
SMEM_BYTES = 226 * 1024
DTYPE_SIZE = 2
PRODUCER_REGS, CONSUMER_REGS = 24, 240


def tile_shape(M, N):
    """BLK_M, BLK_N: the tile of `TILES` with which the SMs finish M × N first."""

    def time(tile):
        rounds = ceil(ceil(M / tile[0]) * ceil(N / tile[1]) / SM_COUNT)
        # A tile takes time in proportion to its size. Large tiles reuse their operands more, which is worth a little.
        return rounds * (tile[0] * tile[1] + 512)

    return min(TILES, key=time)


def hgemm_v10(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm_v10", multiple={"M": (M, 64), "N": (N, 64), "K": (K, BLK_K)})
    BLK_M, BLK_N = tile_shape(M, N)
    # A tile may extend beyond the edge of D: there, TMA loads zeros and stores nothing.
    M_TILES, N_TILES, K_TILES = ceil(M / BLK_M), ceil(N / BLK_N), K // BLK_K
    EPI_M, EPI_N = 64, 64 if BLK_N == 128 else 32
    EPI_COLS = BLK_N // EPI_N
    EPI_REGS = EPI_M * EPI_N // 128
    DREG_N = BLK_M * BLK_N // 128
    TMA_BYTES = (BLK_M + BLK_N) * BLK_K * DTYPE_SIZE
    PIPE_DEPTH = (SMEM_BYTES - NUM_CONSUMER * EPI_DEPTH * EPI_M * EPI_N * DTYPE_SIZE) // TMA_BYTES
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_swizzle = SwizzleMode.SWIZZLE_64B_ATOM if EPI_N == 32 else SwizzleMode.SWIZZLE_128B_ATOM
    D_layout = tma_shared_layout(dtype, D_swizzle, (NUM_CONSUMER, EPI_DEPTH, EPI_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            wg_id = Tx.warpgroup_id([WG_NUMBER], parent="cta")
            warp_id = Tx.warp_id([WG_WARPS], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # A CTA computes every SM_COUNT-th tile in the scheduler's order; its two consumers alternate between them.
            # CTAs with neighbouring indices run close together. The lower half of them starts at even tiles, so that 16
            # neighbours have 4 rows × 4 columns of tiles, which need fewer rows of A and B than 8 × 2.
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M_TILES, num_n_tiles=N_TILES, l2_group_size=8, num_clusters=SM_COUNT
            )
            tile_scheduler.init(bx % (SM_COUNT // 2) * 2 + bx // (SM_COUNT // 2))
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the barriers between the roles, and the tiles.
            pool = Tx.PoolAllocator()
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = MBarrier(pool, PIPE_DEPTH, "mma2tma")
            turn = MBarrier(pool, NUM_CONSUMER, "turn")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((NUM_CONSUMER, EPI_DEPTH, EPI_M, EPI_N), dtype, layout=D_layout)
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so it must not be guarded.
            tma2mma.init(1)
            mma2tma.init(1)
            turn.init(WG_WARPS)
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

            if wg_id == 0:
                Tx.ptx.setmaxnreg.dec(PRODUCER_REGS)
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        # The previous kernel may still be running. All accesses to A, B and D depend on the loads, so
                        # only the loads have to wait for it.
                        Tx.ptx.griddepcontrol.wait()
                        while tile_scheduler.valid():
                            for k in range(K_TILES):
                                mma2tma.wait(tma_phase.stage, tma_phase.phase)
                                tma_load(tma_phase.stage, k)
                                tma_phase.move_to_next_stage()
                            tile_scheduler.next_tile()
            else:
                Tx.ptx.setmaxnreg.inc(CONSUMER_REGS)
                Dreg = Tx.alloc_local((DREG_N,), "float32")
                Dacc = Dreg.view(BLK_M, BLK_N, layout=wgmma_accumulator_layout(BLK_N, BLK_M))
                Dreg_16b = Tx.alloc_local((EPI_REGS,), dtype)
                D_16b = Dreg_16b.view(EPI_M, EPI_N, layout=wgmma_accumulator_layout(EPI_N))
                consumer = Tx.meta_var(wg_id - 1)
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
                    for i in Tx.unroll(BLK_M // EPI_M * EPI_COLS):
                        # Once the second-to-last store has read its buffer, all threads may overwrite it. (Every tile
                        # has an even number of parts, so the buffers alternate across tiles as well.)
                        if warp_id == 0:
                            if lane_id == 0:
                                Tx.ptx.cp_async.bulk.wait_group(EPI_DEPTH - 1, read=True)
                        Tx.cuda.warpgroup_sync(wg_id)
                        with Tx.thread():
                            Tx.cast(Dreg_16b[:], Dreg[i * EPI_REGS : (i + 1) * EPI_REGS])
                        # The copy ends with a fence in each thread, which makes its stores visible to TMA.
                        with Tx.warpgroup():
                            Tx.copy(Dsmem[consumer, i % EPI_DEPTH, :, :], D_16b[:, :])
                        Tx.cuda.warpgroup_sync(wg_id)
                        if warp_id == 0:
                            if lane_id == 0:
                                m_epi = Tx.meta_var(m_st + i // EPI_COLS * EPI_M)
                                n_epi = Tx.meta_var(n_st + i % EPI_COLS * EPI_N)
                                # Nothing reads D again, so the L2 cache need not keep it.
                                Tx.copy_async(
                                    D[m_epi : m_epi + EPI_M, n_epi : n_epi + EPI_N],
                                    Dsmem[consumer, i % EPI_DEPTH, :, :], dispatch="tma", cache_hint="evict_first",
                                )
                                Tx.ptx.cp_async.bulk.commit_group()

                turn_phase = PipelineState("turn", 1)
                turn_phase.init(is_producer=(consumer == 0))
                if consumer == 1:
                    tile_scheduler.next_tile()
                    mma_phase.skip(K_TILES)
                while tile_scheduler.valid():
                    turn.wait(consumer, turn_phase.phase)
                    turn_phase.move_to_next_stage()
                    for k in range(K_TILES):
                        tma2mma.wait(mma_phase.stage, mma_phase.phase)
                        mma(mma_phase.stage, k)
                        with Tx.warpgroup():
                            Tx.ptx.wgmma.wait_group(1)
                        if k > 0:
                            release(last)
                        last = mma_phase.stage
                        mma_phase.move_to_next_stage()
                    # One thread per warp: all four are past their waits when the other consumer starts.
                    if lane_id == 0:
                        turn.arrive(1 - consumer)
                    with Tx.warpgroup():
                        Tx.ptx.wgmma.wait_group(0)
                    release(last)
                    mma_phase.skip(K_TILES)
                    write_back()
                    tile_scheduler.next_tile()
                    tile_scheduler.next_tile()
                # The CTA must not exit before the last store has read shared memory.
                if warp_id == 0:
                    if lane_id == 0:
                        Tx.ptx.cp_async.bulk.wait_group(0)

    return kernel
