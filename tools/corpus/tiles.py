"""Tile primitives of the course's dialect: products, copies and reductions in each scope, of many types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

from tirx_mini.ir import PrimFunc
from tirx_mini.layout import S, SwizzleMode, TileLayout, laneid, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as T

from .program import HOPPER, Program

MODES = (SwizzleMode.SWIZZLE_128B_ATOM, SwizzleMode.SWIZZLE_64B_ATOM, SwizzleMode.SWIZZLE_32B_ATOM)
TYPES = ("float32", "float16", "bfloat16", "float64", "int32", "uint32")
FRAGMENT = TileLayout(S[(2, 8, 8, 4, 2) : (2, 4 @ laneid, 4, 1 @ laneid, 1)])


def warpgroup_product(n: int, mode: SwizzleMode, turned: bool, dtype: str) -> PrimFunc:
    """D = A Bᵀ, or A B, of 64 × n by wgmma."""
    shape = (64, n) if turned else (n, 64)

    @T.prim_func(tirx=True)
    def kernel(A: T.Buffer((64, 64), dtype), B: T.Buffer(shape, dtype), D: T.Buffer((64, n), "float32")):
        with T.kernel():
            T.cta_id([1], parent="kernel")
            T.warpgroup_id([1], parent="cta")
            warp = T.warp_id([4], parent="warpgroup")
            lane = T.thread_id([32], parent="warp")
            pool = T.PoolAllocator()
            a = pool.alloc((64, 64), dtype, layout=tma_shared_layout(dtype, mode, (64, 64)))
            b = pool.alloc(shape, dtype, layout=tma_shared_layout(dtype, mode, shape))
            pool.commit()
            with T.cta():
                T.copy(a, A)
                T.copy(b, B)
            T.cuda.cta_sync()
            sums = T.alloc_local((n // 2,), "float32")
            with T.warpgroup():
                T.ptx.wgmma.fence()
                T.gemm_async(
                    sums.view(64, n, layout=wgmma_accumulator_layout(n, 64)), a, b, transB=turned, dispatch="wgmma"
                )
                T.ptx.wgmma.commit_group()
                T.ptx.wgmma.wait_group(0)
            for i in T.serial(n // 2):
                D[warp * 16 + i // 2 % 2 * 8 + lane // 4, i // 4 * 8 + lane % 4 * 2 + i % 2] = sums[i]

    return kernel


def shared_reduction(op: str, dtype: str, rows: int, columns: int) -> PrimFunc:
    """Of the rows of a tile in shared memory, by a CTA."""

    @T.prim_func
    def kernel(A: T.Buffer((rows, columns), dtype), B: T.Buffer((rows,), dtype)):
        T.device_entry()
        T.thread_id([128])
        tile = T.alloc_shared((rows, columns), dtype)
        result = T.alloc_shared((rows,), dtype)
        T.cta.copy(tile[:, :], A[:, :])
        T.cuda.cta_sync()
        getattr(T.cta, op)(result[:], tile[:, :])
        T.cuda.cta_sync()
        T.cta.copy(B[:], result[:])

    return kernel


def warp_reduction(op: str, together: bool) -> PrimFunc:
    """Of a fragment in the registers of a warp."""

    @T.prim_func
    def kernel(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 4), "float32")):
        T.device_entry()
        T.lane_id([32])
        T.thread_id([32])
        a = T.alloc_local((16, 64), "float32", layout=FRAGMENT)
        b = T.alloc_local((16, 4), "float32", layout=TileLayout(S[(2, 8, 4) : (1, 4 @ laneid, 1 @ laneid)]))
        T.warp.copy(a, A)
        getattr(T.warp, op)(b, a, [-1], False, thread_reduce=together)
        T.warp.copy(B, b)

    return kernel


def tile_primitives() -> Iterator[Program]:
    """Each has the name of its primitive and its types."""
    for n, mode, turned in ((64, MODES[0], False), (128, MODES[0], True), (64, MODES[1], False), (32, MODES[2], False)):
        for dtype in ("float16", "bfloat16"):
            made = partial(warpgroup_product, n, mode, turned, dtype)
            yield Program(
                f"wgmma: {n} columns, {mode.name}, turned={turned}, {dtype}", lambda gpu, made=made: made(), gpus=HOPPER
            )
    for op, dtype, shape in product(("sum", "max"), TYPES, ((16, 64), (3, 100))):
        made = partial(shared_reduction, op, dtype, *shape)
        yield Program(f"T.cta.{op}: {shape} of {dtype}", lambda gpu, made=made: made())
    for op, together in product(("sum", "max", "min"), (False, True)):
        made = partial(warp_reduction, op, together)
        yield Program(f"T.warp.{op}, thread_reduce={together}", lambda gpu, made=made: made())
