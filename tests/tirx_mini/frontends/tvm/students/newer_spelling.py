"""Step 8 in the names of Apache TVM 0.26: bound primitives, pipelines, pools and roles."""

import tvm
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import TileLayout, S, TLane, TCol, tid_in_wg, wg_local_layout
from tvm.tirx.lang.pipeline import MBarrier, Pipeline, PipelineState, TCGen05Bar, TMABar
from tvm.tirx.lang.tile_scheduler import ClusterPersistentScheduler2D
from tvm.tirx.lang.warp_role import WarpRole, WarpgroupRole
from tvm.backend.cuda.tile_primitive.tma_utils import SwizzleMode, mma_shared_layout

BLK, BLK_K, DEPTH, EPI = 128, 64, 4, 64


def gemm(M, N, K, SMS=2):
    D_layout = mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (BLK, EPI))

    @T.prim_func
    def kernel(A_ptr: T.handle, B_ptr: T.handle, D_ptr: T.handle):
        A = T.match_buffer(A_ptr, (M, K), "float16")
        B = T.match_buffer(B_ptr, (N, K), "float16")
        D = T.match_buffer(D_ptr, (M, N), "float16")
        T.device_entry()
        bx = T.cta_id([SMS])
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])
        tid = T.thread_id_in_wg([128])
        pool = T.SMEMPool()
        tmem_pool = T.TMEMPool(pool, total_cols=512)
        smem = Pipeline(pool, DEPTH, full="tma", empty="tcgen05")
        accum = Pipeline(pool, 1, full="tcgen05", empty="mbar", init_empty=128)
        pool.move_base_to(1024)
        Asmem = pool.alloc_tcgen05_mma_AB((DEPTH, BLK, BLK_K), "float16")
        Bsmem = pool.alloc_tcgen05_mma_AB((DEPTH, BLK, BLK_K), "float16")
        Dsmem = pool.alloc((BLK, EPI), "float16", layout=D_layout)
        pool.commit()
        tmem = tmem_pool.alloc((128, BLK), "float32")
        tmem_pool.commit()
        T.ptx.fence.proxy_async("shared::cta")
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        ts = ClusterPersistentScheduler2D("ts", M // BLK, N // BLK, SMS, l2_group_size=8)
        ts.init(bx)
        m_st = T.meta_var(ts.m_idx * BLK)
        n_st = T.meta_var(ts.n_idx * BLK)
        with WarpgroupRole(wg_id, 1):
            with WarpRole(warp_id, 3):
                if T.ptx.elect_sync():
                    st = PipelineState(DEPTH, phase=1)
                    while ts.valid():
                        for k in range(K // BLK_K):
                            smem.empty.wait(st.stage, st.phase)
                            Tx.copy_async(
                                Asmem[st.stage, :, :],
                                A[m_st : m_st + BLK, k * BLK_K : (k + 1) * BLK_K],
                                dispatch="tma",
                                mbar=smem.full.ptr_to([st.stage]),
                            )
                            Tx.copy_async(
                                Bsmem[st.stage, :, :],
                                B[n_st : n_st + BLK, k * BLK_K : (k + 1) * BLK_K],
                                dispatch="tma",
                                mbar=smem.full.ptr_to([st.stage]),
                            )
                            smem.full.arrive(st.stage, tx_count=2 * BLK * BLK_K * 2)
                            st.advance()
                        ts.next_tile()
            with WarpRole(warp_id, 0):
                if T.ptx.elect_sync():
                    st = PipelineState(DEPTH, phase=0)
                    acc = PipelineState(1, phase=1)
                    while ts.valid():
                        accum.empty.wait(0, acc.phase)
                        acc.advance()
                        T.ptx.tcgen05.fence.after_thread_sync()
                        for k in range(K // BLK_K):
                            smem.full.wait(st.stage, st.phase)
                            T.ptx.tcgen05.fence.after_thread_sync()
                            Tx.gemm_async(
                                tmem[:, :],
                                Asmem[st.stage, :, :],
                                Bsmem[st.stage, :, :],
                                accum=k != 0,
                                dispatch="tcgen05",
                                cta_group=1,
                            )
                            smem.empty.arrive(st.stage)
                            st.advance()
                        accum.full.arrive(0)
                        ts.next_tile()
        with WarpgroupRole(wg_id, 0):
            st = PipelineState(1, 0)
            while ts.valid():
                accum.full.wait(st.stage, st.phase)
                st.advance()
                T.ptx.tcgen05.fence.after_thread_sync()
                reg = T.wg_reg_tile(BLK, "float32")
                reg16 = T.wg_reg_tile(BLK, "float16")
                Tx.wg.copy_async(reg[:, :], tmem[:, :])
                T.ptx.tcgen05.wait.ld()
                T.ptx.tcgen05.fence.before_thread_sync()
                accum.empty.arrive(0)
                Tx.wg.cast(reg16, reg)
                for e in T.unroll(BLK // EPI):
                    Tx.wg.copy(Dsmem[:, :], reg16[:, e * EPI : (e + 1) * EPI])
                    T.ptx.fence.proxy_async("shared::cta")
                    T.cuda.warpgroup_sync(1)
                    with T.thread()[T.filter(tid, tid == 0)]:
                        Tx.copy_async(
                            D[m_st : m_st + BLK, n_st + e * EPI : n_st + (e + 1) * EPI], Dsmem[:, :], dispatch="tma"
                        )
                        T.ptx.cp_async.bulk.commit_group()
                        T.ptx.cp_async.bulk.wait_group(0)
                    T.cuda.warpgroup_sync(1)
                ts.next_tile()
        T.cuda.cta_sync()
        tmem_pool.dealloc()

    return kernel


CASES = [(gemm, (256, 384, 320), {})]
