"""Step 2: a loop over K. D = A @ B.T for M = N = 128 and any K that is a multiple of 64.

Each iteration loads the next 64 columns of A and B and adds their product to the accumulator. All iterations use the
same tiles in shared memory: the MMAs that read them must complete before any thread copies the next ones.
"""

from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

BLK_M, BLK_N, BLK_K = 128, 128, 64
DREG_N = BLK_M * BLK_N // 128


def hgemm_v2(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm_v2", exact={"M": (M, BLK_M), "N": (N, BLK_N)}, multiple={"K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))
    D_fragment = wgmma_accumulator_layout(BLK_N, BLK_M)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([1, 1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # Shared memory: the operand tiles. Registers: the accumulator in float32, and the result in 16 bits.
            pool = Tx.PoolAllocator()
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()
            Dreg = Tx.alloc_local((DREG_N,), "float32")
            Dacc = Dreg.view(BLK_M, BLK_N, layout=D_fragment)
            Dreg_16b = Tx.alloc_local((DREG_N,), dtype)
            D_16b = Dreg_16b.view(BLK_M, BLK_N, layout=D_fragment)

            for k in range(K_TILES):
                # Load. The barrier ensures that all threads have stored their part before any warp issues the MMAs.
                with Tx.cta():
                    Tx.copy(Asmem[:, :], A[:, k * BLK_K : (k + 1) * BLK_K])
                    Tx.copy(Bsmem[:, :], B[:, k * BLK_K : (k + 1) * BLK_K])
                Tx.cuda.cta_sync()

                # Multiply. The tensor core owns the registers from the fence until the wait.
                with Tx.warpgroup():
                    Tx.ptx.wgmma.fence()
                    Tx.gemm_async(Dacc[:, :], Asmem[:, :], Bsmem[:, :], accum=(k != 0), dispatch="wgmma")
                    Tx.ptx.wgmma.commit_group()
                    Tx.ptx.wgmma.wait_group(0)
                # The next copies overwrite the operands of these MMAs. wait_group has waited for all four warps, so
                # the barrier only shows where the tiles change hands.
                Tx.cuda.cta_sync()

            # Write back: each thread stores its own elements.
            with Tx.thread():
                Tx.cast(Dreg_16b[:], Dreg[:])
            with Tx.warpgroup():
                Tx.copy(D[:, :], D_16b[:, :])

    return kernel
