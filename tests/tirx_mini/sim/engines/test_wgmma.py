"""The tensor core of a warpgroup: the MMAs of a group in any order of their accumulators."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as Tx

M, N, K = 64, 32, 64
MMA_K = 16
LAYOUT = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (M, K))


def products(steps: list[tuple[int, int, bool]]) -> PrimFunc:
    """One group of MMAs. steps: for each the accumulator (0 or 1), which 16 columns of A and B, and whether it adds."""

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((M, K), "float16"), B: Tx.Buffer((M, K), "float16"), D: Tx.Buffer((2, M, N), "float32")):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            warp_id = Tx.warp_id([4], parent="cta")
            lane_id = Tx.thread_id([32], parent="warp")
            pool = Tx.PoolAllocator()
            As = pool.alloc((M, K), "float16", layout=LAYOUT)
            Bs = pool.alloc((M, K), "float16", layout=LAYOUT)
            pool.commit()
            with Tx.cta():
                Tx.copy(As, A)
                Tx.copy(Bs, B)
            Tx.cuda.cta_sync()
            acc = Tx.alloc_local((N,), "float32")
            for i in Tx.unroll(N):
                acc[i] = 0.0
            tile = acc.view(2 * M, N, layout=wgmma_accumulator_layout(N, 2 * M))
            with Tx.warpgroup():
                Tx.ptx.wgmma.fence()
                for which, part, adds in steps:
                    Tx.gemm_async(
                        tile[which * M : which * M + M, :],
                        As[:, part * MMA_K : (part + 1) * MMA_K],
                        Bs[which * N : which * N + N, part * MMA_K : (part + 1) * MMA_K],
                        accum=adds,
                        dispatch="wgmma",
                    )
                Tx.ptx.wgmma.commit_group()
                Tx.ptx.wgmma.wait_group(0)
            for i in Tx.serial(N):
                row = Tx.meta_var(warp_id * 16 + i // 2 % 2 * 8 + lane_id // 4)
                D[i // 16, row, i % 16 // 4 * 8 + lane_id % 4 * 2 + i % 2] = acc[i]

    return kernel


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, K // MMA_K - 1), st.booleans()), min_size=1, max_size=10))
def test_mmas_of_a_group_add_up_in_their_order(steps: list[tuple[int, int, bool]]) -> None:
    random = np.random.default_rng(0)
    a, b = (random.integers(-4, 5, (M, K)).astype(np.float16) for _ in range(2))
    d = np.zeros((2, M, N), np.float32)
    assert tvm.simulate(products(steps), a, b, d, gpu="h100").verdict == "ok"
    want = np.zeros_like(d)
    for which, part, adds in steps:
        columns = slice(part * MMA_K, (part + 1) * MMA_K)
        product = a[:, columns].astype(np.float32) @ b[which * N : which * N + N, columns].T.astype(np.float32)
        want[which] = want[which] + product if adds else product
    assert (d == want).all()
