"""Reductions of tiles: combined in registers, lanes and warps."""

from __future__ import annotations

import pytest
import torch

from tests.tirx_mini.frontends.tilelang.test_tiles import run
from tirx_mini.ir import TirxError
from tirx_mini.tilelang import language as T


def test_reductions_along_both_dimensions() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((6, 64), "float32"), C: T.Tensor((32,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((32, 64), "float32")
            row = T.alloc_fragment((64,), "float32")
            column = T.alloc_fragment((32, 1), "float32")
            T.copy(A, tile)
            T.reduce_sum(tile, row, dim=0)
            T.copy(row, B[0, 0])
            T.reduce_max(tile, row, dim=0)
            T.copy(row, B[1, 0])
            T.reduce_min(tile, row, dim=0)
            T.copy(row, B[2, 0])
            T.reduce_absmax(tile, row, dim=0)
            T.copy(row, B[3, 0])
            T.reduce_abssum(tile, row, dim=0)
            T.copy(row, B[4, 0])
            T.reduce_sum(tile, row, dim=0, clear=False)
            T.copy(row, B[5, 0])
            T.reduce_sum(tile, column, dim=1)
            for i in T.Parallel(32):
                C[i] = column[i, 0]

    a = torch.randn(32, 64)
    b, c = run(main, a, out_idx=[1, 2])
    sums = [a.sum(0), a.amax(0), a.amin(0), a.abs().amax(0), a.abs().sum(0), a.abs().sum(0) + a.sum(0)]
    torch.testing.assert_close(b, torch.stack(sums), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(c, a.sum(1), atol=1e-4, rtol=1e-4)


def test_shapes_that_threads_do_not_divide() -> None:
    @T.prim_func
    def main(A: T.Tensor((30, 50), "float16"), B: T.Tensor((30,), "float32")):
        with T.Kernel(T.ceildiv(30, 7), threads=96) as bx:
            tile = T.alloc_fragment((7, 50), "float32")
            sums = T.alloc_fragment((7,), "float32")
            T.copy(A[bx * 7, 0], tile)
            T.reduce_sum(tile, sums, dim=1)
            T.copy(sums, B[bx * 7])

    a = torch.randn(30, 50).half()
    torch.testing.assert_close(run(main, a), a.float().sum(1))


def test_a_reduction_that_leaves_another_shape() -> None:
    with pytest.raises(TirxError, match=r"leaves \[32\], but sums is \[16\]"):

        @T.prim_func
        def main(A: T.Tensor((32, 64), "float32")):
            with T.Kernel(1, threads=32):
                tile = T.alloc_fragment((32, 64), "float32")
                sums = T.alloc_fragment((16,), "float32")
                T.reduce_sum(tile, sums, dim=1)
