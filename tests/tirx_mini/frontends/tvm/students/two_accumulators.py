"""Step 8 with two alternating accumulators, one arrival per warpgroup, and a Dsmem that is written during its store."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import TileLayout, S, TLane, TCol, tid_in_wg as axis_tid_in_wg
from tvm.tirx.op_schedule.cuda.common import tma_shared_layout, SwizzleMode
from tvm.tirx.tile_scheduler import ClusterPersistentScheduler2D
from tvm.tirx.pipeline import PipelineState, TMABar, TCGen05Bar, MBarrier


def gemm(M, N, K, SM_COUNT=3, PIPE_DEPTH=4, EPI_N=64):
    dt = "float16"
    BLK_M, BLK_N, BLK_K = 128, 128, 64
    K_TILES = K // BLK_K
    L = lambda *shape: tma_shared_layout(dt, SwizzleMode.SWIZZLE_128B_ATOM, shape)

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dt), B: Tx.Buffer((N, K), dt), D: Tx.Buffer((M, N), dt)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            wg_id = Tx.warpgroup_id([2], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid = Tx.thread_id([128], parent="warpgroup")
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            tma2mma = TMABar(pool, PIPE_DEPTH, name="tma2mma")
            mma2tma = TCGen05Bar(pool, PIPE_DEPTH, name="mma2tma")
            mma2ld = TCGen05Bar(pool, 2, name="mma2ld")
            ld2mma = MBarrier(pool, 2, name="ld2mma")
            pool.move_base_to(1024)
            Asmem = pool.alloc((PIPE_DEPTH, BLK_M, BLK_K), dt, layout=L(PIPE_DEPTH, BLK_M, BLK_K))
            Bsmem = pool.alloc((PIPE_DEPTH, BLK_N, BLK_K), dt, layout=L(PIPE_DEPTH, BLK_N, BLK_K))
            Dsmem = pool.alloc((2, BLK_M, EPI_N), dt, layout=L(2, BLK_M, EPI_N))
            pool.commit()
            tma2mma.init(1)
            mma2tma.init(1)
            mma2ld.init(1)
            ld2mma.init(1)
            if wg_id == 0 and warp_id == 0:
                Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr), n_cols=512, cta_group=1)
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
            ts = ClusterPersistentScheduler2D(
                "ts", num_m_tiles=M // BLK_M, num_n_tiles=N // BLK_N, l2_group_size=8, num_clusters=SM_COUNT
            )
            ts.init(bx)
            tile: Tx.int32 = 0  # tiles done by this CTA, which selects the accumulator
            st = PipelineState("st", PIPE_DEPTH)
            if wg_id == 0:
                reg = Tx.alloc_local((BLK_N,), "float32")
                reg_wg = reg.view(128, BLK_N, layout=TileLayout(S[(128, BLK_N) : (1 @ axis_tid_in_wg, 1)]))
                reg16 = Tx.alloc_local((BLK_N,), dt)
                while ts.valid():
                    slot = Tx.meta_var(tile % 2)
                    mma2ld.wait(slot, (tile // 2) & 1)
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    with Tx.warpgroup():
                        Tx.copy(reg_wg[:, :], tmem[:, slot * BLK_N : slot * BLK_N + BLK_N])
                    Tx.cast(reg16[:], reg[:])
                    Tx.ptx.tcgen05.fence.before_thread_sync()
                    Tx.cuda.warpgroup_sync(2)
                    if tid == 0:
                        ld2mma.arrive(slot)
                    for no in Tx.unroll(BLK_N // EPI_N):
                        buf = no % 2
                        if tid == 0:
                            Tx.ptx.cp_async.bulk.wait_group(1, read=True)
                        Tx.cuda.warpgroup_sync(1)
                        Tx.copy(Dsmem[buf, tid, :], reg16[no * EPI_N : (no + 1) * EPI_N])
                        Tx.ptx.fence.proxy_async("shared::cta")
                        Tx.cuda.warpgroup_sync(1)
                        if tid == 0:
                            row, col = ts.m_idx * BLK_M, ts.n_idx * BLK_N + no * EPI_N
                            Tx.copy_async(D[row : row + BLK_M, col : col + EPI_N], Dsmem[buf, :, :], dispatch="tma")
                            Tx.ptx.cp_async.bulk.commit_group()
                    tile += 1
                    ts.next_tile()
                if tid == 0:
                    Tx.ptx.cp_async.bulk.wait_group(0)
            elif warp_id == 3:
                st.init(is_producer=True)
                if Tx.ptx.elect_sync():
                    while ts.valid():
                        m_st, n_st = Tx.meta_var(ts.m_idx * BLK_M), Tx.meta_var(ts.n_idx * BLK_N)
                        for k in range(K_TILES):
                            mma2tma.wait(st.stage, st.phase)
                            tma2mma.arrive(st.stage, (BLK_M + BLK_N) * BLK_K * 2)
                            with Tx.thread():
                                Tx.copy_async(
                                    Asmem[st.stage, :, :],
                                    A[m_st : m_st + BLK_M, k * BLK_K : (k + 1) * BLK_K],
                                    dispatch="tma",
                                    mbar=tma2mma.ptr_to([st.stage]),
                                )
                                Tx.copy_async(
                                    Bsmem[st.stage, :, :],
                                    B[n_st : n_st + BLK_N, k * BLK_K : (k + 1) * BLK_K],
                                    dispatch="tma",
                                    mbar=tma2mma.ptr_to([st.stage]),
                                )
                            st.move_to_next_stage()
                        ts.next_tile()
            elif warp_id == 0:
                st.init(is_producer=False)
                with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                    while ts.valid():
                        slot = tile % 2
                        ld2mma.wait(slot, ((tile // 2) & 1) ^ 1)
                        Tx.ptx.tcgen05.fence.after_thread_sync()
                        for k in range(K_TILES):
                            tma2mma.wait(st.stage, st.phase)
                            Tx.ptx.tcgen05.fence.after_thread_sync()
                            Tx.gemm_async(
                                tmem[:, slot * BLK_N : (slot + 1) * BLK_N],
                                Asmem[st.stage, :, :],
                                Bsmem[st.stage, :, :],
                                accum=Tx.Select(k == 0, 0, 1),
                                dispatch="tcgen05",
                                cta_group=1,
                            )
                            mma2tma.arrive(st.stage, 1, 1)
                            st.move_to_next_stage()
                        mma2ld.arrive(slot)
                        tile = tile + 1
                        ts.next_tile()
            Tx.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel


CASES = [(gemm, (384, 512, 256), {})]
