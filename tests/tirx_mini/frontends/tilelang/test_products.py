"""Programs around T.gemm, as users write them: right in the simulator, and without findings."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
import tirx_mini.tilelang.language as T
from tirx_mini.frontends.tilelang.pipeline import lower
from tirx_mini.ir import PrimFunc

ARCHS = {"h100": "sm_90a", "b200": "sm_100a"}


def halves(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-3, 4, shape).astype(np.float16)


def numpy_dtype(name: str) -> Any:
    return getattr(ml_dtypes, name, None) or np.dtype(name)


def check(func: PrimFunc, expected: np.ndarray, *arrays: np.ndarray, gpu: str = "h100", schedules: int = 3) -> None:
    report = tvm.simulate(lower(func, ARCHS[gpu]), *arrays, gpu=gpu, schedules=schedules)
    assert report.ok and not report.findings, str(report)
    np.testing.assert_allclose(arrays[-1].astype(np.float32), expected, rtol=2e-3, atol=2e-3)


def multiplied(func: PrimFunc, gpu: str = "h100", turned: bool = False, **options: Any) -> None:
    """Check C = A B, or A Bᵀ, for the shapes of a function's parameters."""
    rng = np.random.default_rng(0)
    a, b, c = (halves(rng, *param.shape).astype(numpy_dtype(str(param.dtype))) for param in func.params)
    c[...] = 0
    wide = b.astype(np.float32)
    check(func, a.astype(np.float32) @ (wide.T if turned else wide), a, b, c, gpu=gpu, **options)


def matmul(
    m: int, n: int, k: int, bm: int, bn: int, bk: int, *, stages: int = 2, threads: int = 128, swizzle: bool = False
) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=threads) as (bx, by):
            left = T.alloc_shared((bm, bk), "float16")
            right = T.alloc_shared((bk, bn), "float16")
            sums = T.alloc_fragment((bm, bn), "float32")
            if swizzle:
                T.use_swizzle(2)
            T.clear(sums)
            for step in T.Pipelined(T.ceildiv(k, bk), num_stages=stages):
                T.copy(A[by * bm, step * bk], left)
                T.copy(B[step * bk, bx * bn], right)
                T.gemm(left, right, sums)
            T.copy(sums, C[by * bm, bx * bn])

    return kernel


@pytest.mark.parametrize("gpu", ARCHS)
@pytest.mark.parametrize("stages", [0, 1, 2, 3])
def test_pipelined_products(gpu: str, stages: int) -> None:
    multiplied(matmul(128, 128, 192, 64, 64, 32, stages=stages, swizzle=True), gpu)


def test_two_warpgroups_share_a_tile() -> None:
    multiplied(matmul(128, 256, 256, 128, 128, 64, stages=3, threads=256))


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_products_without_warps_of_their_own_for_copies(stages: int) -> None:
    func = matmul(128, 128, 192, 64, 64, 32, stages=stages).with_attr("tl.disable_tma_lower", True)
    multiplied(func, schedules=2)


@pytest.mark.parametrize("shape", [(100, 72, 88), (70, 50, 90), (33, 17, 41)])
def test_tiles_may_go_beyond_the_arrays(shape: tuple[int, int, int]) -> None:
    multiplied(matmul(*shape, 64, 64, 32), schedules=1)
    multiplied(matmul(*shape, 64, 64, 32).with_attr("tl.disable_tma_lower", True), schedules=1)


@pytest.mark.parametrize("gpu", ARCHS)
@pytest.mark.parametrize(
    ("dtype", "total"),
    [("bfloat16", "float32"), ("float32", "float32"), ("int8", "int32"), ("float8_e5m2", "float32"),
     ("float8_e4m3fn", "float32")],
)  # fmt: skip
def test_products_of_other_types(gpu: str, dtype: str, total: str) -> None:
    size, block, bk = 64, 32, 64

    @T.prim_func
    def kernel(A: T.Tensor((size, 128), dtype), B: T.Tensor((size, 128), dtype), C: T.Tensor((size, size), total)):
        with T.Kernel(size // block, size // block, threads=128) as (bx, by):
            left = T.alloc_shared((block, bk), dtype)
            right = T.alloc_shared((block, bk), dtype)
            sums = T.alloc_fragment((block, block), total)
            T.clear(sums)
            for step in T.Pipelined(128 // bk, num_stages=2):
                T.copy(A[by * block, step * bk], left)
                T.copy(B[bx * block, step * bk], right)
                T.gemm(left, right, sums, transpose_B=True)
            T.copy(sums, C[by * block, bx * block])

    multiplied(kernel, gpu, turned=True, schedules=1)


@pytest.mark.compiler
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_integers_in_tensor_memory(dtype: str) -> None:
    @T.prim_func
    def kernel(A: T.Tensor((128, 128), dtype), B: T.Tensor((64, 128), dtype), C: T.Tensor((128, 64), "int32")):
        with T.Kernel(1, threads=128):
            left, right = T.alloc_shared((128, 64), dtype), T.alloc_shared((64, 64), dtype)
            sums, own = T.alloc_tmem((128, 64), "int32"), T.alloc_fragment((128, 64), "int32")
            for step in T.serial(2):
                T.copy(A[0, step * 64], left)
                T.copy(B[0, step * 64], right)
                T.gemm(left, right, sums, transpose_B=True, clear_accum=step == 0)
            T.copy(sums, own)
            T.copy(own, C)

    rng, least = np.random.default_rng(0), np.iinfo(dtype)
    a, b = (rng.integers(least.min, least.max + 1, (rows, 128)).astype(dtype) for rows in (128, 64))
    check(kernel, (a.astype(np.int64) @ b.astype(np.int64).T).astype(np.float32), a, b, np.zeros((128, 64), np.int32),
          gpu="b200")  # fmt: skip
    source = tvm.compile(lower(kernel, "sm_100a"), target="cuda:sm_100a").source("cuda")
    assert "tcgen05.mma.cta_group::1.kind::i8" in source


def test_warpgroups_side_by_side_read_whole_atoms_of_b() -> None:
    multiplied(matmul(64, 64, 128, 64, 64, 64, threads=256))


@pytest.mark.parametrize("gpu", ARCHS)
def test_persistent_ctas_keep_their_pipeline(gpu: str) -> None:
    size, bm, bk, ctas = 256, 64, 64, 3

    @T.prim_func
    def kernel(A: T.Tensor((size, 128), "float16"), B: T.Tensor((128, size), "float16"),
               C: T.Tensor((size, size), "float16")):  # fmt: skip
        with T.Kernel(ctas, threads=128) as cta:
            left = T.alloc_shared((bm, bk), "float16")
            right = T.alloc_shared((bk, bm), "float16")
            sums = T.alloc_fragment((bm, bm), "float32")
            out = T.alloc_shared((bm, bm), "float16")
            for by, bx in T.Persistent([size // bm, size // bm], ctas, cta):
                T.clear(sums)
                for step in T.Pipelined(128 // bk, num_stages=3):
                    T.copy(A[by * bm, step * bk], left)
                    T.copy(B[step * bk, bx * bm], right)
                    T.gemm(left, right, sums)
                T.copy(sums, out)
                T.copy(out, C[by * bm, bx * bm])

    multiplied(kernel, gpu)


@pytest.mark.parametrize("gpu", ARCHS)
def test_parts_of_k_are_added_up_in_memory(gpu: str) -> None:
    size, block, parts = 128, 64, 2

    @T.prim_func
    def kernel(A: T.Tensor((size, 256), "float16"), B: T.Tensor((size, 256), "float16"),
               C: T.Tensor((size, size), "float32")):  # fmt: skip
        with T.Kernel(size // block, size // block, parts, threads=128) as (bx, by, bz):
            left = T.alloc_shared((block, 32), "float16")
            right = T.alloc_shared((block, 32), "float16")
            sums = T.alloc_fragment((block, block), "float32")
            T.clear(sums)
            for step in T.Pipelined(256 // parts // 32, num_stages=2):
                T.copy(A[by * block, bz * (256 // parts) + step * 32], left)
                T.copy(B[bx * block, bz * (256 // parts) + step * 32], right)
                T.gemm(left, right, sums, transpose_B=True)
            for i, j in T.Parallel(block, block):
                T.atomic_add(C[by * block + i, bx * block + j], sums[i, j])

    multiplied(kernel, gpu, turned=True, schedules=1)


def by_hand(loads: str, stages: int = 2, size: int = 128, depth: int = 256) -> PrimFunc:
    """A producer and a consumer that the program names, with mbarriers of its own. loads: "copy" or "tma"."""
    block, bk, rounds = 128, 64, depth // 64

    @T.prim_func
    def kernel(A: T.Tensor((size, depth), "float16"), B: T.Tensor((depth, size), "float16"),
               C: T.Tensor((size, size), "float16")):  # fmt: skip
        with T.Kernel(size // block, size // block, threads=256) as (bx, by):
            left = T.alloc_shared((stages, block, bk), "float16")
            right = T.alloc_shared((stages, bk, block), "float16")
            sums = T.alloc_fragment((block, block), "float32")
            full = T.alloc_barrier([128] * stages)
            empty = T.alloc_barrier([128] * stages)
            with T.ws(1):
                for k in T.serial(rounds):
                    T.mbarrier_wait_parity(empty[k % stages], ((k // stages) % 2) ^ 1)
                    rows, columns = slice(by * block, (by + 1) * block), slice(bx * block, (bx + 1) * block)
                    along = slice(k * bk, (k + 1) * bk)
                    if loads == "tma":
                        T.tma_copy(A[rows, along], left[k % stages, :, :], barrier=full[k % stages])
                        T.tma_copy(B[along, columns], right[k % stages, :, :], barrier=full[k % stages])
                    else:
                        T.copy(A[rows, along], left[k % stages, :, :])
                        T.copy(B[along, columns], right[k % stages, :, :])
                    T.mbarrier_arrive(full[k % stages])
            with T.ws(0):
                T.clear(sums)
                for k in T.serial(rounds):
                    T.mbarrier_wait_parity(full[k % stages], (k // stages) % 2)
                    T.wgmma_gemm(left[k % stages, :, :], right[k % stages, :, :], sums)
                    T.wait_wgmma(0)
                    T.mbarrier_arrive(empty[k % stages])
                T.copy(sums, C[by * block, bx * block])

    return kernel


@pytest.mark.parametrize("loads", ["copy", "tma"])
def test_warpgroups_with_roles_of_their_own(loads: str) -> None:
    multiplied(by_hand(loads))


def in_tensor_memory(
    explicit: bool, stages: int = 3, bm: int = 128, bn: int = 128, threads: int = 128, through_shared: bool = True
) -> PrimFunc:
    m, n, k, bk = 256, 256, 320, 64

    @T.prim_func
    def kernel(A: T.Tensor((m, k), "float16"), B: T.Tensor((n, k), "float16"), C: T.Tensor((m, n), "float16")):
        with T.Kernel(n // bn, m // bm, threads=threads) as (bx, by):
            left = T.alloc_shared((bm, bk), "float16")
            right = T.alloc_shared((bn, bk), "float16")
            sums = T.alloc_tmem((bm, bn), "float32")
            done = T.alloc_barrier(1)
            result = T.alloc_fragment((bm, bn), "float32")
            out = T.alloc_shared((bm, bn), "float16")
            for step in T.Pipelined(k // bk, num_stages=stages):
                T.copy(A[by * bm, step * bk], left)
                T.copy(B[bx * bn, step * bk], right)
                if explicit:
                    T.tcgen05_gemm(left, right, sums, transpose_B=True, mbar=done, clear_accum=step == 0)
                    T.mbarrier_wait_parity(done, step % 2)
                else:
                    T.gemm(left, right, sums, transpose_B=True, mbar=done, clear_accum=step == 0)
            T.copy(sums, result)
            if through_shared:
                T.copy(result, out)
                T.copy(out, C[by * bm, bx * bn])
            else:
                T.copy(result, C[by * bm, bx * bn])

    return kernel


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize(
    "options", [{}, {"stages": 0}, {"bm": 256}, {"bn": 256, "threads": 256}, {"through_shared": False}]
)
def test_products_in_tensor_memory(explicit: bool, options: dict[str, Any]) -> None:
    multiplied(in_tensor_memory(explicit, **options), "b200", turned=True)


def attention(length: int, dim: int, causal: bool, block: int = 64, threads: int = 128) -> PrimFunc:
    scale = 1.44269504 / dim**0.5
    shape = (1, length, 2, dim)

    @T.prim_func
    def kernel(Q: T.Tensor(shape, "float16"), K: T.Tensor(shape, "float16"), V: T.Tensor(shape, "float16"),
               Output: T.Tensor(shape, "float16")):  # fmt: skip
        with T.Kernel(length // block, 2, 1, threads=threads) as (bx, by, bz):
            queries = T.alloc_shared((block, dim), "float16")
            keys = T.alloc_shared((block, dim), "float16")
            values = T.alloc_shared((block, dim), "float16")
            scores = T.alloc_fragment((block, block), "float32")
            weights = T.alloc_fragment((block, block), "float16")
            result = T.alloc_fragment((block, dim), "float32")
            largest = T.alloc_fragment((block,), "float32")
            before = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            added = T.alloc_fragment((block,), "float32")
            T.copy(Q[bz, bx * block : (bx + 1) * block, by, :], queries)
            T.clear(result)
            T.clear(total)
            T.fill(largest, -T.infinity("float32"))
            for step in T.Pipelined(bx + 1 if causal else length // block, num_stages=2):
                T.copy(K[bz, step * block : (step + 1) * block, by, :], keys)
                for i, j in T.Parallel(block, block):
                    seen = (bx * block + i >= step * block + j) if causal else True
                    scores[i, j] = T.if_then_else(seen, 0, -T.infinity("float32"))
                T.gemm(queries, keys, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
                T.reduce_sum(scores, added, dim=1)
                for i in T.Parallel(block):
                    total[i] = total[i] * T.exp2(before[i] * scale - largest[i] * scale) + added[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block, dim):
                    result[i, j] *= T.exp2(before[i] * scale - largest[i] * scale)
                T.copy(V[bz, step * block : (step + 1) * block, by, :], values)
                T.gemm(weights, values, result, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block, dim):
                result[i, j] /= total[i]
            T.copy(result, Output[bz, bx * block : (bx + 1) * block, by, :])

    return kernel


@pytest.mark.parametrize("gpu", ARCHS)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(gpu: str, causal: bool) -> None:
    length, dim = 192, 64
    rng = np.random.default_rng(1)
    q, k, v = (rng.normal(size=(1, length, 2, dim)).astype(np.float16) for _ in range(3))
    heads = [array.astype(np.float32).transpose(0, 2, 1, 3) for array in (q, k, v)]
    scores = heads[0] @ heads[1].transpose(0, 1, 3, 2) / dim**0.5
    if causal:
        scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = (weights / weights.sum(-1, keepdims=True) @ heads[2]).transpose(0, 2, 1, 3)
    check(attention(length, dim, causal), expected, q, k, v, np.zeros_like(q), gpu=gpu, schedules=2)


@pytest.mark.compiler
def test_programs_compile() -> None:
    found = [
        (matmul(256, 256, 256, 128, 128, 64, stages=3, threads=256, swizzle=True), "sm_90a"),
        (by_hand("tma"), "sm_90a"),
        (attention(192, 64, True), "sm_90a"),
        (in_tensor_memory(explicit=False), "sm_100a"),
        (in_tensor_memory(explicit=True), "sm_100a"),
        (attention(192, 64, True), "sm_100a"),
    ]
    for func, arch in found:
        exe = tvm.compile(tvm.IRModule({"main": lower(func, arch)}), target=f"cuda:{arch}")
        assert exe.source("ptx")
