"""wgmma: shapes, types, swizzles, accumulation, operands across K. Small integers make every sum exact."""

from __future__ import annotations

from tirx_mini.isa import SmemDescriptor
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as T

from .case import Built, Case, blank, small_integers
from .copies import SWIZZLES


def product(m: int, n: int, k: int, dtype: str, swizzle: str, accumulate: bool, sums: str = "") -> Built:
    """D = A Bᵀ over `k`; with `accumulate`, twice that by a second pass. sums: the dtype of D."""
    A_layout, B_layout = (tma_shared_layout(dtype, SWIZZLES[swizzle], (rows, k)) for rows in (m, n))
    fragment = wgmma_accumulator_layout(n, m)
    result = sums or ("int32" if dtype in ("int8", "uint8") else "float32")

    @T.prim_func
    def kernel(A: T.Buffer((m, k), dtype), B: T.Buffer((n, k), dtype), D: T.Buffer((m, n), result)):
        T.device_entry()
        cta = T.cta_id([1])
        wg = T.warpgroup_id([1])
        tx = T.thread_id([128])
        pool = T.PoolAllocator()
        Asmem = pool.alloc((m, k), dtype, layout=A_layout, align=1024)
        Bsmem = pool.alloc((n, k), dtype, layout=B_layout, align=1024)
        pool.commit()
        registers = T.alloc_local((m * n // 128,), result)
        acc = registers.view(m, n, layout=fragment)
        with T.cta():
            T.copy(Asmem[:, :], A[:, :])
            T.copy(Bsmem[:, :], B[:, :])
        T.cuda.cta_sync()
        with T.warpgroup():
            T.ptx.wgmma.fence()
            T.gemm_async(acc[:, :], Asmem[:, :], Bsmem[:, :], accum=False, dispatch="wgmma")
            T.ptx.wgmma.commit_group()
            T.ptx.wgmma.wait_group(0)
            if accumulate:
                T.ptx.wgmma.fence()
                T.gemm_async(acc[:, :], Asmem[:, :], Bsmem[:, :], accum=True, dispatch="wgmma")
                T.ptx.wgmma.commit_group()
                T.ptx.wgmma.wait_group(0)
            T.copy(D[:, :], acc[:, :])

    return kernel, (small_integers((m, k), dtype, 1), small_integers((n, k), dtype, 2), blank((m, n), result))


def two_groups() -> Built:
    """Two products in flight; the first is used while the second may still run."""
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))
    fragment = wgmma_accumulator_layout(64, 64)

    @T.prim_func
    def kernel(A: T.Buffer((64, 64), "float16"), B: T.Buffer((64, 64), "float16"), D: T.Buffer((2, 64, 64), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        wg = T.warpgroup_id([1])
        tx = T.thread_id([128])
        pool = T.PoolAllocator()
        Asmem = pool.alloc((64, 64), "float16", layout=layout)
        Bsmem = pool.alloc((64, 64), "float16", layout=layout)
        pool.commit()
        one = T.alloc_local((32,), "float32")
        two = T.alloc_local((32,), "float32")
        first = one.view(64, 64, layout=fragment)
        second = two.view(64, 64, layout=fragment)
        with T.cta():
            T.copy(Asmem[:, :], A[:, :])
            T.copy(Bsmem[:, :], B[:, :])
        T.cuda.cta_sync()
        with T.warpgroup():
            T.ptx.wgmma.fence()
            T.gemm_async(first[:, :], Asmem[:, :], Bsmem[:, :], accum=False, dispatch="wgmma")
            T.ptx.wgmma.commit_group()
            T.gemm_async(second[:, :], Bsmem[:, :], Asmem[:, :], accum=False, dispatch="wgmma")
            T.ptx.wgmma.commit_group()
            T.ptx.wgmma.wait_group(1)
            T.copy(D[0, :, :], first[:, :])
            T.ptx.wgmma.wait_group(0)
            T.copy(D[1, :, :], second[:, :])

    return kernel, (small_integers((64, 64), "float16", 1), small_integers((64, 64), "float16", 2),
                    blank((2, 64, 64), "float32"))  # fmt: skip


def transposed(n: int, dtype: str, ptx: str, a: bool, b: bool) -> Built:
    """One MMA whose operands are stored along M or N: a K × M tile, 64 elements (128 bytes) of M to a slab.

    The registers come out as the instruction leaves them.
    """
    rows = {"A": (16, 64) if a else (64, 16), "B": (16, n) if b else (n, 16)}
    swizzle = {name: 128 if turned else 32 for name, turned in (("A", a), ("B", b))}
    layouts = {name: tma_shared_layout(dtype, SWIZZLES[f"{swizzle[name]}-byte"], shape) for name, shape in rows.items()}
    # Along M or N: the next slab of 64, the next 8 of K. Along K: (unused), the next 8 rows.
    strides = {name: (2048, 1024) if turned else (16, 256) for name, turned in (("A", a), ("B", b))}
    A_rest, B_rest = (SmemDescriptor(0, *strides[name], swizzle[name]).encode("wgmma") for name in "AB")
    A_shape, B_shape, A_layout, B_layout = rows["A"], rows["B"], layouts["A"], layouts["B"]

    @T.prim_func
    def kernel(A: T.Buffer(A_shape, dtype), B: T.Buffer(B_shape, dtype), D: T.Buffer((128, n // 2), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([128])
        pool = T.PoolAllocator()
        Asmem = pool.alloc(A_shape, dtype, layout=A_layout, align=1024)
        Bsmem = pool.alloc(B_shape, dtype, layout=B_layout, align=1024)
        pool.commit()
        acc = T.alloc_local((n // 2,), "float32")
        with T.cta():
            T.copy(Asmem[:, :], A[:, :])
            T.copy(Bsmem[:, :], B[:, :])
        T.cuda.cta_sync()
        A_desc: T.let = T.Cast("uint64", T.Cast("uint32", Asmem.ptr_to([0, 0])) >> 4) | T.uint64(A_rest)
        B_desc: T.let = T.Cast("uint64", T.Cast("uint32", Bsmem.ptr_to([0, 0])) >> 4) | T.uint64(B_rest)
        T.ptx.wgmma.fence()
        T.ptx.wgmma.mma_async(acc.ptr_to([0]), A_desc, B_desc, False, n=n, dtype=ptx, transpose_a=a, transpose_b=b)
        T.ptx.wgmma.commit_group()
        T.ptx.wgmma.wait_group(0)
        for i in T.unroll(n // 2):
            D[tx, i] = acc[i]

    return kernel, (small_integers(A_shape, dtype, 1), small_integers(B_shape, dtype, 2),
                    blank((128, n // 2), "float32"))  # fmt: skip


def chained(keys: int, dtype: str, result: str = "float32") -> Built:
    """O = (Q Kᵀ, converted) V: the first product is matrix A of the second, and stays in registers."""
    mode = SwizzleMode.SWIZZLE_128B_ATOM
    layouts = [tma_shared_layout(dtype, mode, (rows, 64)) for rows in (64, keys)]
    fragment = wgmma_accumulator_layout(keys)

    @T.prim_func
    def kernel(
        Q: T.Buffer((64, 64), dtype),
        K: T.Buffer((keys, 64), dtype),
        V: T.Buffer((keys, 64), dtype),
        Out: T.Buffer((64, 64), result),
    ):
        T.device_entry()
        cta = T.cta_id([1])
        wg = T.warpgroup_id([1])
        tx = T.thread_id([128])
        pool = T.PoolAllocator()
        Qs = pool.alloc((64, 64), dtype, layout=layouts[0], align=1024)
        Ks = pool.alloc((keys, 64), dtype, layout=layouts[1], align=1024)
        Vs = pool.alloc((keys, 64), dtype, layout=layouts[1], align=1024)
        pool.commit()
        scores = T.alloc_local((keys // 2,), "float32")
        weights = T.alloc_local((keys // 2,), dtype)
        sums = T.alloc_local((32,), result)
        S = scores.view(64, keys, layout=fragment)
        P = weights.view(64, keys, layout=fragment)
        out = sums.view(64, 64, layout=wgmma_accumulator_layout(64))
        with T.cta():
            T.copy(Qs[:, :], Q[:, :])
            T.copy(Ks[:, :], K[:, :])
            T.copy(Vs[:, :], V[:, :])
        T.cuda.cta_sync()
        with T.warpgroup():
            T.ptx.wgmma.fence()
            T.gemm_async(S[:, :], Qs[:, :], Ks[:, :], accum=False, dispatch="wgmma")
            T.ptx.wgmma.commit_group()
            T.ptx.wgmma.wait_group(0)
        with T.thread():
            T.cast(weights[:], scores[:])
        with T.warpgroup():
            T.ptx.wgmma.fence()
            T.gemm_async(out[:, :], P[:, :], Vs[:, :], accum=False, dispatch="wgmma", transB=True)
            T.ptx.wgmma.commit_group()
            T.ptx.wgmma.wait_group(0)
            T.copy(Out[:, :], out[:, :])

    return kernel, (*(small_integers((rows, 64), dtype, i) for i, rows in enumerate((64, keys, keys))),
                    blank((64, 64), result))  # fmt: skip


TENSOR_CORE = (
    *(
        Case("wgmma", f"{m} × {n} × {k} {dtype}, {swizzle} swizzle{', accumulated' * twice}",
             lambda a=(m, n, k, dtype, swizzle, twice): product(*a))
        for m, n, k, dtype, swizzle, twice in (
            (64, 8, 64, "float16", "128-byte", False), (64, 24, 64, "bfloat16", "128-byte", False),
            (64, 64, 64, "float16", "128-byte", True), (64, 128, 128, "float16", "128-byte", False),
            (128, 128, 64, "bfloat16", "128-byte", True), (64, 256, 64, "float16", "128-byte", False),
            (64, 64, 32, "float16", "64-byte", False), (64, 32, 16, "bfloat16", "32-byte", True),
            (64, 64, 16, "float16", "no", False), (64, 64, 64, "float32", "128-byte", True),
            (128, 32, 128, "float8_e4m3fn", "128-byte", True), (64, 128, 64, "float8_e5m2", "64-byte", False),
            (64, 64, 128, "int8", "128-byte", True), (64, 24, 128, "uint8", "128-byte", False),
        )
    ),
    *(
        Case("wgmma", f"{m} × {n} × {k} {dtype} into float16, {swizzle} swizzle{', accumulated' * twice}",
             lambda a=(m, n, k, dtype, swizzle, twice, "float16"): product(*a))
        for m, n, k, dtype, swizzle, twice in (
            (64, 8, 64, "float16", "128-byte", False), (128, 128, 64, "float16", "128-byte", True),
            (64, 256, 32, "float16", "64-byte", True), (64, 64, 128, "float8_e4m3fn", "128-byte", True),
            (64, 24, 64, "float8_e5m2", "64-byte", False),
        )
    ),
    Case("wgmma", "A in registers, 64 keys, float16 into float16", lambda: chained(64, "float16", "float16")),
    Case("wgmma", "two groups, wait_group 1", two_groups),
    Case("wgmma", "A in registers, 64 keys, float16", lambda: chained(64, "float16")),
    Case("wgmma", "A in registers, 128 keys, bfloat16", lambda: chained(128, "bfloat16")),
    *(
        Case("wgmma", f"64 × {n} × 16 {ptx}, {what} along M or N",
             lambda a=(n, dtype, ptx, turned_a, turned_b): transposed(*a))
        for n, dtype, ptx, turned_a, turned_b, what in (
            (64, "float16", "f16", False, True, "B"), (64, "float16", "f16", True, False, "A"),
            (128, "bfloat16", "bf16", True, True, "A and B"),
        )
    ),
)  # fmt: skip
