"""Step 1: one tile. A CTA of four warps computes D = A @ B.T for M = N = 128 and K = 64.

global memory -> shared memory     all 128 threads copy
shared memory -> tensor memory     one thread issues one MMA to the tensor core
tensor memory -> registers         the warpgroup reads; each thread gets one row
registers     -> global memory     each thread casts its row and stores it
"""

from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

BLK_M, BLK_N, BLK_K = 128, 128, 64


def hgemm_v1(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm_v1", exact={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([1, 1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            # Shared memory: the operand tiles, the barrier for the MMA, and the tensor-memory address from alloc.
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            mma_bar = pool.alloc((1,), "uint64")
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()

            # A whole warp allocates tensor memory. One thread initialises the barrier, for one arrival.
            if warp_id == 0:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
                if lane_id == 0:
                    Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            tmem = Tx.decl_buffer(
                (128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )
            Dreg = Tx.alloc_local((BLK_N,), "float32")
            Dreg_wg = Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ tid_in_wg, 1)]))
            Dreg_16b = Tx.alloc_local((BLK_N,), dtype)
            phase_mma: Tx.int32
            phase_mma = 0

            # Load. The barrier ensures that all threads have stored their part before one thread issues the MMA.
            with Tx.cta():
                Tx.copy(Asmem[:, :], A[:, :])
                Tx.copy(Bsmem[:, :], B[:, :])
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()

            # Multiply. After the commit, the tensor core arrives on mma_bar when the MMA has completed.
            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    Tx.gemm_async(
                        tmem[:, :BLK_N], Asmem[:, :], Bsmem[:, :], accum=False, dispatch="tcgen05", cta_group=1
                    )
                    Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)

            # Every thread waits, because every thread reads tensor memory next.
            Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)
            Tx.ptx.tcgen05.fence.after_thread_sync()

            # Write back: lane r of tensor memory holds row r of the tile; thread r of the warpgroup reads it.
            with Tx.warpgroup():
                Tx.copy(Dreg_wg[:, :], tmem[:, :BLK_N])
            with Tx.thread():
                row = Tx.meta_var(warp_id * 32 + lane_id)
                Tx.cast(Dreg_16b[:], Dreg[:])
                Tx.copy(D[row, :], Dreg_16b[:])

            # All warps must have read tensor memory before it is deallocated.
            Tx.cuda.cta_sync()
            if warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel
