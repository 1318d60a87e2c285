"""Task a: a GEMM with bias and ReLU, whose N need not be a multiple of the tile.

The kernel of step 8 with one more column of tiles. TMA fills the rows of B beyond N with zeros, and leaves out the
columns of D beyond N; only the threads that read the bias have to compare with N. They keep the 128 numbers of a tile
in shared memory, where all lanes of a warp read the same one at a time.
"""

from tirx_mini.lang import ClusterPersistentScheduler2D, MBarrier, PipelineState, TCGen05Bar, TMABar
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 148
BLK_M, BLK_N, BLK_K = 128, 128, 64
WG_NUMBER = 2
PIPE_DEPTH = 4
TMEM_LD_N = 64
EPI_N = 64
DTYPE_SIZE = 2
TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE


def task_a(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K), bias (N,) and D (M, N)."""
    check_shape("task_a", multiple={"M": (M, BLK_M), "N": (N, 8), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(
        A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), bias: Tx.Buffer((N,), "float32"),
        D: Tx.Buffer((M, N), dtype),
    ):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            wg_id = Tx.warpgroup_id([WG_NUMBER], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # Each cluster is one CTA: CTA bx computes the tiles bx, bx + SM_COUNT, … in the scheduler's order.
            tile_scheduler = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // BLK_M, num_n_tiles=-(-N // BLK_N), l2_group_size=8, num_clusters=SM_COUNT
            )
            tile_scheduler.init(bx)
            m_st = Tx.meta_var(tile_scheduler.m_idx * BLK_M)
            n_st = Tx.meta_var(tile_scheduler.n_idx * BLK_N)

            # Shared memory: the barriers between the roles, the tiles, and the tensor-memory address from alloc.
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = TCGen05Bar(pool, PIPE_DEPTH, "mma2tma")
            mma2ld = TCGen05Bar(pool, 1, "mma2ld")
            ld2mma = MBarrier(pool, 1, "ld2mma")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, EPI_N), dtype, layout=D_layout)
            bias_smem = pool.alloc((BLK_N,), "float32")
            pool.commit()

            # init(n): n arrivals complete a phase. Thread 0 of the CTA executes it, so it must not be guarded.
            tma2mma.init(1)
            mma2tma.init(1)
            mma2ld.init(1)
            ld2mma.init(128)
            # A whole warp allocates tensor memory.
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            tmem = Tx.decl_buffer(
                (128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )
            Dreg = Tx.alloc_local((TMEM_LD_N,), "float32")
            Dreg_wg = Dreg.view(128, TMEM_LD_N, layout=TileLayout(S[(128, TMEM_LD_N) : (1 @ tid_in_wg, 1)]))
            Dreg_16b = Tx.alloc_local((BLK_N,), dtype)

            # One state per side: TMA and MMA step through the stages, MMA and write-back hand over tensor memory.
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            ld_phase = PipelineState("ld", 1)
            wb_phase = PipelineState("wb", 1)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)
            ld_phase.init(is_producer=True)
            wb_phase.init(is_producer=False)

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "cta_group": 1, "mbar": tma2mma.ptr_to([stage])})
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)
                tma2mma.arrive(stage, TMA_BYTES)

            @Tx.inline
            def mma(stage, k):
                Tx.gemm_async(
                    tmem[:, :BLK_N], Asmem[stage, :, :], Bsmem[stage, :, :],
                    accum=(k != 0), dispatch="tcgen05", cta_group=1,
                )
                mma2tma.arrive(stage, cta_group=1, cta_mask=1)

            @Tx.inline
            def read_bias():
                row = Tx.meta_var(warp_id * 32 + lane_id)
                bias_smem[row] = Tx.if_then_else(n_st + row < N, bias[n_st + row], Tx.float32(0))
                Tx.cuda.warpgroup_sync(1)

            @Tx.inline
            def read_tmem():
                for i in Tx.unroll(BLK_N // TMEM_LD_N):
                    with Tx.warpgroup():
                        Tx.copy(Dreg_wg[:, :], tmem[:, i * TMEM_LD_N : (i + 1) * TMEM_LD_N])
                    for j in Tx.unroll(TMEM_LD_N):
                        Dreg[j] = Tx.max(Dreg[j] + bias_smem[i * TMEM_LD_N + j], Tx.float32(0))
                    with Tx.thread():
                        Tx.cast(Dreg_16b[i * TMEM_LD_N : (i + 1) * TMEM_LD_N], Dreg[:])

            @Tx.inline
            def store():
                for i in Tx.unroll(BLK_N // EPI_N):
                    with Tx.thread():
                        Tx.copy(Dsmem[warp_id * 32 + lane_id, :], Dreg_16b[i * EPI_N : (i + 1) * EPI_N])
                        # TMA reads through the async proxy: each thread makes its own row visible to it.
                        Tx.ptx.fence.proxy_async("shared::cta")
                    Tx.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                            n_epi = Tx.meta_var(n_st + i * EPI_N)
                            Tx.copy_async(D[m_st : m_st + BLK_M, n_epi : n_epi + EPI_N], Dsmem[:, :], dispatch="tma")
                            Tx.ptx.cp_async.bulk.commit_group()
                            Tx.ptx.cp_async.bulk.wait_group(0)
                    # The next chunk overwrites Dsmem.
                    Tx.cuda.warpgroup_sync(1)

            if wg_id == 1:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        while tile_scheduler.valid():
                            for k in range(K_TILES):
                                mma2tma.wait(tma_phase.stage, tma_phase.phase)
                                tma_load(tma_phase.stage, k)
                                tma_phase.move_to_next_stage()
                            tile_scheduler.next_tile()
                        # The last arrivals at mma2tma follow the last load; the CTA must not exit before them.
                        for _ in range(PIPE_DEPTH):
                            mma2tma.wait(tma_phase.stage, tma_phase.phase)
                            tma_phase.move_to_next_stage()
                elif warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        while tile_scheduler.valid():
                            ld2mma.wait(ld_phase.stage, ld_phase.phase)
                            ld_phase.move_to_next_stage()
                            for k in range(K_TILES):
                                tma2mma.wait(mma_phase.stage, mma_phase.phase)
                                Tx.ptx.tcgen05.fence.after_thread_sync()
                                mma(mma_phase.stage, k)
                                mma_phase.move_to_next_stage()
                            mma2ld.arrive(0, cta_group=1, cta_mask=1)
                            tile_scheduler.next_tile()
            elif wg_id == 0:
                while tile_scheduler.valid():
                    read_bias()
                    mma2ld.wait(wb_phase.stage, wb_phase.phase)
                    wb_phase.move_to_next_stage()
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    read_tmem()
                    # The tile is in registers: the MMA warp may start the next one during the store.
                    Tx.ptx.tcgen05.fence.before_thread_sync()
                    ld2mma.arrive(0)
                    store()
                    tile_scheduler.next_tile()

            # All warps must have read tensor memory before it is deallocated.
            Tx.cuda.cta_sync()
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel
