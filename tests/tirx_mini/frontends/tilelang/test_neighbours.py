"""Programs whose values, grids or names TileLang has, and that failed."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini import tilelang
from tirx_mini.frontends.tilelang.names import MODULES
from tirx_mini.ir import TirxError
from tirx_mini.tilelang import language as T


@pytest.mark.parametrize("count", [1, 64, 100, 256])
def test_a_grid_may_depend_on_a_number(count: int) -> None:
    @T.prim_func
    def main(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32"), n: T.int32):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            for i in T.Parallel(64):
                if bx * 64 + i < n:
                    B[bx * 64 + i] = A[bx * 64 + i] * 2

    A, B = np.ones(256, np.float32), np.zeros(256, np.float32)
    with tilelang.simulated("h100"):
        tilelang.compile(main)(A, B, count)
    assert B.sum() == 2 * count and (B[:count] == 2).all()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "uint8", "uint32", "uint64"])
@pytest.mark.parametrize("swizzled", [False, True])
def test_a_view_of_a_tile_has_its_elements_where_they_are(swizzled: bool, dtype: str) -> None:
    bytes_each = {"bfloat16": 2, "float16": 2, "uint8": 1, "uint32": 4, "uint64": 8}[dtype]
    columns = 64 * 4 // bytes_each

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, columns), dtype)):
        with T.Kernel(1, threads=128):
            s = T.alloc_shared((64, 64), "float32")
            v = T.view(s, (64, columns), dtype=dtype)
            if swizzled:
                T.annotate_layout({s: MODULES["tilelang.layout"]["make_swizzled_layout"](s)})
            T.copy(A, s)
            T.copy(v, B)

    A = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    B = np.zeros((64, columns), f"uint{8 * bytes_each}" if dtype.startswith("u") else np.float16)
    if dtype == "bfloat16":
        B = B.view("bfloat16")
    with tilelang.simulated("h100"):
        tilelang.compile(main)(A, B)
    assert (B.view(np.uint8) == A.view(np.uint8)).all()


def test_a_name_that_is_not_provided_says_the_same_within_a_kernel() -> None:
    with pytest.raises(AttributeError) as outside:
        T.alloc_global
    with pytest.raises(TirxError) as inside:

        @T.prim_func
        def main(A: T.Tensor((128,), "float32")):
            with T.Kernel(1, threads=128) as bx:
                w = T.alloc_global((128,), "float32")
                A[bx] = 1.0

    assert outside.value.diagnostic.message == inside.value.diagnostic.message
    assert outside.value.diagnostic.hint == inside.value.diagnostic.hint and inside.value.span is not None
