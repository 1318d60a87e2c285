"""Products of 64 rows by tcgen05.mma, whose accumulator has 16 of each 32 lanes, and products that a warp issues."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.lang import MBarrier, TMEMPool
from tirx_mini.layout import tcgen05_atom_layout
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T


def product(rows: int, columns: int, warp: bool, shape: str, ws: bool = False) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((rows, 64), "float16"), B: T.Buffer((columns, 64), "float16"),
               D: T.Buffer((rows, columns), "float32")):  # fmt: skip
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        warp_id = T.warp_id([4])
        thread = T.thread_id([128])
        pool = T.SMEMPool()
        a = pool.alloc_tcgen05_mma_AB((rows, 64), "float16")
        b = pool.alloc_tcgen05_mma_AB((columns, 64), "float16")
        done = MBarrier(pool, 1)
        tmem_pool = TMEMPool(pool, total_cols=128)
        sums = tmem_pool.alloc_tcgen05_mma_D((rows, columns), "float32", M=rows, cta_group=1, ws=ws)
        pool.commit()
        done.init(1)
        tmem_pool.commit()
        T.ptx.fence.mbarrier_init()
        T.cta.copy(a, A)
        T.cta.copy(b, B)
        T.cuda.cta_sync()
        if warp:
            if warp_id == 0:
                T.warp.gemm_async(sums, a, b)
                if T.ptx.elect_sync():
                    T.ptx.tcgen05.commit(done.ptr_to([0]))
        else:
            if thread == 0:
                T.tile.gemm_async(sums, a, b, weight_stationary=ws)
                T.ptx.tcgen05.commit(done.ptr_to([0]))
        done.wait(0, 0)
        T.ptx.tcgen05.fence.after_thread_sync()
        out = T.alloc_local((rows, columns), "float32", layout=tcgen05_atom_layout(shape, (rows, columns), "float32"))
        T.wg.copy_async(out, sums)
        T.ptx.tcgen05.wait.ld()
        T.wg.copy(D, out)
        T.cuda.cta_sync()
        tmem_pool.dealloc()

    return kernel


@pytest.mark.parametrize(
    ("rows", "columns", "warp", "shape", "ws"),
    [
        (64, 64, False, "16x64b", False),
        (64, 8, False, "16x256b", False),
        (64, 32, True, "16x128b", False),
        (128, 32, True, "32x32b", False),
        (128, 16, False, "16x64b", False),
        (64, 64, False, "32x32b", True),
    ],
)
def test_products_in_fragments(rows: int, columns: int, warp: bool, shape: str, ws: bool) -> None:
    rng = np.random.default_rng(rows + columns)
    a, b = (rng.standard_normal((n, 64)).astype(np.float16) for n in (rows, columns))
    d = np.zeros((rows, columns), np.float32)
    report = tirx_mini.simulate(product(rows, columns, warp, shape, ws), a, b, d, gpu="b200")
    assert report.verdict == "ok", report
    np.testing.assert_allclose(d, a.astype(np.float32) @ b.astype(np.float32).T, rtol=1e-3, atol=1e-3)


def test_weight_stationary_products_have_wide_tiles() -> None:
    with pytest.raises(TirxError, match="N 64, 128 or 256"):
        lower(product(64, 32, False, "32x32b", ws=True))


def test_a_part_of_a_warp_does_not_issue_a_product() -> None:
    @T.prim_func
    def kernel():
        T.device_entry()
        T.cta_id([1])
        thread = T.thread_id([128])
        pool = T.SMEMPool()
        a = pool.alloc_tcgen05_mma_AB((64, 64), "float16")
        tmem_pool = TMEMPool(pool, total_cols=64)
        sums = tmem_pool.alloc_tcgen05_mma_D((64, 64), "float32", M=64, cta_group=1)
        pool.commit()
        tmem_pool.commit()
        if thread < 8:
            T.warp.gemm_async(sums, a, a)

    with pytest.raises(TirxError, match="only 8 of the 32 threads of the warp execute it"):
        lower(kernel)
