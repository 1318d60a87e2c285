"""Step 2, terse: dtypes of PyTorch, arguments by position, the address buffer itself, four spellings of `accum`."""

import torch
import tvm
import tvm.script.tirx as Tx
import tvm.tir.layout as L
from tvm.tirx.op_schedule.cuda import common

SWZ = common.SwizzleMode.SWIZZLE_128B_ATOM
BM = BN = 128
BK = 64


def smem_layout(rows, cols, dtype="float16"):
    return common.tma_shared_layout(dtype, SWZ, (rows, cols))


def hgemm_v2(M, N, K, acc_style="bool"):
    assert M == BM and N == BN, "one tile only"
    K_TILES = K // BK
    tmem_layout = L.TileLayout(L.S[(128, 512) : (1 @ L.TLane, 1 @ L.TCol)])

    @Tx.prim_func(tirx=True)
    def kernel(
        A: Tx.Buffer((M, K), torch.float16),
        B: Tx.Buffer((N, K), torch.float16),
        D: Tx.Buffer((M, N), torch.float16),
    ):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            wg_id = Tx.warpgroup_id([1], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            tid = Tx.thread_id([128], parent="warpgroup")
            pool = Tx.PoolAllocator()
            Asmem = pool.alloc((BM, BK), "float16", layout=smem_layout(BM, BK))
            Bsmem = pool.alloc((BN, BK), "float16", layout=smem_layout(BN, BK))
            bars = pool.alloc([1], "uint64")
            addr = pool.alloc([1], "uint32")
            pool.commit()
            if tid == 0:
                Tx.ptx.mbarrier.init(bars.ptr_to([0]), 1)
            if warp_id == 0:
                Tx.ptx.tcgen05.alloc(addr.ptr_to([0]), 512, 1)
            Tx.ptx.fence.proxy_async("shared::cta")
            Tx.ptx.fence.mbarrier_init()
            Tx.cuda.cta_sync()
            acc = Tx.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=addr, layout=tmem_layout)
            phase = Tx.alloc_local([1], "int32")
            phase[0] = 0
            for k in range(K_TILES):
                with Tx.cta():
                    Tx.copy(Asmem, A[:, k * BK : (k + 1) * BK])
                    Tx.copy(Bsmem, B[:, k * BK : (k + 1) * BK])
                Tx.cuda.cta_sync()
                Tx.ptx.tcgen05.fence.after_thread_sync()
                if warp_id == 0:
                    with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:
                        if acc_style == "bool":
                            Tx.gemm_async(acc[:, 0:BN], Asmem, Bsmem, accum=(k != 0), dispatch="tcgen05", cta_group=1)
                        elif acc_style == "if":
                            if k == 0:
                                Tx.gemm_async(acc[:, 0:BN], Asmem, Bsmem, accum=0, dispatch="tcgen05", cta_group=1)
                            else:
                                Tx.gemm_async(acc[:, 0:BN], Asmem, Bsmem, accum=1, dispatch="tcgen05", cta_group=1)
                        elif acc_style == "positional":
                            Tx.gemm_async(acc[:, 0:BN], Asmem[:, :], Bsmem[:, :], k > 0, "tcgen05", 1)
                        else:
                            Tx.gemm_async(
                                acc[:, 0:BN],
                                Asmem,
                                Bsmem,
                                accum=False if k == 0 else True,
                                dispatch="tcgen05",
                                cta_group=1,
                            )
                        Tx.ptx.tcgen05.commit(bars.ptr_to([0]), 1)
                Tx.ptx.mbarrier.try_wait(bars.ptr_to([0]), phase[0])
                phase[0] ^= 1
                Tx.cuda.cta_sync()
            Tx.ptx.tcgen05.fence.after_thread_sync()
            reg = Tx.alloc_local((BN,), "float32")
            reg16 = Tx.alloc_local((BN,), "float16")
            with Tx.warpgroup():
                Tx.copy(reg.view(128, BN, layout=L.TileLayout(L.S[(128, BN) : (1 @ L.tid_in_wg, 1)])), acc[:, 0:BN])
            with Tx.thread():
                Tx.cast(reg16[:], reg[:])
                Tx.copy(D[tid, :], reg16[:])
            Tx.cuda.cta_sync()
            if warp_id == 0:
                Tx.ptx.tcgen05.relinquish_alloc_permit(1)
                Tx.ptx.tcgen05.dealloc(addr[0], 512, 1)

    return kernel


CASES = [(hgemm_v2, (128, 128, 256), {"acc_style": s}) for s in ("bool", "if", "positional", "ternary")]
