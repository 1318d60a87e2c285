"""Scans of tiles."""

from __future__ import annotations

import pytest
import torch

from tests.tirx_mini.frontends.tilelang.test_tiles import run
from tirx_mini.tilelang import language as T


@pytest.mark.parametrize(("dim", "reverse", "fragment"), [(1, False, False), (0, True, False), (1, False, True)])
def test_scans(dim: int, reverse: bool, fragment: bool) -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((32, 64), "float32") if fragment else T.alloc_shared((32, 64), "float32")
            T.copy(A, tile)
            T.cumsum(src=tile, dim=dim, reverse=reverse)
            T.copy(tile, B)

    a = torch.randn(32, 64)
    wanted = a.flip(dim).cumsum(dim).flip(dim) if reverse else a.cumsum(dim)
    torch.testing.assert_close(run(main, a), wanted, atol=1e-4, rtol=1e-4)
