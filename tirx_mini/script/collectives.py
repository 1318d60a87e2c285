"""Collective calls of the native dialect: shuffles, reductions and register counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tirx_mini.ir import Expr, TirxError, as_expr, const, int_value, special
from tirx_mini.tile import OPS
from tirx_mini.wording import described

from .builder import current
from .handles import load
from .instructions import namespace, raw_call
from .memory import alloc_local

FULL_WARP = 0xFFFFFFFF


def shuffle(kind: str, mask: object, value: object, lane: object, width: object = 32, warp_size: object = 32) -> Expr:
    """Return another lane's value: ``T.tvm_warp_shuffle_xor(mask, value, lane_mask, 32, 32)``. All 32 lanes take part.
    """
    for name, given, needed in (("mask", mask, FULL_WARP), ("width", width, 32), ("warp_size", warp_size, 32)):
        known = int_value(given)
        if known is not None and known % 2**32 != needed:
            raise TirxError(f"a shuffle involves all 32 lanes of a warp, but {name} is {known:#x}")
    return getattr(namespace().ptx.shfl, kind)(value, lane)


def shuffle_in_segments(kind: str, mask: object, value: object, lane: object, width: object = 32) -> Expr:
    """Shuffle within segments of `width` lanes, as CUDA's ``T.cuda.__shfl_xor_sync(mask, value, lane_mask, width)``."""
    if int_value(mask) == FULL_WARP and int_value(width) == 32:
        return shuffle(kind, mask, value, lane)
    return raw_call(f"shfl.{kind}.segment", value, lane, mask, width=width)


def active_mask() -> Expr:
    """Return the mask of active lanes: always all 32, since collectives involve the whole warp."""
    return const(FULL_WARP, "uint32")


def reduce(unit: str, op: str, value: object, *args: object, **options: object) -> Expr:
    """Reduce one value per thread over its warp or CTA by sum, max or min.

    All threads must execute the call, and each of them receives the result: ``T.cuda.warp_sum(value, width=32)``,
    ``T.cuda.cta_sum(value, num_warps, scratch.ptr_to([0]))``.
    """
    builder = current(f"T.cuda.{unit}_{op}")
    primitive = OPS.get(f"{unit}_{op}")
    if primitive is None:
        raise TirxError(f'a reduction over a {unit} must be "sum", "max" or "min", not {described(op)}')
    if len(args) > len(primitive.options):
        raise TirxError(
            f"{unit}_{op} expects a value and {', '.join(primitive.options)}, found {1 + len(args)} arguments"
        )
    expr = as_expr(value)
    result = alloc_local((1,), expr.dtype, name=primitive.name)
    given = dict(zip(primitive.options, args, strict=False)) | options
    builder.emit(primitive.build(result, expr, span=builder.span, scope=unit, **given))
    return load(result, (const(0),))


def _reduce_by(unit: str, value: object, op: str, *args: object, **options: object) -> Expr:
    """Reduce with the operation as the second argument: ``T.cuda.warp_reduce(value, "sum")``."""
    return reduce(unit, op, value, *args, **options)


def set_max_registers(increase: bool, count: int) -> None:
    """Increase or decrease the registers per thread of the warpgroup: ``T.ptx.setmaxnreg(True, 232)``."""
    setmaxnreg = namespace().ptx.setmaxnreg
    (setmaxnreg.inc if increase else setmaxnreg.dec)(count)


def thread_rank() -> Expr:
    """Return the index of the executing thread in its CTA."""
    return special("threadIdx.x")


COLLECTIVES: Mapping[str, Callable[..., Any]] = {
    **{f"cuda.{unit}_{op}": partial(reduce, unit, op) for unit in ("warp", "cta") for op in ("sum", "max", "min")},
    **{f"cuda.{unit}_reduce": partial(_reduce_by, unit) for unit in ("warp", "cta")},
    **{f"tvm_warp_shuffle_{kind}": partial(shuffle, kind) for kind in ("xor", "down", "up")},
    "tvm_warp_shuffle": partial(shuffle, "idx"),
    **{f"cuda.__shfl_{kind}_sync": partial(shuffle_in_segments, kind) for kind in ("xor", "down", "up")},
    "cuda.__shfl_sync": partial(shuffle_in_segments, "idx"),
    "cuda.__activemask": active_mask,
    "tvm_warp_activemask": active_mask,
    "ptx.setmaxnreg": set_max_registers,
    "cuda.thread_rank": thread_rank,
}
"""The functions, by their paths in the `Tx` namespace."""
