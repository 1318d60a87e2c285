"""Step 1 as the handout describes it."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import TileLayout, tid_in_wg as axis_tid_in_wg, TLane, TCol, S
from tvm.tirx.op_schedule.cuda.common import tma_shared_layout, SwizzleMode


def hgemm_v1(M, N, K):
    a_type = tvm.DataType("float16")
    b_type = tvm.DataType("float16")
    d_type = tvm.DataType("float16")
    acc_type = tvm.DataType("float32")

    BLK_M, BLK_N, BLK_K = 128, 128, 64

    A_layout = tma_shared_layout(a_type, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_M, BLK_K))
    B_layout = tma_shared_layout(b_type, SwizzleMode.SWIZZLE_128B_ATOM, (BLK_N, BLK_K))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), a_type), B: Tx.Buffer((N, K), b_type), D: Tx.Buffer((M, N), d_type)):
        """The whole problem is one tile, computed by a single CTA."""
        with Tx.kernel():
            bx, by = Tx.cta_id([1, 1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            m_st = Tx.meta_var(bx * BLK_M)
            n_st = Tx.meta_var(by * BLK_N)

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            mma_bar = pool.alloc((1,), "uint64", align=8)
            pool.move_base_to(1024)
            Asmem = pool.alloc((BLK_M, BLK_K), a_type, layout=A_layout)
            Bsmem = pool.alloc((BLK_N, BLK_K), b_type, layout=B_layout)
            pool.commit()

            # tensor memory and the barrier
            if warp_id == 0:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
                if lane_id == 0:
                    Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()

            tmem = Tx.decl_buffer(
                (128, 512),
                acc_type,
                scope="tmem",
                allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )
            phase_mma: Tx.int32
            phase_mma = 0

            with Tx.cta():
                Tx.copy(Asmem[:, :], A[m_st : m_st + BLK_M, 0:BLK_K])
                Tx.copy(Bsmem[:, :], B[n_st : n_st + BLK_N, 0:BLK_K])
            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()

            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    Tx.gemm_async(
                        tmem[:, :BLK_N], Asmem[:, :], Bsmem[:, :], accum=False, dispatch="tcgen05", cta_group=1
                    )
                    Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)

            Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)
            Tx.ptx.tcgen05.fence.after_thread_sync()

            Dreg = Tx.alloc_local((BLK_N,), acc_type)
            Dreg_16b = Tx.alloc_local((BLK_N,), d_type)
            Dreg_wg = Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ axis_tid_in_wg, 1)]))
            with Tx.warpgroup():
                Tx.copy(Dreg_wg, tmem[:, :BLK_N])
            with Tx.thread():
                Tx.cast(Dreg_16b, Dreg)
                row = Tx.meta_var(m_st + warp_id * 32 + lane_id)
                Tx.copy(D[row, n_st : n_st + BLK_N], Dreg_16b)
            Tx.cuda.cta_sync()
            if warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel


CASES = [(hgemm_v1, (128, 128, 64), {})]
