"""Step 4: TMA. One thread issues loads and stores of whole tiles, and hardware moves them.

A load completes on an mbarrier that counts its bytes. A store completes through a bulk group. Before it, the threads
that wrote the tile to shared memory make it visible to TMA, and synchronise.
"""

from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

BLK_M, BLK_N, BLK_K = 128, 128, 64
DREG_N = BLK_M * BLK_N // 128
DTYPE_SIZE = 2
TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE


def hgemm_v4(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm_v4", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))
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

            # Shared memory: the tiles, and the barrier for TMA. Registers: the accumulator and the result.
            pool = Tx.PoolAllocator()
            tma_bar = pool.alloc((1,), "uint64")
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)
            phase_tma: Tx.int32
            phase_tma = 0

            # One thread initialises the barrier, for one arrival.
            if warp_id == 0:
                if lane_id == 0:
                    Tx.ptx.mbarrier.init(tma_bar.ptr_to([0]), 1)
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            @Tx.inline
            def tma_load(k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "mbar": tma_bar.ptr_to([0])})
                Tx.copy_async(Asmem[:, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[:, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), TMA_BYTES)

            @Tx.inline
            def mma(k):
                with Tx.warpgroup():
                    Tx.ptx.wgmma.fence()
                    Tx.gemm_async(Dacc[:, :], Asmem[:, :], Bsmem[:, :], accum=(k != 0), dispatch="wgmma")
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

            for k in range(K_TILES):
                # The MMAs of all four warps have read the last tiles: wait_group waits for the whole warpgroup.
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        tma_load(k)
                Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([0]), phase_tma)
                phase_tma = phase_tma ^ 1
                mma(k)
            write_back()

    return kernel
