"""Step 1: one tile. A CTA of one warpgroup (four warps) computes D = A @ B.T for M = N = 128 and K = 64.

global memory -> shared memory     all 128 threads copy
shared memory -> registers         the warpgroup issues MMAs to the tensor core
registers     -> global memory     each thread casts and stores its own elements

The tensor core distributes its result over the registers of the warpgroup: warp w holds rows 16w … 16w + 15 of every 64
rows, and each thread two adjacent columns of every eight. The layout of Dacc describes this mapping.
"""

from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

BLK_M, BLK_N, BLK_K = 128, 128, 64
DREG_N = BLK_M * BLK_N // 128


def hgemm_v1(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm_v1", exact={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
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

            # Load. The barrier ensures that all threads have stored their part before any warp issues the MMAs.
            with Tx.cta():
                Tx.copy(Asmem[:, :], A[:, :])
                Tx.copy(Bsmem[:, :], B[:, :])
            Tx.cuda.cta_sync()

            # Multiply. The tensor core owns the registers from the fence until the wait.
            with Tx.warpgroup():
                Tx.ptx.wgmma.fence()
                Tx.gemm_async(Dacc[:, :], Asmem[:, :], Bsmem[:, :], accum=False, dispatch="wgmma")
                Tx.ptx.wgmma.commit_group()
                Tx.ptx.wgmma.wait_group(0)

            # Write back: each thread stores its own elements.
            with Tx.thread():
                Tx.cast(Dreg_16b[:], Dreg[:])
            with Tx.warpgroup():
                Tx.copy(D[:, :], D_16b[:, :])

    return kernel
