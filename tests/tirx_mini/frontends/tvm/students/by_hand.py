"""Step 3 in the native dialect, copied element by element."""

import tvm
from tvm.script import tirx as T
from tvm.tirx.layout import S, TCol, TileLayout, TLane, tid_in_wg
from tvm.tirx.op_schedule.cuda.common import SwizzleMode, tma_shared_layout


def gemm(M, N, K):
    lay = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))

    @T.prim_func
    def kernel(A_ptr: T.handle, B_ptr: T.handle, D_ptr: T.handle):
        A = T.match_buffer(A_ptr, (M, K), "float16")
        B = T.match_buffer(B_ptr, (N, K), "float16")
        D = T.match_buffer(D_ptr, (M, N), "float16")
        T.device_entry()
        bx, by = T.cta_id([M // 128, N // 128])
        tx = T.thread_id([128])
        warp = T.warp_id([4])
        sA = T.alloc_shared((128, 64), "float16", layout=lay)
        sB = T.alloc_shared((128, 64), "float16", layout=lay)
        bar = T.alloc_shared((1,), "uint64")
        addr = T.alloc_shared((1,), "uint32")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        if warp == 0:
            T.ptx.tcgen05.alloc(addr.ptr_to([0]), n_cols=128)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        acc = T.decl_buffer(
            (128, 128),
            "float32",
            scope="tmem",
            allocated_addr=addr,
            layout=TileLayout(S[(128, 128) : (1 @ TLane, 1 @ TCol)]),
        )
        phase = T.local_scalar("int32")
        phase = 0
        for k in T.serial(K // 64):
            for i in range(64):
                sA[tx, i] = A[bx * 128 + tx, k * 64 + i]
                sB[tx, i] = B[by * 128 + tx, k * 64 + i]
            T.ptx.fence.proxy_async("shared::cta")
            T.cuda.cta_sync()
            if warp == 1:
                if T.ptx.elect_sync():
                    T.gemm_async(acc, sA, sB, accum=T.Not(k == 0), dispatch="tcgen05")
                    T.ptx.tcgen05.commit(bar.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), phase)
            phase ^= 1
            T.cuda.cta_sync()
        T.ptx.tcgen05.fence.after_thread_sync()
        reg = T.alloc_buffer(
            (128, 128), "float32", scope="local", layout=TileLayout(S[(128, 128) : (1 @ tid_in_wg, 1)])
        )
        T.wg.copy_async(reg, acc)
        T.ptx.tcgen05.wait.ld()
        for j in T.unroll(128):
            D[bx * 128 + tx, by * 128 + j] = T.float16(reg[tx, j])
        T.cuda.cta_sync()
        if warp == 0:
            T.ptx.tcgen05.relinquish_alloc_permit()
            T.ptx.tcgen05.dealloc(addr[0], 128)

    return kernel


CASES = [(gemm, (128, 128, 128), {})]
