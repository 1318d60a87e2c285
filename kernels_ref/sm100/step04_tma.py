"""Step 4: TMA. One thread issues the loads, the MMAs and the store; hardware moves the tiles.

A TMA load signals an mbarrier with the number of bytes that have landed, and expect_tx gives the number to wait for. A
TMA store has no barrier: its thread commits it to a bulk group and waits for the group. TMA stores the tile of D from
shared memory, where it becomes visible to TMA when each writing thread executes fence.proxy_async.
"""

from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

BLK_M, BLK_N, BLK_K = 128, 128, 64
DTYPE_SIZE = 2
TMA_BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * DTYPE_SIZE


def hgemm_v4(M, N, K, dtype="float16"):
    """A kernel for A (M, K), B (N, K) and D (M, N) of `dtype`; float32 accumulation."""
    check_shape("hgemm_v4", multiple={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    K_TILES = K // BLK_K
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))
    D_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            m_st = Tx.meta_var(bx * BLK_M)
            n_st = Tx.meta_var(by * BLK_N)

            # Shared memory: the tiles, the barriers for TMA and MMA, and the tensor-memory address from alloc.
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            tma_bar = pool.alloc((1,), "uint64")
            mma_bar = pool.alloc((1,), "uint64")
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            Dsmem = pool.alloc((BLK_M, BLK_N), dtype, layout=D_layout)
            pool.commit()

            # A whole warp allocates tensor memory. One thread initialises each barrier, for one arrival.
            if warp_id == 0:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
                if lane_id == 0:
                    Tx.ptx.mbarrier.init(tma_bar.ptr_to([0]), 1)
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
            phase_tma: Tx.int32
            phase_mma: Tx.int32
            phase_tma = 0
            phase_mma = 0

            @Tx.inline
            def tma_load(k):
                k_st = Tx.meta_var(k * BLK_K)
                tma = Tx.meta_var({"dispatch": "tma", "cta_group": 1, "mbar": tma_bar.ptr_to([0])})
                Tx.copy_async(Asmem[:, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K], **tma)
                Tx.copy_async(Bsmem[:, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K], **tma)
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), TMA_BYTES)

            @Tx.inline
            def mma(k):
                Tx.gemm_async(
                    tmem[:, :BLK_N], Asmem[:, :], Bsmem[:, :], accum=(k != 0), dispatch="tcgen05", cta_group=1
                )
                Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)

            @Tx.inline
            def write_back():
                # Only the elected thread has waited for the last MMA; at the barrier, the others wait for it.
                Tx.cuda.cta_sync()
                Tx.ptx.tcgen05.fence.after_thread_sync()
                with Tx.warpgroup():
                    Tx.copy(Dreg_wg[:, :], tmem[:, :BLK_N])
                with Tx.thread():
                    Tx.cast(Dreg_16b[:], Dreg[:])
                    Tx.copy(Dsmem[warp_id * 32 + lane_id, :], Dreg_16b[:])
                    # TMA reads through the async proxy: each thread makes its own row visible to it.
                    Tx.ptx.fence.proxy_async("shared::cta")
                Tx.cuda.cta_sync()
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        Tx.copy_async(D[m_st : m_st + BLK_M, n_st : n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                        Tx.ptx.cp_async.bulk.commit_group()
                        Tx.ptx.cp_async.bulk.wait_group(0)

            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    for k in range(K_TILES):
                        tma_load(k)
                        Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([0]), phase_tma)
                        phase_tma = phase_tma ^ 1
                        Tx.ptx.tcgen05.fence.after_thread_sync()
                        mma(k)
                        # The next load overwrites the operands of this MMA.
                        Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)
                        phase_mma = phase_mma ^ 1
            write_back()

            # All warps must have read tensor memory before it is deallocated.
            Tx.cuda.cta_sync()
            if warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel
