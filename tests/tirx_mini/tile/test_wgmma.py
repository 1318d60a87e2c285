"""gemm_async by wgmma: operands in either orientation, in any warpgroup; products against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import DataType, PrimFunc
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.passes import lower
from tirx_mini.script import tirx as Tx

MODES = [SwizzleMode.SWIZZLE_128B_ATOM, SwizzleMode.SWIZZLE_64B_ATOM, SwizzleMode.SWIZZLE_32B_ATOM]
WARPGROUPS, M, K = 2, 128, 64


def product(n: int, mode: SwizzleMode, turned_a: bool, turned_b: bool, sums: str = "float32") -> PrimFunc:
    """D = A Bᵀ for one tile of 128 × n, 64 rows for each of two warpgroups. sums: the dtype of D."""
    shape_a, shape_b = (K, M) if turned_a else (M, K), (K, n) if turned_b else (n, K)
    layout_a, layout_b = (tma_shared_layout("float16", mode, shape) for shape in (shape_a, shape_b))
    rows, registers = M // WARPGROUPS, M * n // WARPGROUPS // 128

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer(shape_a, "float16"), B: Tx.Buffer(shape_b, "float16"), D: Tx.Buffer((M, n), sums)):
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
            acc = Tx.alloc_local((registers,), sums)
            tile = acc.view(rows, n, layout=wgmma_accumulator_layout(n, rows))
            first = Tx.meta_var(wg_id * rows)
            with Tx.warpgroup():
                Tx.ptx.wgmma.fence()
                if turned_a:
                    Tx.gemm_async(tile, As[:, first : first + rows], Bs, transA=True, transB=turned_b, dispatch="wgmma")
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


@pytest.mark.parametrize("turned_a, turned_b, n", [(False, False, 8), (False, False, 128), (True, True, 128)])
def test_sums_of_float16_are_rounded_after_each_instruction(turned_a: bool, turned_b: bool, n: int) -> None:
    random = np.random.default_rng(1)
    a, b = (random.normal(size=shape).astype(np.float16) for shape in ((M, K), (n, K)))
    left, right = (np.ascontiguousarray(m.T if turned else m) for m, turned in ((a, turned_a), (b, turned_b)))
    kernel = product(n, MODES[0], turned_a, turned_b, "float16")
    expected = np.zeros((M, n), np.float16)
    for step in range(0, K, 16):
        part = a[:, step : step + 16].astype(np.float32) @ b[:, step : step + 16].astype(np.float32).T
        expected = (expected + part).astype(np.float16)
    d = np.zeros((M, n), np.float16)
    report = tvm.simulate(kernel, left, right, d, gpu="h100")
    assert report.ok and not report.findings, report
    np.testing.assert_allclose(d, expected, atol=2e-3)
    assert (d == expected).mean() > 0.99


def test_orientation_is_in_the_ptx() -> None:
    source = cuda_source(lower(product(64, MODES[0], False, True))).text
    assert "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16" in source
    assert "1, 1, 0, 1;" in source
    source = cuda_source(lower(product(64, MODES[0], False, False, "float16"))).text
    assert "wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 {%0, %1" in source and "%15}" in source


def attention(keys: int, waits: bool = True, fences: bool = True) -> PrimFunc:
    """O = (Q Kᵀ as float16) V for 64 queries of 64 columns: the first product is the A of the second, in registers."""
    mode = SwizzleMode.SWIZZLE_128B_ATOM
    layouts = [tma_shared_layout("float16", mode, (rows, 64)) for rows in (64, keys, keys)]

    @Tx.prim_func(tirx=True)
    def kernel(
        Q: Tx.Buffer((64, 64), "float16"),
        K: Tx.Buffer((keys, 64), "float16"),
        V: Tx.Buffer((keys, 64), "float16"),
        Out: Tx.Buffer((64, 64), "float32"),
    ):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            warp_id = Tx.warp_id([4], parent="cta")
            lane_id = Tx.thread_id([32], parent="warp")
            pool = Tx.PoolAllocator()
            Qs = pool.alloc((64, 64), "float16", layout=layouts[0])
            Ks = pool.alloc((keys, 64), "float16", layout=layouts[1])
            Vs = pool.alloc((keys, 64), "float16", layout=layouts[2])
            pool.commit()
            with Tx.cta():
                Tx.copy(Qs, Q)
                Tx.copy(Ks, K)
                Tx.copy(Vs, V)
            Tx.cuda.cta_sync()
            s = Tx.alloc_local((keys // 2,), "float32")
            p = Tx.alloc_local((keys // 2,), "float16")
            o = Tx.alloc_local((32,), "float32")
            S = s.view(64, keys, layout=wgmma_accumulator_layout(keys))
            P = p.view(64, keys, layout=wgmma_accumulator_layout(keys))
            out = o.view(64, 64, layout=wgmma_accumulator_layout(64))
            with Tx.warpgroup():
                Tx.ptx.wgmma.fence()
                Tx.gemm_async(S, Qs, Ks, dispatch="wgmma")
                Tx.ptx.wgmma.commit_group()
                Tx.ptx.wgmma.wait_group(0)
            with Tx.thread():
                Tx.cast(p, s)
            with Tx.warpgroup():
                if fences:
                    Tx.ptx.wgmma.fence()
                Tx.gemm_async(out, P, Vs, transB=True, dispatch="wgmma")
                Tx.ptx.wgmma.commit_group()
            if not waits:
                p[0] = Tx.float16(0.0)
            with Tx.warpgroup():
                Tx.ptx.wgmma.wait_group(0)
            for i in Tx.serial(32):
                Out[warp_id * 16 + i // 2 % 2 * 8 + lane_id // 4, i // 4 * 8 + lane_id % 4 * 2 + i % 2] = o[i]

    return kernel


def attend(keys: int, **mistakes: bool) -> tuple[tvm.Report, np.ndarray, np.ndarray]:
    """The report, the result and what it should be."""
    random = np.random.default_rng(0)
    q, k, v = (random.integers(-2, 3, (rows, 64)).astype(np.float16) for rows in (64, keys, keys))
    o = np.zeros((64, 64), np.float32)
    report = tvm.simulate(attention(keys, **mistakes), q, k, v, o, gpu="h100")
    scores = (q.astype(np.float32) @ k.astype(np.float32).T).astype(np.float16)
    return report, o, scores.astype(np.float32) @ v.astype(np.float32)


@pytest.mark.parametrize("keys", [16, 64, 128])
def test_a_in_registers(keys: int) -> None:
    report, o, expected = attend(keys)
    assert report.verdict == "ok" and not report.findings
    assert (o == expected).all()
    assert "wgmma.mma_async.sync.aligned.m64n64k16" in cuda_source(lower(attention(keys))).text


def test_registers_of_a_belong_to_the_mma_until_the_wait() -> None:
    report, _, _ = attend(64, waits=False)
    assert [finding.kind for finding in report.findings] == ["missing-wgmma-wait"]


def test_registers_of_a_need_the_fence() -> None:
    report, _, _ = attend(64, fences=False)
    assert "missing-wgmma-fence" in [finding.kind for finding in report.findings]


def narrow(dtype: str, result: str, transposed: bool = False) -> PrimFunc:
    """D = A Bᵀ for 64 × 32 sums over 128 bytes of K; transposed: whether B is given as K × N."""
    depth = 1024 // DataType(dtype).bits
    shape_b = (depth, 32) if transposed else (32, depth)
    layouts = [tma_shared_layout(dtype, SwizzleMode.SWIZZLE_32B_ATOM, shape) for shape in ((64, depth), shape_b)]

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer((64, depth), dtype), B: Tx.Buffer(shape_b, dtype), D: Tx.Buffer((64, 32), result)):
        Tx.device_entry()
        cta = Tx.cta_id([1])
        group = Tx.warpgroup_id([1])
        thread = Tx.thread_id([128])
        pool = Tx.PoolAllocator()
        As = pool.alloc((64, depth), dtype, layout=layouts[0])
        Bs = pool.alloc(shape_b, dtype, layout=layouts[1])
        pool.commit()
        acc = Tx.alloc_local((16,), result)
        tile = acc.view(64, 32, layout=wgmma_accumulator_layout(32))
        with Tx.cta():
            Tx.copy(As, A)
            Tx.copy(Bs, B)
        Tx.cuda.cta_sync()
        with Tx.warpgroup():
            Tx.ptx.wgmma.fence()
            Tx.gemm_async(tile, As, Bs, transB=transposed, dispatch="wgmma")
            Tx.ptx.wgmma.commit_group()
            Tx.ptx.wgmma.wait_group(0)
            Tx.copy(D, tile)

    return kernel


NARROW = {
    "float32": ("float32", "k8.f32.tf32.tf32"), "float8_e4m3fn": ("float32", "k32.f32.e4m3.e4m3"),
    "float8_e5m2": ("float32", "k32.f32.e5m2.e5m2"), "int8": ("int32", "k32.s32.s8.s8"),
    "uint8": ("int32", "k32.s32.u8.u8"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", NARROW)
def test_operands_of_other_types(dtype: str) -> None:
    result, instruction = NARROW[dtype]
    kernel = narrow(dtype, result)
    numbers, element = np.random.default_rng(0), np.dtype(getattr(ml_dtypes, dtype, dtype))
    low = 0 if dtype == "uint8" else -4
    depth = 1024 // DataType(dtype).bits
    a, b = (numbers.integers(low, 5, (rows, depth)).astype(element) for rows in (64, 32))
    d = np.zeros((64, 32), result)
    assert tvm.simulate(kernel, a, b, d, gpu="h100").ok
    assert np.array_equal(d, (a.astype(np.int32) @ b.astype(np.int32).T).astype(result))
    assert f"wgmma.mma_async.sync.aligned.m64n32{instruction} " in cuda_source(lower(kernel)).text


def test_operands_of_other_types_lie_along_k() -> None:
    report = tvm.simulate(narrow("int8", "int32", transposed=True), gpu="h100", data=False)
    assert "operands of int8 must be contiguous along K" in str(report)
    assert "int8 or uint8 into int32, not int8" in str(tvm.simulate(narrow("int8", "float32"), gpu="h100", data=False))
