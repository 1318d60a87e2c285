"""Step 8 with each role as an inline function that captures state of the kernel and creates its own."""

import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import TileLayout, S, TLane, TCol, tid_in_wg
from tvm.tirx.op_schedule.cuda.common import tma_shared_layout, SwizzleMode
from tvm.tirx.tile_scheduler import ClusterPersistentScheduler2D
from tvm.tirx.pipeline import *

PIPE_DEPTH = 4
BLK_M, BLK_N, BLK_K = 128, 128, 64
EPI_N = 64
TMEM_LD_N = 32


def hgemm_v8(M, N, K, SM_COUNT=2):
    dtype = "float16"
    K_TILES = K // BLK_K
    mode = SwizzleMode.SWIZZLE_128B_ATOM

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([SM_COUNT], parent="kernel")
            wg_id = Tx.warpgroup_id([2], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            tid_in_group = Tx.thread_id([128], parent="warpgroup")
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32")
            tma2mma = TMABar(pool, PIPE_DEPTH, "tma2mma")
            mma2tma = TCGen05Bar(pool, PIPE_DEPTH, "mma2tma")
            mma2ld = TCGen05Bar(pool, 1, "mma2ld")
            ld2mma = MBarrier(pool, 1, "ld2mma")
            tma2mma.init(1)
            mma2tma.init(1)
            mma2ld.init(1)
            ld2mma.init(128)
            pool.move_base_to(1024)
            Asmem = pool.alloc(
                (PIPE_DEPTH, BLK_M, BLK_K), dtype, layout=tma_shared_layout(dtype, mode, (PIPE_DEPTH, BLK_M, BLK_K))
            )
            Bsmem = pool.alloc(
                (PIPE_DEPTH, BLK_N, BLK_K), dtype, layout=tma_shared_layout(dtype, mode, (PIPE_DEPTH, BLK_N, BLK_K))
            )
            Dsmem = pool.alloc((BLK_M, EPI_N), dtype, layout=tma_shared_layout(dtype, mode, (BLK_M, EPI_N)))
            pool.commit()

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

            @Tx.inline
            def tma_role():
                state = PipelineState("tma", PIPE_DEPTH)
                state.init(is_producer=True)
                while ts.valid():
                    m_st = Tx.meta_var(ts.m_idx * BLK_M)
                    n_st = Tx.meta_var(ts.n_idx * BLK_N)
                    for k in Tx.serial(K_TILES):
                        k_st = k * BLK_K
                        mma2tma.wait(state.stage, state.phase)
                        Tx.copy_async(
                            Asmem[state.stage],
                            A[m_st : m_st + BLK_M, k_st : k_st + BLK_K],
                            dispatch="tma",
                            cta_group=1,
                            mbar=tma2mma.ptr_to([state.stage]),
                        )
                        Tx.copy_async(
                            Bsmem[state.stage],
                            B[n_st : n_st + BLK_N, k_st : k_st + BLK_K],
                            dispatch="tma",
                            cta_group=1,
                            mbar=tma2mma.ptr_to([state.stage]),
                        )
                        tma2mma.arrive(state.stage, (BLK_M + BLK_N) * BLK_K * 2)
                        state.move_to_next_stage()
                    ts.next_tile()

            @Tx.inline
            def mma_role(state, ld_state):
                while ts.valid():
                    ld2mma.wait(ld_state.stage, ld_state.phase)
                    ld_state.move_to_next_stage()
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    for k in Tx.serial(K_TILES):
                        tma2mma.wait(state.stage, state.phase)
                        Tx.ptx.tcgen05.fence.after_thread_sync()
                        Tx.gemm_async(
                            tmem[:, 0:BLK_N],
                            Asmem[state.stage, :, :],
                            Bsmem[state.stage, :, :],
                            accum=k > 0,
                            dispatch="tcgen05",
                            cta_group=1,
                        )
                        mma2tma.arrive(state.stage, cta_group=1, cta_mask=1)
                        state.move_to_next_stage()
                    mma2ld.arrive(0, cta_group=1, cta_mask=1)
                    ts.next_tile()

            @Tx.inline
            def store_chunk(no, m_st, n_st, regs):
                Tx.copy(Dsmem[tid_in_group, :], regs[no * EPI_N : (no + 1) * EPI_N])
                Tx.ptx.fence.proxy_async("shared::cta")
                Tx.cuda.warpgroup_sync(1)
                with Tx.thread(parent="warpgroup")[tid_in_group == 0]:
                    Tx.copy_async(
                        D[m_st : m_st + BLK_M, n_st + no * EPI_N : n_st + (no + 1) * EPI_N], Dsmem, dispatch="tma"
                    )
                    Tx.ptx.cp_async.bulk.commit_group()
                    Tx.ptx.cp_async.bulk.wait_group(0)
                Tx.cuda.warpgroup_sync(1)

            @Tx.inline
            def epilogue():
                phase_wb: Tx.int32 = 0
                reg = Tx.alloc_local((TMEM_LD_N,), "float32")
                reg16 = Tx.alloc_local((BLK_N,), dtype)
                while ts.valid():
                    mma2ld.wait(0, phase_wb)
                    phase_wb ^= 1
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    for ki in Tx.unroll(BLK_N // TMEM_LD_N):
                        lo = Tx.meta_var(ki * TMEM_LD_N)
                        with Tx.warpgroup():
                            Tx.copy(
                                reg.view(128, TMEM_LD_N, layout=TileLayout(S[(128, TMEM_LD_N) : (1 @ tid_in_wg, 1)])),
                                tmem[:, lo : lo + TMEM_LD_N],
                            )
                        Tx.cast(reg16[lo : lo + TMEM_LD_N], reg)
                    Tx.ptx.tcgen05.fence.before_thread_sync()
                    ld2mma.arrive(0)
                    for no in Tx.unroll(BLK_N // EPI_N):
                        store_chunk(no, ts.m_idx * BLK_M, ts.n_idx * BLK_N, reg16)
                    ts.next_tile()

            if wg_id == 1:
                if warp_id == 3:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        tma_role()
                if warp_id == 0:
                    mma_state, ld_state = PipelineState("mma", PIPE_DEPTH), PipelineState("ld", 1)
                    mma_state.init(is_producer=False)
                    ld_state.init(is_producer=True)
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        mma_role(mma_state, ld_state)
            else:
                epilogue()
            Tx.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=512, cta_group=1)

    return kernel


CASES = [(hgemm_v8, (256, 256, 384), {})]
