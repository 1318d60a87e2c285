"""gemm_async by wgmma: operands in either orientation, in any warpgroup; products against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import PrimFunc
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.passes import lower
from tirx_mini.script import tirx as Tx

MODES = [SwizzleMode.SWIZZLE_128B_ATOM, SwizzleMode.SWIZZLE_64B_ATOM, SwizzleMode.SWIZZLE_32B_ATOM]
WARPGROUPS, M, K = 2, 128, 64


def product(n: int, mode: SwizzleMode, turned_a: bool, turned_b: bool) -> PrimFunc:
    """D = A Bᵀ for one tile of 128 × n, 64 rows for each of two warpgroups."""
    shape_a, shape_b = (K, M) if turned_a else (M, K), (K, n) if turned_b else (n, K)
    layout_a, layout_b = (tma_shared_layout("float16", mode, shape) for shape in (shape_a, shape_b))
    rows, registers = M // WARPGROUPS, M * n // WARPGROUPS // 128

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer(shape_a, "float16"), B: Tx.Buffer(shape_b, "float16"), D: Tx.Buffer((M, n), "float32")):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            wg_id = Tx.warpgroup_id([WARPGROUPS], parent="cta")
            warp_id = Tx.warp_id([4], parent="warpgroup")
            lane_id = Tx.thread_id([32], parent="warp")
            pool = Tx.PoolAllocator()
            As = pool.alloc(shape_a, "float16", layout=layout_a)
            Bs = pool.alloc(shape_b, "float16", layout=layout_b)
            pool.commit()
            with Tx.cta():
                Tx.copy(As, A)
                Tx.copy(Bs, B)
            Tx.cuda.cta_sync()
            acc = Tx.alloc_local((registers,), "float32")
            tile = acc.view(rows, n, layout=wgmma_accumulator_layout(n, rows))
            first = Tx.meta_var(wg_id * rows)
            with Tx.warpgroup():
                Tx.ptx.wgmma.fence()
                if turned_a:
                    Tx.gemm_async(
                        tile, As[:, first : first + rows], Bs, transA=True, transB=turned_b, dispatch="wgmma"
                    )
                else:
                    Tx.gemm_async(tile, As[first : first + rows, :], Bs, transB=turned_b, dispatch="wgmma")
                Tx.ptx.wgmma.commit_group()
                Tx.ptx.wgmma.wait_group(0)
            for i in Tx.serial(registers):
                row = Tx.meta_var(first + warp_id * 16 + i // 2 % 2 * 8 + lane_id // 4)
                D[row, i // 4 * 8 + lane_id % 4 * 2 + i % 2] = acc[i]

    return kernel


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("turned_a, turned_b", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("n", [64, 256])
def test_operands_of_either_orientation(mode: SwizzleMode, turned_a: bool, turned_b: bool, n: int) -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, shape).astype(np.float16) for shape in ((M, K), (n, K)))
    left, right = (np.ascontiguousarray(m.T if turned else m) for m, turned in ((a, turned_a), (b, turned_b)))
    d = np.zeros((M, n), np.float32)
    report = tvm.simulate(product(n, mode, turned_a, turned_b), left, right, d, gpu="h100")
    assert report.verdict == "ok" and not report.findings
    assert (d == a.astype(np.float32) @ b.astype(np.float32).T).all()


def test_orientation_is_in_the_ptx() -> None:
    source = str(cuda_source(lower(product(64, MODES[0], False, True))))
    assert "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16" in source
    assert "1, 1, 0, 1;" in source
