"""Block scaling with factors that several MMAs share, in a byte that is known at run time only."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.lang import TMEMPool
from tirx_mini.layout import SwizzleMode, sf_smem_layout
from tirx_mini.layout import tma_shared_layout as swizzled
from tirx_mini.script import tirx as Tx

B128 = SwizzleMode.SWIZZLE_128B_ATOM


def shared_factors(k: int) -> PrimFunc:
    """D = (A · SFA) (B · SFB)ᵀ where each factor is that of 128 elements along K, so that four MMAs share it."""
    whole, factors = swizzled("float8_e4m3fn", B128, (128, k)), k // 128
    layout = sf_smem_layout(128, factors, 1, sf_reuse=4)

    @Tx.prim_func
    def kernel(
        A: Tx.Buffer((128, k), "float8_e4m3fn"), B: Tx.Buffer((128, k), "float8_e4m3fn"),
        SA: Tx.Buffer((128, factors), "float8_e8m0fnu"), SB: Tx.Buffer((128, factors), "float8_e8m0fnu"),
        D: Tx.Buffer((128, 128), "float32"),
    ):  # fmt: skip
        Tx.device_entry()
        Tx.cta_id([1])
        warp_id, tid = Tx.warp_id([4]), Tx.thread_id([128])
        pool = Tx.SMEMPool()
        bar = pool.alloc((1,), "uint64", align=8)
        As, Bs = [pool.alloc((128, k), "float8_e4m3fn", layout=whole, align=1024) for _ in range(2)]
        SAs, SBs = [
            pool.alloc((128, factors), SA.dtype, layout=sf_smem_layout(128, factors, 1), align=128) for _ in range(2)
        ]
        columns = TMEMPool(pool, 256)
        pool.commit()
        columns.commit()
        if tid == 0:
            Tx.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            Tx.ptx.fence.mbarrier_init()
        for dst, src in ((As, A), (Bs, B), (SAs, SA), (SBs, SB)):
            Tx.cta.copy(dst, src)
        Tx.cuda.cta_sync()
        Tx.ptx.tcgen05.fence.after_thread_sync()
        C = columns.alloc((128, 128), "float32")
        SFA, SFB = [columns.alloc_sf((128, factors * 4), SA.dtype, sf_per_mma=1, sf_reuse=4) for _ in range(2)]
        if warp_id == 0:
            if Tx.ptx.elect_sync():
                Tx.copy_async(SFA, SAs.view(128, factors * 4, layout=layout))
                Tx.copy_async(SFB, SBs.view(128, factors * 4, layout=layout))
                for i in Tx.serial(k // 128):
                    own = Tx.meta_var(slice(i * 128, i * 128 + 128))
                    scales = Tx.meta_var(slice(i * 4, i * 4 + 4))
                    Tx.gemm_async(C, As[:, own], Bs[:, own], SFA[:, scales], SFB[:, scales], accum=i != 0)
                Tx.ptx.tcgen05.commit(bar.ptr_to([0]))
        Tx.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        Tx.ptx.tcgen05.fence.after_thread_sync()
        out = Tx.wg_reg_tile(128, "float32")
        Tx.wg.copy_async(out[:, :], C[:, :])
        Tx.ptx.tcgen05.wait.ld()
        Tx.wg.copy(D, out)
        Tx.cuda.cta_sync()
        columns.dealloc()

    return kernel


def test_mmas_share_factors() -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, (128, 512)).astype(np.float32) for _ in range(2))
    sa, sb = (np.exp2(random.integers(-3, 4, (128, 4))).astype(ml_dtypes.float8_e8m0fnu) for _ in range(2))
    d = np.zeros((128, 128), np.float32)
    stored = [x.astype(ml_dtypes.float8_e4m3fn) for x in (a, b)]
    report = tvm.simulate(shared_factors(512), *stored, sa, sb, d)
    assert report.verdict == "ok" and not report.findings, str(report)
    left, right = (x * np.repeat(s.astype(np.float32), 128, axis=1) for x, s in ((a, sa), (b, sb)))
    assert (d == left @ right.T).all()
