"""Step 3 with units selected by slices of scopes, dtypes of NumPy, star imports, TMEM_LD_N, element stores."""

import numpy as np
import tvm
from tvm.script import tirx as Tx
from tvm.tir.layout import *
from tvm.tirx.op_schedule.cuda.common import *


def hgemm_v3(M, N, K, dtype=np.float16, TMEM_LD_N=16):
    BLK = (128, 128, 64)
    BLK_M, BLK_N, BLK_K = BLK
    name = np.dtype(dtype).name
    acc = np.float32
    layouts = {
        k: tma_shared_layout(name, SwizzleMode.SWIZZLE_128B_ATOM, (rows, BLK_K))
        for k, rows in (("A", BLK_M), ("B", BLK_N))
    }
    grid = [M // BLK_M, N // BLK_N]

    @Tx.prim_func(tirx=True)
    def my_gemm(A: Tx.Buffer((M, K), dtype), B: Tx.Buffer((N, K), dtype), D: Tx.Buffer((M, N), dtype)):
        with Tx.kernel():
            bx, by = Tx.cta_id(grid, parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            m_st, n_st = Tx.meta_var((bx * BLK_M, by * BLK_N))
            pool = Tx.PoolAllocator()
            tmem_addr = pool.alloc((1,), "uint32", align=16)
            mma_bar = pool.alloc((1,), "uint64", align=16)
            Asmem, Bsmem = (pool.alloc((r, BLK_K), dtype, layout=layouts[n]) for r, n in ((BLK_M, "A"), (BLK_N, "B")))
            pool.commit()
            with Tx.cta():
                with Tx.warp(parent="cta")[0:1]:
                    Tx.ptx.tcgen05.alloc(Tx.address_of(tmem_addr[0]), n_cols=128, cta_group=1)
                with Tx.thread(parent="cta")[0:1]:
                    Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)
                Tx.ptx.fence.proxy_async("shared::cta")
                Tx.ptx.fence.mbarrier_init()
                Tx.cuda.cta_sync()
                tmem = Tx.decl_buffer(
                    (128, 128),
                    acc,
                    scope="tmem",
                    allocated_addr=tmem_addr[0],
                    layout=TileLayout(S[(128, 128) : (1 @ TLane, 1 @ TCol)]),
                )
                phase: Tx.int32 = 0
                for k in Tx.serial(K // BLK_K):
                    k_st = Tx.meta_var(k * BLK_K)
                    Tx.copy(Asmem[:, :], A[m_st : m_st + BLK_M, k_st : k_st + BLK_K])
                    Tx.copy(Bsmem[:, :], B[n_st : n_st + BLK_N, k_st : k_st + BLK_K])
                    Tx.cuda.cta_sync()
                    Tx.ptx.tcgen05.fence.after_thread_sync()
                    with Tx.warpgroup()[0:1]:
                        with Tx.warp()[0:1]:
                            with Tx.thread()[Tx.ptx.elect_sync()]:
                                Tx.gemm_async(
                                    tmem[:, :], Asmem[:, :], Bsmem[:, :], accum=k != 0, dispatch="tcgen05", cta_group=1
                                )
                                Tx.ptx.tcgen05.commit(mma_bar.ptr_to([0]), cta_group=1)
                    Tx.ptx.mbarrier.try_wait(mma_bar.ptr_to([0]), phase)
                    phase = 1 - phase
                    Tx.cuda.cta_sync()
                Tx.ptx.tcgen05.fence.after_thread_sync()
                Dreg = Tx.alloc_local((TMEM_LD_N,), acc)
                with Tx.warpgroup()[0:1]:
                    for i in Tx.unroll(BLK_N // TMEM_LD_N):
                        Dreg_wg = Dreg.view(128, TMEM_LD_N, layout=TileLayout(S[(128, TMEM_LD_N) : (1 @ tid_in_wg, 1)]))
                        Tx.copy(Dreg_wg[:, :], tmem[:, i * TMEM_LD_N : (i + 1) * TMEM_LD_N])
                        with Tx.thread():
                            row = m_st + warp_id * 32 + lane_id
                            for j in Tx.unroll(TMEM_LD_N):
                                D[row, n_st + i * TMEM_LD_N + j] = Tx.cast(Dreg[j], name)
                Tx.cuda.cta_sync()
                with Tx.warp(parent="cta")[0:1]:
                    Tx.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                    Tx.ptx.tcgen05.dealloc(tmem_addr[0], n_cols=128, cta_group=1)

    return my_gemm


CASES = [
    (hgemm_v3, (256, 384, 128), {}),
    (hgemm_v3, (128, 128, 64), {"TMEM_LD_N": 8}),
    (hgemm_v3, (128, 128, 64), {"TMEM_LD_N": 128}),
]
