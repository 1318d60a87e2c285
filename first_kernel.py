"""A complete kernel with one wrong line, and the first task of the course: find it (docs/steps/step01.md).

It computes D = A @ B.T for one tile, M = N = 128 and K = 64, in the seven parts that step 1 of gemm_kernels.py has.
"""

# For editors: the annotations of kernels are values.
# pyright: basic, reportInvalidTypeForm=false

from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as Tx
from utils import check_shape

BLK_M, BLK_N, BLK_K = 128, 128, 64


def hgemm_v1(M, N, K, dtype="float16"):
    check_shape("hgemm_v1", exact={"M": (M, BLK_M), "N": (N, BLK_N), "K": (K, BLK_K)})
    A_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            # One CTA of four warps, 128 threads.
            bx, by = Tx.cta_id([1, 1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            mma_bar = pool.alloc((1,), "uint64")
            Asmem = pool.alloc((BLK_M, BLK_K), dtype, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), dtype, layout=B_layout)
            pool.commit()

            # 1. Allocate tensor memory. Initialise the barrier: how many arrivals complete a phase?
            if warp_id == 0:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
                if lane_id == 0:
                    Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 128)

            # 2. Make the barrier and the address visible to all threads.
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            tmem = Tx.decl_buffer(
                (128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )  # fmt: skip
            Dreg = Tx.alloc_local((BLK_N,), "float32")
            Dreg_wg = Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ tid_in_wg, 1)]))
            Dreg_16b = Tx.alloc_local((BLK_N,), dtype)
            phase_mma: Tx.int32
            phase_mma = 0

            # 3. All threads copy A and B to shared memory.
            with Tx.cta():
                Tx.copy(Asmem[:, :], A[:, :])
                Tx.copy(Bsmem[:, :], B[:, :])
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()

            # 4. One thread starts the multiplication. When it is complete, the tensor core arrives once at mma_bar.
            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    Tx.gemm_async(
                        tmem[:, :BLK_N], Asmem[:, :], Bsmem[:, :], accum=False, dispatch="tcgen05", cta_group=1
                    )
                    Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)

            # 5. All threads wait for it.
            Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)
            Tx.ptx.tcgen05.fence.after_thread_sync()

            # 6. Each thread reads its row of the result, casts it and stores it.
            with Tx.warpgroup():
                Tx.copy(Dreg_wg[:, :], tmem[:, :BLK_N])
            with Tx.thread():
                row = Tx.meta_var(warp_id * 32 + lane_id)
                Tx.cast(Dreg_16b[:], Dreg[:])
                Tx.copy(D[row, :], Dreg_16b[:])

            # 7. Free tensor memory.
            Tx.cuda.cta_sync()
            if warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel
