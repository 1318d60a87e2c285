"""Step 5 with phases computed from k, a dict of barriers, a 3-D Dsmem, a register view in TLane × TCol, `align`."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import TileLayout, S, TLane, TCol, tid_in_wg
from tvm.tirx.op_schedule.cuda.common import tma_shared_layout, SwizzleMode


def hgemm_v5(M, N, K, PIPE_DEPTH=2, EPI_N=64):
    dt, at = "float16", "float32"
    BLK_M, BLK_N, BLK_K = 128, 128, 64
    K_TILES = K // BLK_K
    PRE_NUM = PIPE_DEPTH if K_TILES >= PIPE_DEPTH else K_TILES
    HALVES = BLK_N // EPI_N
    BYTES = (BLK_M * BLK_K + BLK_N * BLK_K) * 2
    A_layout = tma_shared_layout(dt, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_M, BLK_K))
    B_layout = tma_shared_layout(dt, SwizzleMode.SWIZZLE_128B_ATOM, (PIPE_DEPTH, BLK_N, BLK_K))
    D_layout = tma_shared_layout(dt, SwizzleMode.SWIZZLE_128B_ATOM, (HALVES, BLK_M, EPI_N))

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dt), B: Tx.Buffer((N, K), dt), D: Tx.Buffer((M, N), dt)):
        with Tx.kernel():
            bx, by = Tx.cta_id([M // BLK_M, N // BLK_N], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            m_st = Tx.meta_var(bx * BLK_M)
            n_st = Tx.meta_var(by * BLK_N)
            m_end = Tx.meta_var(m_st + BLK_M)
            n_end = Tx.meta_var(n_st + BLK_N)
            tid = warp_id * 32 + lane_id

            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            bars = {name: pool.alloc((depth,), "uint64", align=8) for name, depth in [("tma", PIPE_DEPTH), ("mma", 1)]}
            pool.move_base_to(1024)
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dt, layout=A_layout)
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dt, layout=B_layout)
            Dsmem = pool.alloc((HALVES, BLK_M, EPI_N), dt, layout=D_layout)
            pool.commit()

            if warp_id == 0:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
            if warp_id == 0:
                if lane_id == 0:
                    for stage in range(PIPE_DEPTH):
                        Tx.ptx.mbarrier.init(bars["tma"].ptr_to([stage]), 1)
                    Tx.ptx.mbarrier.init(bars["mma"].ptr_to([0]), 1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()
            tmem = Tx.decl_buffer(
                (128, 512),
                at,
                scope="tmem",
                allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )

            @Tx.inline
            def load(stage, k):
                """Issue the loads of K tile k into a stage."""
                bar = bars["tma"].ptr_to([stage])
                k_st = Tx.meta_var(k * BLK_K)
                Tx.ptx.mbarrier.arrive.expect_tx(bar, BYTES)
                Tx.copy_async(
                    Asmem[stage, :, :], A[m_st:m_end, k_st : k_st + BLK_K], dispatch="tma", mbar=bar, cta_group=1
                )
                Tx.copy_async(
                    Bsmem[stage, :, :], B[n_st:n_end, k_st : k_st + BLK_K], dispatch="tma", mbar=bar, cta_group=1
                )

            if warp_id == 0:
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    for i in range(PRE_NUM):
                        load(i, i)
            for k in range(K_TILES):
                stage = k % PIPE_DEPTH
                phase = (k // PIPE_DEPTH) & 1
                Tx.ptx.mbarrier.try_wait(bars["tma"].ptr_to([stage]), phase)
                Tx.ptx.tcgen05.fence.after_thread_sync()
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        Tx.gemm_async(
                            tmem[:, 0:BLK_N],
                            Asmem[stage, :, :],
                            Bsmem[stage, :, :],
                            accum=(k > 0),
                            dispatch="tcgen05",
                            cta_group=1,
                        )
                        Tx.ptx.tcgen05.commit(bars["mma"].ptr_to([0]), cta_group=1)
                Tx.ptx.mbarrier.try_wait(bars["mma"].ptr_to([0]), k & 1)
                Tx.cuda.cta_sync()
                next_k = k + PIPE_DEPTH
                if next_k < K_TILES:
                    if warp_id == 0:
                        with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                            load(stage, next_k)
            Tx.ptx.tcgen05.fence.after_thread_sync()

            Dreg = Tx.alloc_local((BLK_N,), at)
            Dreg_16b = Tx.alloc_local((BLK_N,), dt)
            with Tx.warpgroup():
                Tx.copy(
                    Dreg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ TLane, 1 @ TCol)])), tmem[:, 0:BLK_N]
                )
            with Tx.thread():
                Tx.cast(Dreg_16b[:], Dreg[:])
                for h in Tx.unroll(HALVES):
                    Tx.copy(Dsmem[h, tid, :], Dreg_16b[h * EPI_N : (h + 1) * EPI_N])
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.cuda.warpgroup_sync(10)
            if tid == 0:
                for h in Tx.unroll(HALVES):
                    Tx.copy_async(
                        D[m_st:m_end, n_st + h * EPI_N : n_st + (h + 1) * EPI_N], Dsmem[h, :, :], dispatch="tma"
                    )
                Tx.ptx.cp_async.bulk.commit_group()
                Tx.ptx.cp_async.bulk.wait_group(0)
            Tx.cuda.cta_sync()
            if warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel


CASES = [
    (hgemm_v5, (128, 256, 320), {}),
    (hgemm_v5, (128, 128, 256), {"PIPE_DEPTH": 3, "EPI_N": 128}),
    (hgemm_v5, (128, 128, 64), {}),
]
