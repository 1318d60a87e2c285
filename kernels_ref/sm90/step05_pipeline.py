"""Step 5: a pipeline of two stages. While the tensor core multiplies the tiles of one stage, TMA loads the other stage.

Each stage has its own tiles and its own barrier. The phase flips each time `stage` wraps around to 0.
"""

from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

BLK_M, BLK_N, BLK_K = 128, 128, 64
PIPE_DEPTH = 2
DREG_N = BLK_M * BLK_N // 128
DTYPE_SIZE = 2
TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE


def hgemm_v5(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm_v5", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    PRE_NUM = min(PIPE_DEPTH, K_TILES)
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            m_st = Tx.meta_var(bx * BLK_M)
            n_st = Tx.meta_var(by * BLK_N)

            # Shared memory: the tiles, and the barriers for TMA. Registers: the accumulator and the result.
            pool = Tx.PoolAllocator()
            tma_bar = pool.alloc((PIPE_DEPTH,), "uint64")
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)
            stage: Tx.int32
            phase_tma: Tx.int32
            stage = 0
            phase_tma = 0

            # One thread initialises each barrier, for one arrival.
            if warp_id == 0:
                if lane_id == 0:
                    for i in Tx.unroll(PIPE_DEPTH):
                        Tx.ptx.mbarrier.init(tma_bar.ptr_to([i]), 1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            @Tx.inline
            def tma_load(stage, k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma_bar.ptr_to([stage])})
                Tx.copy_async(Asmem[stage, :, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[stage, :, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([stage]), TMA_BYTES)

            @Tx.inline
            def mma(stage, k):
                with Tx.warpgroup():
                    Tx.ptx.wgmma.fence()
                    Tx.gemm_async(
                        Dacc[:, :], Asmem[stage, :, :], Bsmem[stage, :, :], accum=(k != 0), dispatch="wgmma"
                    )
                    Tx.ptx.wgmma.commit_group()
                    Tx.ptx.wgmma.wait_group(0)

            @Tx.inline
            def write_back():
                with Tx.thread():
                    Tx.cast(Dreg_16b[:], Dreg[:])
                # The copy ends with a fence in each thread, which makes its stores visible to TMA.
                with Tx.warpgroup():
                    Tx.copy(Dsmem[:, :], D_16b[:, :])
                Tx.cuda.cta_sync()
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                        Tx.ptx.cp_async.bulk.commit_group()
                        Tx.ptx.cp_async.bulk.wait_group(0)

            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    for k in range(PRE_NUM):
                        tma_load(k, k)
            for k in range(K_TILES):
                Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), phase_tma)
                mma(stage, k)
                # The MMAs of all four warps have read this stage; the other stage is still loading.
                if k + PIPE_DEPTH < K_TILES:
                    if warp_id == 0:
                        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                            tma_load(stage, k + PIPE_DEPTH)
                stage = (stage + 1) % PIPE_DEPTH
                if stage == 0:
                    phase_tma = phase_tma ^ 1
            write_back()

    return kernel
