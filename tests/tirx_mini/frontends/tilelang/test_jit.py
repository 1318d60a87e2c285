"""`tilelang.compile`, `tilelang.jit` and `tilelang.autotune`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tirx_mini import tilelang
from tirx_mini.arguments import ArgumentError
from tirx_mini.ir import TirxError
from tirx_mini.tilelang import language as T


@tilelang.jit(out_idx=[-1])
def add(n: int, block: int = 256, dtype: str = "float32") -> Any:
    @T.prim_func
    def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return main


@tilelang.jit
def scaled(A, B, factor: float = 2.0):
    M, N = T.const("M, N")
    A: T.Tensor[[M, N], T.float32]
    B: T.Tensor[[M, N], T.float32]
    C = T.empty((M, N), T.float32)
    with T.Kernel(T.ceildiv(N, 64), M, threads=64) as (bx, by):
        for j in T.Parallel(64):
            C[by, bx * 64 + j] = A[by, bx * 64 + j] * factor + B[by, bx * 64 + j]
    return C


def test_a_function_that_makes_kernels() -> None:
    kernel = add(1000)
    a, b = torch.randn(1000), torch.randn(1000)
    assert torch.equal(kernel(a, b), a + b)
    assert kernel.report.ok
    assert add(1000) is kernel and add(1000, block=512) is not kernel


def test_a_function_that_is_a_kernel() -> None:
    a, b = torch.randn(3, 100), torch.randn(3, 100)
    torch.testing.assert_close(scaled(a, b), a * 2 + b)
    torch.testing.assert_close(scaled(a, b, factor=3.0), a * 3 + b)


def test_symbolic_extents_are_those_of_the_call() -> None:
    n = T.dynamic("n")

    @T.prim_func
    def double(A: T.Tensor((n, 64), "float16"), B: T.Tensor((n, 64), "float16")):
        with T.Kernel(T.ceildiv(n, 16), threads=128) as bx:
            tile = T.alloc_fragment((16, 64), "float16")
            T.copy(A[bx * 16, 0], tile)
            for i, j in T.Parallel(16, 64):
                tile[i, j] = tile[i, j] * 2
            T.copy(tile, B[bx * 16, 0])

    kernel = tilelang.compile(double, out_idx=-1, target="cuda -arch=sm_90a")
    for rows in (16, 33):
        a = torch.randn(rows, 64).half()
        assert torch.equal(kernel(a), a * 2)


def test_arguments_that_do_not_fit() -> None:
    a = torch.zeros(1000)
    with pytest.raises(ArgumentError, match="main makes the tensors of out_idx"):
        add(1000)(a, a, a)
    with pytest.raises(ArgumentError, match="takes 2 arguments, A, B, but 1 are given"):
        add(1000)(a)
    with pytest.raises(ArgumentError, match="`N` is 100, but B says that it is 50"):
        scaled(torch.zeros(3, 100), torch.zeros(3, 50))


def test_the_profiler() -> None:
    profiler = add(1000).get_profiler()
    assert 0 < profiler.do_bench() < 1
    profiler.assert_allclose(lambda a, b: a + b)
    with pytest.raises(AssertionError, match="of the elements differ"):
        profiler.assert_allclose(lambda a, b: a - b)


def test_autotune_keeps_the_fastest() -> None:
    tuned = tilelang.autotune(add, configs={"block": [128, 1024]})
    kernel = tuned(4096)
    times = {block: add(4096, block=block).get_profiler().do_bench() for block in (128, 1024)}
    assert kernel.config == {"block": min(times, key=times.__getitem__)}
    assert kernel.latency == min(times.values())


def test_targets() -> None:
    spellings = ["auto", "cuda", "cuda -arch=sm_90a", {"kind": "cuda", "arch": "sm_90"}, "sim:h100"]
    specs = [tilelang.compile(add.get_tir(256), target=given).target.spec for given in spellings]
    assert specs == ["cuda", "cuda", "cuda:sm_90a", "cuda:sm_90a", "sim:h100"]


@pytest.mark.compiler
def test_the_text_of_a_kernel() -> None:
    kernel = tilelang.compile(add.get_tir(256), out_idx=-1, target="cuda -arch=sm_90a")
    assert "__global__" in kernel.get_kernel_source()
    assert ".target sm_90a" in kernel.get_ptx()


def test_strided_arguments_belong_to_compiled_kernels() -> None:
    @T.prim_func
    def main(A: T.StridedTensor((16, 16), (40, 1), "float32"), B: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=64):
            T.copy(A, B)

    with pytest.raises(TirxError, match=r"A is a T\.StridedTensor.*\n(.*\n)*.*call tilelang\.compile\(main\)"):
        tilelang.lower(main, "sm_90a")
    with pytest.raises(TirxError, match=r"T\.StridedTensor has 2 extents, but 1 strides"):
        T.StridedTensor((16, 16), (1,), "float32")
    with pytest.raises(TirxError, match=r"a stride of T\.StridedTensor is a number or a variable of T\.dynamic"):
        T.StridedTensor((16, 16), (T.dynamic("n") * 2, 1), "float32")
    with tilelang.simulated("h100"), pytest.raises(ArgumentError, match=r"out_idx names A, a T\.StridedTensor"):
        tilelang.compile(main, out_idx=0)(torch.zeros(16, 16))
