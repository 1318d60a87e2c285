"""The pass pipeline of TileLang, which lowers a tile program to per-thread code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tirx_mini.ir import Call, Expr, Pass, PrimFunc, Scope, Seq, TirxError, rewrite, run_passes, seq, symbols
from tirx_mini.passes import insert_barriers

from . import async_copy, gemm, tensor_memory, tma
from .dialect import TILELANG
from .emit import lower_tiles
from .expand import expand_tiles
from .infer import infer_layouts
from .once import store_once
from .pipelining import plan_pipelines
from .place import Rule
from .raster import order_ctas
from .rules import RULES
from .safe_values import fill_outside
from .strided import strides_of
from .teams import number_threads, whole
from .tensor_memory import plan_tensor_memory

FAST_MATH = "tl.enable_fast_math"
"""TileLang's option for approximate functions: subnormal numbers count as zero."""


def fast_math(func: PrimFunc) -> PrimFunc:
    """Enable flush-to-zero approximations if the function's options request fast math."""
    if not dict(func.attrs).get(FAST_MATH):
        return func

    def flushed(node: Expr) -> Expr:
        if not isinstance(node, Call) or ("ftz", False) not in node.attrs:
            return node
        return replace(node, attrs=tuple((name, True if name == "ftz" else value) for name, value in node.attrs))

    return func.with_body(rewrite(func.body, flushed))


def synchronised(func: PrimFunc) -> PrimFunc:
    """Insert barriers between threads that share memory."""
    return func.with_body(insert_barriers(func.body, whole(func).count, roles=True))


def rules() -> Mapping[str, Rule]:
    """Return the lowering rules of all tile operations."""
    return {**RULES, **gemm.RULES, **tma.RULES, **async_copy.RULES, **tensor_memory.RULES}


PASSES: tuple[Pass[PrimFunc], ...] = (
    Pass("NumberThreads", "threads have one number each", lambda func, arch: number_threads(func)),
    Pass(
        "StoreOnce", "of threads that store one value to one place, the first does", lambda func, arch: store_once(func)
    ),
    Pass(
        "FillOutside",
        "reads outside an argument give its T.annotate_safe_value",
        lambda func, arch: fill_outside(func),
    ),
    Pass("OrderCtas", "CTAs take tiles in the order of T.use_swizzle", lambda func, arch: order_ctas(func)),
    Pass("PlanPipelines", "copies of pipelined loops run ahead, by warps of their own", plan_pipelines),
    Pass("PlanTensorMemory", "buffers in tensor memory have columns, products in it mbarriers", plan_tensor_memory),
    Pass("ExpandTiles", "copies, fills and atomics of tiles become parallel loops", expand_tiles),
    Pass("InferLayouts", "each fragment has a layout", lambda func, arch: infer_layouts(func, arch, rules())),
    Pass("LowerTiles", "the code of one thread", lambda func, arch: lower_tiles(func, arch, rules())),
    Pass("FastMath", "approximations flush subnormal numbers, where asked for", lambda func, arch: fast_math(func)),
    Pass("InsertBarriers", "barriers around shared memory", lambda func, arch: synchronised(func)),
)


def is_tilelang(func: PrimFunc) -> bool:
    """Return whether a function is an unlowered TileLang program."""
    return TILELANG in dict(func.attrs)


def launches(func: PrimFunc) -> tuple[PrimFunc, ...]:
    """Split a program into its kernels, one for each `T.Kernel`."""
    parts = func.body.stmts if isinstance(func.body, Seq) else (func.body,)
    bodies = [part for part in parts if isinstance(part, Scope) and part.kind == "kernel"]
    if len(bodies) < 2:
        return (func,)
    around = [part for part in parts if part not in bodies]
    return tuple(
        replace(func.with_body(seq(*around, body)), name=f"{func.name}_{number}" if number else func.name)
        for number, body in enumerate(bodies)
    )


def lower(func: PrimFunc, arch: str, *, after: Callable[[str, PrimFunc], None] | None = None) -> PrimFunc:
    """Lower a TileLang program to a per-thread kernel for `tirx_mini.passes.lower`.

    after: called with the name and the result of each pass.

    Raises `TirxError` for a mistake in the kernel.
    """
    if not is_tilelang(func):
        return func
    unknown = symbols(func)
    if unknown:
        raise TirxError(f"{func.name} has extents that are only known when it is called: {unknown[0].name}", func.span)
    for param in func.params:
        if strides_of(param) is not None:
            raise TirxError(
                f"{param.name} is a T.StridedTensor, which a call of the compiled kernel takes apart",
                param.span or func.span,
                f"call tilelang.compile({func.name})",
            )
    watch = None if after is None else lambda name, before, func: after(name, func)
    return run_passes(func, PASSES, arch, watch=watch).without_attr(TILELANG)
