"""Products of tiles: every instruction, order of operands and policy, in the simulator."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.frontends.tilelang.gemm import (
    MMA_SYNC,
    WGMMA,
    GemmPlan,
    GemmWarpPolicy,
    Operands,
    Product,
    by_warps,
    gemm_plan,
    operand_swizzle,
    wgmma,
)
from tirx_mini.ir import (
    INT32,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    Evaluate,
    Expr,
    For,
    PrimFunc,
    Region,
    Scope,
    ScopeIds,
    Stmt,
    Var,
    const,
    seq,
    special,
)
from tirx_mini.isa import NAMES
from tirx_mini.layout import TileLayout, m, tma_shared_layout, tx
from tirx_mini.tile import OPS

NUMPY = {"float16": np.float16, "float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "int8": np.int8,
         "uint8": np.uint8,
         "int32": np.int32, "float8_e4m3fn": ml_dtypes.float8_e4m3fn}  # fmt: skip


def matrix(rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> np.ndarray:
    return rng.integers(0 if dtype == "uint8" else -3, 4, shape).astype(NUMPY[dtype])


def shared(name: str, shape: tuple[int, int], dtype: str) -> Buffer:
    mode = operand_swizzle(shape[1], DataType(dtype))
    return Buffer(name, shape, DataType(dtype), "shared", tma_shared_layout(dtype, mode, shape))


def copy(dst: Buffer, src: Buffer) -> Stmt:
    return OPS["copy"].build(dst.region(), src.region(), scope="cta")


def sync() -> Stmt:
    return Evaluate(NAMES["cuda.cta_sync"].call())


def registers(name: str, layout: TileLayout, shape: tuple[int, int], dtype: str) -> tuple[Buffer, Buffer]:
    """The registers of a thread, and the tile of the CTA that they are."""
    own = Buffer(name, (layout.cosize(m),), DataType(dtype), "local")
    return own, Buffer(f"{name}_view", shape, own.dtype, "local", layout, own)


def load(own: Buffer, layout: TileLayout, source: Buffer) -> Stmt:
    """Each thread loads the elements that it holds, copies too."""
    register = Var(INT32, "r")
    places = {tx: special("threadIdx.x"), m: register}
    indices: list[Expr] = []
    for dim in layout.dims:
        index, weight = const(0), 1
        for digit in reversed(dim):
            if digit.extent > 1:
                index = index + places[digit.axis] // digit.stride % digit.extent * weight
                weight *= digit.extent
        indices.append(index)
    value = BufferLoad(source.dtype, source, tuple(indices))
    return For(register, const(0), const(own.size), BufferStore(own, (register,), value), unroll=True)


def kernel(plan: GemmPlan, clear: bool) -> PrimFunc:
    """C = (0 or 1) + A B, with all matrices copied from and to global memory."""
    p = plan.product
    a_shape = (p.k, p.m) if p.transpose_a else (p.m, p.k)
    b_shape = (p.n, p.k) if p.transpose_b else (p.k, p.n)
    a, b, c = (
        Buffer(name, shape, dtype)
        for name, shape, dtype in (("A", a_shape, p.dtype), ("B", b_shape, p.b_dtype), ("C", (p.m, p.n), p.sum_dtype))
    )
    b_shared = shared("Bs", b_shape, str(p.b_dtype))
    assert plan.c is not None
    sums, view = registers("sums", plan.c, (p.m, p.n), str(p.sum_dtype))
    fill = OPS["fill"].build(view.region(), const(1, p.sum_dtype), scope="cta")
    loads: list[Stmt] = [AllocBuffer(b_shared), copy(b_shared, b), AllocBuffer(sums), fill]
    if plan.a is None:
        a_shared = shared("As", a_shape, str(p.dtype))
        left: Buffer | Region = a_shared.region()
        loads += [AllocBuffer(a_shared), copy(a_shared, a)]
    else:
        left, _ = registers("a", plan.a, (p.m, p.k), str(p.dtype))
        loads += [AllocBuffer(left), load(left, plan.a, a)]
    operands = Operands(sums, left, b_shared.region(), const(clear))
    code = wgmma(plan, operands) if plan.instruction == WGMMA else by_warps(plan, operands)
    wait = operands.issue("wgmma.wait_group", n=0) if plan.instruction == WGMMA else None
    cta, thread = Var(INT32, "bx"), Var(INT32, "t")
    ids = ScopeIds((cta,), (1,), "cta", "kernel"), ScopeIds((thread,), (p.threads,), "thread", "cta")
    body = seq(*ids, Scope("thread", seq(*loads, sync(), code, wait, copy(c, view))))
    return PrimFunc("product", (a, b, c), Scope("kernel", body))


def cases() -> Iterator[tuple[Product, str]]:
    def product(m: int, n: int, k: int, dtype: str = "float16", total: str = "float32", **more: object) -> Product:
        kinds = DataType(dtype), DataType(dtype), DataType(total)
        return Product(m, n, k, *kinds, **{"a_scope": "shared", "c_scope": "fragment", **more})  # type: ignore[arg-type]

    for ta in (False, True):
        for tb in (False, True):
            yield product(128, 64, 64, transpose_a=ta, transpose_b=tb), WGMMA
            yield product(64, 48, 32, transpose_a=ta, transpose_b=tb), WGMMA
            yield product(32, 48, 32, transpose_a=ta, transpose_b=tb), MMA_SYNC
            yield product(32, 16, 16, "float32", transpose_a=ta, transpose_b=tb), MMA_SYNC
            yield product(32, 64, 64, "int8", "int32", transpose_a=ta, transpose_b=tb), MMA_SYNC
            yield product(64, 32, 32, "float8_e4m3fn", transpose_a=ta, transpose_b=tb, threads=64), MMA_SYNC
    for policy in GemmWarpPolicy:
        yield product(128, 128, 64, threads=256, policy=policy), WGMMA
        yield product(48, 96, 32, threads=64 if policy else 96, policy=policy), MMA_SYNC
    yield product(64, 64, 64, "bfloat16", a_scope="fragment"), WGMMA
    yield product(64, 128, 32, a_scope="fragment", threads=256), WGMMA
    yield product(32, 32, 32, a_scope="fragment"), MMA_SYNC
    yield product(32, 32, 64, "int8", "int32", transpose_b=True), MMA_SYNC
    yield product(32, 32, 64, "float8_e4m3fn", transpose_b=True), MMA_SYNC
    yield product(32, 32, 64, "float16", "float16"), MMA_SYNC
    yield product(16, 8, 16, threads=32), MMA_SYNC
    for dtype, total in (("int8", "int32"), ("uint8", "int32"), ("float8_e4m3fn", "float32"), ("float32", "float32")):
        yield product(64, 48, 64, dtype, total, transpose_b=True), WGMMA
        yield product(64, 48, 64, dtype, total, transpose_b=True, threads=64), MMA_SYNC
    yield product(128, 64, 64, "int8", "int32", transpose_b=True, threads=256), WGMMA
    yield product(64, 40, 64, "int8", "int32", transpose_b=True), MMA_SYNC
    yield product(64, 40, 64, "float8_e4m3fn", transpose_b=True), WGMMA
    yield product(64, 48, 64, "float16", "float16"), WGMMA
    yield product(128, 64, 64, "float16", "float16", a_scope="fragment", threads=256), WGMMA
    yield product(64, 40, 64, "float8_e4m3fn", "float16", transpose_b=True), WGMMA
    yield product(64, 48, 64, "float8_e4m3fn", "float16", transpose_b=True, threads=64), MMA_SYNC
    yield product(64, 48, 32, "float32"), MMA_SYNC
    yield product(64, 64, 32, "uint8", "int32"), MMA_SYNC


@pytest.mark.parametrize("clear", [False, True])
@pytest.mark.parametrize(("product", "instruction"), list(cases()))
def test_products(product: Product, instruction: str, clear: bool) -> None:
    rng = np.random.default_rng(1)
    plan = gemm_plan(product, 90)
    func = kernel(plan, clear)
    arrays = [matrix(rng, tuple(p.shape), str(p.dtype)) for p in func.params if isinstance(p, Buffer)]
    assert plan.instruction == instruction
    report = tvm.simulate(func, *arrays, gpu="h100", schedules=2)
    assert report.ok, str(report)
    a, b = (array.astype(np.float64) for array in arrays[:2])
    expected = (a.T if product.transpose_a else a) @ (b.T if product.transpose_b else b) + (not clear)
    np.testing.assert_allclose(arrays[2].astype(np.float64), expected, rtol=1e-3)


@pytest.mark.compiler
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_products_compile(arch: str) -> None:
    for product, instruction in cases():
        if product.m * product.n <= 64 * 128:
            plan = gemm_plan(product, int(arch[3:-1]))
            assert plan.instruction == (instruction if arch == "sm_90a" else MMA_SYNC)
            exe = tvm.compile(tvm.IRModule({"main": kernel(plan, clear=True)}), target=f"cuda:{arch}")
            assert exe.source("ptx")
