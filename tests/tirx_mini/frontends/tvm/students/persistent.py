"""Step 6 with constants in a class, phases in register arrays, conditional expressions and Python loops over tiles."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import TileLayout, S, TLane, TCol, tid_in_wg as axis_tid_in_wg
from tvm.tirx.op_schedule.cuda.common import tma_shared_layout, SwizzleMode
from tvm.tirx.tile_scheduler import ClusterPersistentScheduler2D

SM_COUNT = 148


class Cfg:
    M, N, K = 128, 128, 64
    DEPTH = 2
    EPI = 64


def hgemm_v6(M, N, K, sm_count=3):
    c = Cfg
    K_TILES = K // c.K
    dtype = tvm.DataType("float16")

    def swz(*shape):
        return tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, shape)

    A_layout, B_layout, D_layout = swz(c.DEPTH, c.M, c.K), swz(c.DEPTH, c.N, c.K), swz(c.M, c.EPI)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([sm_count], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid = Tx.meta_var(warp_id * 32 + lane_id)
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            tma_bar = pool.alloc((c.DEPTH,), "uint64")
            mma_bar = pool.alloc((c.DEPTH,), "uint64")
            pool.move_base_to(1024)
            Asmem = pool.alloc((c.DEPTH, c.M, c.K), dtype, layout=A_layout)
            Bsmem = pool.alloc((c.DEPTH, c.N, c.K), dtype, layout=B_layout)
            Dsmem = pool.alloc((c.M, c.EPI), dtype, layout=D_layout)
            pool.commit()

            if warp_id == 0:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
            with Tx.thread(parent="warpgroup")[tid == 0]:
                for i in Tx.unroll(c.DEPTH):
                    Tx.ptx.mbarrier.init(tma_bar.ptr_to([i]), 1)
                    Tx.ptx.mbarrier.init(mma_bar.ptr_to([i]), 1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()
            tmem = Tx.decl_buffer(
                (128, 512),
                "float32",
                scope="tmem",
                allocated_addr=tmem_addr[0],
                layout=TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)]),
            )

            phase_tma = Tx.alloc_local((c.DEPTH,), "int32")
            phase_mma = Tx.alloc_local((c.DEPTH,), "int32")
            for i in range(c.DEPTH):
                phase_tma[i] = 0
                phase_mma[i] = 0
            reg = Tx.alloc_local((c.N,), "float32")
            reg_wg = reg.view(128, c.N, layout=TileLayout(S[(128, c.N) : (1 @ axis_tid_in_wg, 1)]))
            reg_16b = Tx.alloc_local((c.N,), dtype)

            sched = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // c.M, num_n_tiles=N // c.N, l2_group_size=8, num_clusters=sm_count
            )
            sched.init(bx)
            m_st, n_st = Tx.meta_var(sched.m_idx * c.M), Tx.meta_var(sched.n_idx * c.N)

            @Tx.inline
            def tma_load(stage, k):
                for dst, src, st in [(Asmem, A, m_st), (Bsmem, B, n_st)]:
                    Tx.copy_async(
                        dst[stage, :, :],
                        src[st : st + 128, k * c.K : (k + 1) * c.K],
                        dispatch="tma",
                        cta_group=1,
                        mbar=tma_bar.ptr_to([stage]),
                    )
                Tx.ptx.mbarrier.arrive.expect_tx(tma_bar.ptr_to([stage]), 2 * 128 * c.K * 2)

            while sched.valid():
                with Tx.thread(parent="warpgroup")[tid == 0]:
                    for s in range(min(c.DEPTH, K_TILES)):
                        tma_load(s, s)
                for k in range(K_TILES):
                    stage = k % c.DEPTH
                    Tx.ptx.mbarrier.try_wait(tma_bar.ptr_to([stage]), phase_tma[stage])
                    phase_tma[stage] ^= 1
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    with Tx.thread(parent="warpgroup")[tid == 0]:
                        Tx.gemm_async(
                            tmem[:, 0 : c.N],
                            Asmem[stage, :, :],
                            Bsmem[stage, :, :],
                            accum=k != 0,
                            dispatch="tcgen05",
                            cta_group=1,
                        )
                        Tx.ptx.tcgen05.commit(mma_bar.ptr_to([stage]), cta_group=1)
                    Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([stage]), phase_mma[stage])
                    phase_mma[stage] ^= 1
                    Tx.cuda.cta_sync()
                    if k + c.DEPTH < K_TILES:
                        with Tx.thread(parent="warpgroup")[tid == 0]:
                            tma_load(stage, k + c.DEPTH)
                Tx.ptx.tcgen05.fence.after_thread_sync()
                with Tx.warpgroup():
                    Tx.copy(reg_wg[:, :], tmem[:, 0 : c.N])
                with Tx.thread():
                    Tx.cast(reg_16b[:], reg[:])
                for e in Tx.unroll(c.N // c.EPI):
                    Tx.copy(Dsmem[tid, :], reg_16b[e * c.EPI : (e + 1) * c.EPI])
                    Tx.ptx.fence.proxy_async("shared::cta")
                    Tx.cuda.cta_sync()
                    with Tx.thread(parent="warpgroup")[tid == 0]:
                        n_off = Tx.meta_var(n_st + e * c.EPI)
                        Tx.copy_async(D[m_st : m_st + c.M, n_off : n_off + c.EPI], Dsmem[:, :], dispatch="tma")
                        Tx.ptx.cp_async.bulk.commit_group()
                        Tx.ptx.cp_async.bulk.wait_group(0)
                    Tx.cuda.cta_sync()
                sched.next_tile()
            Tx.cuda.cta_sync()
            if warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel


CASES = [(hgemm_v6, (384, 256, 192), {}), (hgemm_v6, (128, 128, 64), {"sm_count": 148})]
