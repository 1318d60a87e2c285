"""Step 4 with Dsmem over Asmem and Bsmem, nested inline functions, one outside the kernel, and `nonlocal`."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import TileLayout, S, TLane, TCol
from tvm.tir.layout import tid_in_wg as axis_tid_in_wg
from tvm.tirx.op_schedule.cuda.common import tma_shared_layout, SwizzleMode

F16_BYTES = 2


@Tx.inline
def init_barriers(*bars):
    for bar in bars:
        Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
    Tx.ptx.fence.mbarrier_init()


def rows_of(tile, start, count):
    """A plain Python helper: the slice of rows."""
    return slice(start, start + count)


def hgemm_v4(M, N, K):
    a_type = b_type = d_type = "float16"
    BLK_M, BLK_N, BLK_K = 128, 128, 64
    K_TILES = K // BLK_K
    lay = lambda shape: tma_shared_layout(a_type, SwizzleMode.SWIZZLE_128B_ATOM, shape)

    # fmt: off
    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), a_type), B: Tx.Buffer((N, K), b_type), D: Tx.Buffer((M, N), d_type)):
        with Tx.kernel():
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid = Tx.meta_var(warp_id * 32 + lane_id)
            m_st = Tx.meta_var(bx * BLK_M)
            n_st = Tx.meta_var(by * BLK_N)

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            tma_bar = pool.alloc((1,), "uint64", align=8)
            mma_bar = pool.alloc((1,), "uint64", align=8)
            pool.move_base_to(1024)
            Asmem = pool.alloc((BLK_M, BLK_K), a_type, layout=lay((BLK_M, BLK_K)))
            Bsmem = pool.alloc((BLK_N, BLK_K), b_type, layout=lay((BLK_N, BLK_K)))
            pool.move_base_to(1024)
            Dsmem = pool.alloc((BLK_M, BLK_N), d_type, layout=lay((BLK_M, BLK_N)))
            pool.commit()

            with Tx.warpgroup():
                if warp_id == 0:
                    Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
                with Tx.thread(parent="warpgroup")[tid == 0]:
                    init_barriers(tma_bar, mma_bar)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.cuda.cta_sync()
            tmem = Tx.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=0,
                                  layout=TileLayout(S[(128, 512) : (1@TLane, 1@TCol)]))

            phase_tma: Tx.int32 = 0
            phase_mma: Tx.int32 = 0
            Dreg = Tx.alloc_local((BLK_N,), "float32")
            Dreg_wg = Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1@axis_tid_in_wg, 1)]))
            Dreg_16b = Tx.alloc_local((BLK_N,), d_type)

            @Tx.inline
            def tma_load(k_st):
                tma_config = {"dispatch": "tma", "cta_group": 1, "mbar": tma_bar.ptr_to([0])}

                @Tx.inline
                def one(dst, src, st, blk):
                    Tx.copy_async(dst[:, :], src[rows_of(dst, st, blk), k_st:k_st + BLK_K], **tma_config)

                one(Asmem, A, m_st, BLK_M)
                one(Bsmem, B, n_st, BLK_N)
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([0]), (BLK_M + BLK_N) * BLK_K * F16_BYTES)

            @Tx.inline
            def mma(accum):
                Tx.gemm_async(tmem[:, 0:BLK_N], Asmem, Bsmem, accum=accum, dispatch="tcgen05", cta_group=1)
                Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)

            @Tx.inline
            def wait_all():
                nonlocal phase_tma, phase_mma
                Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase_mma)
                phase_tma ^= 1
                phase_mma ^= 1

            for k in range(K_TILES):
                with Tx.thread(parent="warpgroup")[tid == 0]:
                    tma_load(k * BLK_K)
                Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([0]), phase_tma)
                Tx.ptx.tcgen05.fence.after_thread_sync()
                with Tx.thread(parent="warpgroup")[tid == 0]:
                    mma(k != 0)
                wait_all()
                Tx.cuda.cta_sync()

            Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()
            with Tx.warpgroup():
                Tx.copy(Dreg_wg[:, :], tmem[:, 0:BLK_N])
            with Tx.thread():
                Tx.cast(Dreg_16b[:], Dreg[:])
                Tx.copy(Dsmem[tid, :], Dreg_16b[:])
                Tx.ptx.fence.proxy_async("shared::cta")
            Tx.cuda.cta_sync()
            with Tx.thread(parent="warpgroup")[tid == 0]:
                Tx.copy_async(D[m_st:m_st + BLK_M, n_st:n_st + BLK_N], Dsmem[:, :], dispatch="tma")
                Tx.ptx.cp_async.bulk.commit_group()
                Tx.ptx.cp_async.bulk.wait_group(0)
            Tx.cuda.cta_sync()
            if warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)
    # fmt: on

    return kernel


CASES = [(hgemm_v4, (256, 256, 192), {})]
