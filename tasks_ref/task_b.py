"""Task b: split-K, for a D of few tiles and a long K.

With one CTA for each tile of D, most SMs have no work. Here each tile has as many CTAs as the GPU has room for, and
each of them multiplies its own share of the K tiles. TMA adds their float32 sums to D in the L2, in any order: a bulk
reduction of a tile is one instruction, and D holds zeros before.
"""

from tirx_mini.lang import PipelineState, TCGen05Bar, TMABar
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

SM_COUNT = 148
BLK_M, BLK_N, BLK_K = 128, 128, 64
WG_NUMBER = 2
PIPE_DEPTH = 4
EPI_N = 32
DTYPE_SIZE = 2
TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE


def task_b(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) of `dtype`, and a D (M, N) of float32 that holds zeros."""
    check_shape("task_b", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    M_TILES, N_TILES = M // BLK_M, N // BLK_N
    SPLITS = max(1, min(K_TILES, SM_COUNT // (M_TILES * N_TILES)))
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout("float32", SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N // EPI_N, BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), "float32")):
        with Tx.kernel():
            split, m_idx, n_idx = Tx.cta_id([SPLITS, M_TILES, N_TILES], parent="kernel")
            wg_id = Tx.warpgroup_id([WG_NUMBER], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # The shares differ by at most one K tile, and each has one at least.
            k_first = Tx.meta_var(split * K_TILES // SPLITS)
            k_tiles = Tx.meta_var((split + 1) * K_TILES // SPLITS - k_first)
            m_st = Tx.meta_var(m_idx * BLK_M)
            n_st = Tx.meta_var(n_idx * BLK_N)

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = TCGen05Bar(pool, PIPE_DEPTH, "mma2tma")
            mma2ld = TCGen05Bar(pool, 1, "mma2ld")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_N // EPI_N, BLK_M, EPI_N), "float32", layout=D_layout)
            pool.commit()

            tma2mma.init(1)
            mma2tma.init(1)
            mma2ld.init(1)
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=128, cta_group=1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            tmem = Tx.decl_buffer(
                (128, 128), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 128) : (1 @ TLane, 1 @ TCol)]),
            )
            Dreg = Tx.alloc_local((EPI_N,), "float32")
            Dreg_wg = Dreg.view(128, EPI_N, layout=TileLayout(S[(128, EPI_N) : (1 @ tid_in_wg, 1)]))
            tma_phase = PipelineState("tma", PIPE_DEPTH)
            mma_phase = PipelineState("mma", PIPE_DEPTH)
            tma_phase.init(is_producer=True)
            mma_phase.init(is_producer=False)

            if wg_id == 1:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        for k in range(k_tiles):
                            k_st = Tx.meta_var((k_first + k) * BLK_K)
                            stage = Tx.meta_var(tma_phase.stage)
                            mma2tma.wait(stage, tma_phase.phase)
                            tma = Tx.meta_var({"dispatch": "tma", "cta_group": 1, "mbar": tma2mma.ptr_to([stage])})
                            Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                            Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)
                            tma2mma.arrive(stage, TMA_BYTES)
                            tma_phase.move_to_next_stage()
                        for _ in range(PIPE_DEPTH):
                            mma2tma.wait(tma_phase.stage, tma_phase.phase)
                            tma_phase.move_to_next_stage()
                elif warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        for k in range(k_tiles):
                            tma2mma.wait(mma_phase.stage, mma_phase.phase)
                            Tx.ptx.tcgen05.fence.after_thread_sync()
                            Tx.gemm_async(
                                tmem[:, :BLK_N], Asmem[mma_phase.stage, :, :], Bsmem[mma_phase.stage, :, :],
                                accum=(k != 0), dispatch="tcgen05", cta_group=1,
                            )
                            mma2tma.arrive(mma_phase.stage, cta_group=1, cta_mask=1)
                            mma_phase.move_to_next_stage()
                        mma2ld.arrive(0, cta_group=1, cta_mask=1)
            elif wg_id == 0:
                mma2ld.wait(0, 0)
                Tx.ptx.tcgen05.fence.after_thread_sync()
                for i in Tx.unroll(BLK_N // EPI_N):
                    with Tx.warpgroup():
                        Tx.copy(Dreg_wg[:, :], tmem[:, i * EPI_N : (i + 1) * EPI_N])
                    with Tx.thread():
                        Tx.copy(Dsmem[i, warp_id * 32 + lane_id, :], Dreg[:])
                        Tx.ptx.fence.proxy_async("shared::cta")
                    Tx.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                            n_epi = Tx.meta_var(n_st + i * EPI_N)
                            Tx.copy_async(
                                D[m_st : m_st + BLK_M, n_epi : n_epi + EPI_N], Dsmem[i, :, :], dispatch="tma",
                                use_tma_reduce="add",
                            )
                            Tx.ptx.cp_async.bulk.commit_group()
                            if i == BLK_N // EPI_N - 1:
                                Tx.ptx.cp_async.bulk.wait_group(0)

            Tx.cuda.cta_sync()
            if wg_id == 0:
                if warp_id == 0:
                    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=128, cta_group=1)

    return kernel
