"""float32 arithmetic with a rounding mode, on scalars and pairs (PTX ISA: "Floating Point Instructions").

A pair, .f32x2, is two numbers in a register of 64 bits, the first one in the lower half.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, Literal

import numpy as np

from .core import instruction
from .facts import Scope, SharedFacts
from .floats import FORMATS, Calculation, flushed, flushed_result, greatest, least, sum_to_odd
from .machine import Machine, Thread
from .operands import f32, u32, u64

Rounding = Literal["rn", "rz", "rm", "rp"]
"""The rounding modes: to nearest with ties to even, towards zero, down, and up."""
_FACTS: SharedFacts = {
    "issued_by": Scope.THREAD, "cost": "alu", "pure": True, "lanewise": True, "implied": ("rn",),
}  # fmt: skip


def _rounded(exact: Any, rounding: str) -> Any:
    """Round float64 numbers to float32."""
    with np.errstate(all="ignore"):
        near = np.asarray(exact).astype(np.float32)
        back = near.astype(np.float64)
        down, up = np.float32(-np.inf), np.float32(np.inf)
        over, under = back > exact, back < exact
        if rounding in ("rm", "rz"):
            near = np.where(over & ((rounding == "rm") | (exact > 0)), np.nextafter(near, down), near)
        if rounding in ("rp", "rz"):
            near = np.where(under & ((rounding == "rp") | (exact < 0)), np.nextafter(near, up), near)
        return near


def _sum(x: Any, y: Any, rounding: str) -> Any:
    """Return x + y; a zero from operands with different signs is negative when rounding down (IEEE 754, 6.3)."""
    total = sum_to_odd(x, y)
    if rounding != "rm":
        return total
    return np.where((total == 0) & (np.signbit(x) != np.signbit(y)), -0.0, total)


def _compute(function: Calculation, rounding: str, ftz: bool, *values: object) -> Any:
    """Apply `function` to float32 values and round the result once, with `ftz` as on a chip."""
    singles = [np.asarray(value, np.float32) for value in values]
    with np.errstate(all="ignore"):
        exact: Any = function(*(np.asarray(flushed(each) if ftz else each, np.float64) for each in singles))
        near = _rounded(exact, rounding)
        if ftz:
            near = flushed_result(exact, near, partial(_rounded, rounding=rounding))
        return np.asarray(near, np.float32)[()]


def _pairs(function: Calculation, rounding: str, ftz: bool, *values: object) -> Any:
    """Apply `function` to pairs, as uint64, and round each result once."""
    halves = [np.atleast_1d(np.asarray(value, np.uint64)).view(np.float32).reshape(-1, 2) for value in values]
    result = np.ascontiguousarray(_compute(function, rounding, ftz, *halves), np.float32)
    words = result.view(np.uint64).reshape(-1)
    return words if any(isinstance(value, np.ndarray) and value.ndim for value in values) else int(words[0])


@instruction("add{.rounding}{.ftz}.f32x2 {result}, {a}, {b};", name="add.f32x2", min_sm=100, isa="add",
    **_FACTS,
)  # fmt: skip
def add_f32x2(gpu: Machine, thread: Thread, a: u64, b: u64, *, rounding: Rounding = "rn", ftz: bool = False) -> u64:
    """Return the sums of two pairs; with `ftz`, subnormal numbers are zero."""
    return _pairs(lambda x, y: _sum(x, y, rounding), rounding, ftz, a, b)


@instruction("sub{.rounding}{.ftz}.f32x2 {result}, {a}, {b};", name="sub.f32x2", min_sm=100, isa="sub", **_FACTS)
def sub_f32x2(gpu: Machine, thread: Thread, a: u64, b: u64, *, rounding: Rounding = "rn", ftz: bool = False) -> u64:
    """Return the differences of two pairs; with `ftz`, subnormal numbers are zero."""
    return _pairs(lambda x, y: _sum(x, -y, rounding), rounding, ftz, a, b)


@instruction("mul{.rounding}{.ftz}.f32x2 {result}, {a}, {b};", name="mul.f32x2", min_sm=100, isa="mul",
    **_FACTS,
)  # fmt: skip
def mul_f32x2(gpu: Machine, thread: Thread, a: u64, b: u64, *, rounding: Rounding = "rn", ftz: bool = False) -> u64:
    """Return the products of two pairs; with `ftz`, subnormal numbers are zero."""
    return _pairs(lambda x, y: x * y, rounding, ftz, a, b)


@instruction("fma{.rounding}{.ftz}.f32x2 {result}, {a}, {b}, {c};", name="fma.f32x2", min_sm=100, isa="fma", **_FACTS)
def fma_f32x2(
    gpu: Machine, thread: Thread, a: u64, b: u64, c: u64, *, rounding: Rounding = "rn", ftz: bool = False
) -> u64:
    """Return the products of two pairs plus a third pair, each rounded once; with `ftz`, subnormal numbers are zero."""
    return _pairs(lambda x, y, z: _sum(x * y, z, rounding), rounding, ftz, a, b, c)


@instruction("add{.rounding}{.ftz}.f32 {result}, {a}, {b};", name="add.f32", min_sm=70, isa="add", **_FACTS)
def add_f32(gpu: Machine, thread: Thread, a: f32, b: f32, *, rounding: Rounding = "rn", ftz: bool = False) -> f32:
    """Return the sum of two numbers; with `ftz`, subnormal numbers are zero."""
    return _compute(lambda x, y: _sum(x, y, rounding), rounding, ftz, a, b)


@instruction("sub{.rounding}{.ftz}.f32 {result}, {a}, {b};", name="sub.f32", min_sm=70, isa="sub", **_FACTS)
def sub_f32(gpu: Machine, thread: Thread, a: f32, b: f32, *, rounding: Rounding = "rn", ftz: bool = False) -> f32:
    """Return the difference of two numbers; with `ftz`, subnormal numbers are zero."""
    return _compute(lambda x, y: _sum(x, -y, rounding), rounding, ftz, a, b)


@instruction("mul{.rounding}{.ftz}.f32 {result}, {a}, {b};", name="mul.f32", min_sm=70, isa="mul", **_FACTS)
def mul_f32(gpu: Machine, thread: Thread, a: f32, b: f32, *, rounding: Rounding = "rn", ftz: bool = False) -> f32:
    """Return the product of two numbers; with `ftz`, subnormal numbers are zero."""
    return _compute(lambda x, y: x * y, rounding, ftz, a, b)


@instruction("fma{.rounding}{.ftz}.f32 {result}, {a}, {b}, {c};", name="fma.f32", min_sm=70, isa="fma", **_FACTS)
def fma_f32(
    gpu: Machine, thread: Thread, a: f32, b: f32, c: f32, *, rounding: Rounding = "rn", ftz: bool = False
) -> f32:
    """Return a b + c, rounded once in a rounding mode; with `ftz`, subnormal numbers are zero."""
    return _compute(lambda x, y, z: _sum(x * y, z, rounding), rounding, ftz, a, b, c)


def _extreme(function: Callable[[Any, Any], Any], nan: bool, ftz: bool, *values: Any) -> Any:
    """Return the least or greatest number, ignoring NaN, or NaN with `nan`."""
    singles = [np.asarray(value, np.float32) for value in values]
    given = [np.asarray(flushed(each)) if ftz else each for each in singles]
    found = given[0]
    for value in given[1:]:
        found = function(found, value)
    if nan:
        found = np.where(reduce(np.logical_or, map(np.isnan, given)), np.float32(np.nan), found)  # lanes or one number
    return np.asarray(found, np.float32)[()]


def _with_nan(op: str, operands: str) -> Callable[..., str]:
    def template(nan: bool, **_: object) -> str:
        return f"{op}{{.ftz}}{'.NaN' if nan else ''}.f32 {{result}}, {operands};"

    return template


@instruction(_with_nan("max", "{a}, {b}"), name="max.f32", min_sm=80, isa="max", **_FACTS)
def max_f32(gpu: Machine, thread: Thread, a: f32, b: f32, *, ftz: bool = False, nan: bool = False) -> f32:
    """Return the greater number, ignoring a NaN operand; with `nan`, return NaN if any operand is NaN."""
    return _extreme(greatest, nan, ftz, a, b)


@instruction(_with_nan("min", "{a}, {b}"), name="min.f32", min_sm=80, isa="min", **_FACTS)
def min_f32(gpu: Machine, thread: Thread, a: f32, b: f32, *, ftz: bool = False, nan: bool = False) -> f32:
    """Return the smaller number, ignoring a NaN operand; with `nan`, return NaN if any operand is NaN."""
    return _extreme(least, nan, ftz, a, b)


@instruction(_with_nan("max", "{a}, {b}, {c}"), name="max3.f32", min_sm=100, isa="max", **_FACTS)
def max3_f32(gpu: Machine, thread: Thread, a: f32, b: f32, c: f32, *, ftz: bool = False, nan: bool = False) -> f32:
    """Return the greatest of three numbers, ignoring NaN; with `nan`, return NaN if any operand is NaN."""
    return _extreme(greatest, nan, ftz, a, b, c)


@instruction(_with_nan("min", "{a}, {b}, {c}"), name="min3.f32", min_sm=100, isa="min", **_FACTS)
def min3_f32(gpu: Machine, thread: Thread, a: f32, b: f32, c: f32, *, ftz: bool = False, nan: bool = False) -> f32:
    """Return the smallest of three numbers, ignoring NaN; with `nan`, return NaN if any operand is NaN."""
    return _extreme(least, nan, ftz, a, b, c)


def _bfloats(function: Callable[[Any, Any], object], nan: bool, *values: object) -> Any:
    """Return the least or greatest numbers of bfloat16 pairs, in 32 bits."""
    words = [np.atleast_1d(np.asarray(value)).astype(np.uint64) for value in values]
    halves: list[np.ndarray] = []
    for shift in (0, 16):
        numbers = [FORMATS["bf16"].decoded((word >> np.uint64(shift)) & np.uint64(0xFFFF)) for word in words]
        found = np.atleast_1d(_extreme(function, nan, False, *numbers)).astype(np.float64)
        halves.append(FORMATS["bf16"].encoded(found).astype(np.int64))
    result = halves[0] | halves[1] << 16
    return result if any(isinstance(value, np.ndarray) and value.ndim for value in values) else int(result[0])


@instruction("max{.nan}.bf16x2 {result}, {a}, {b};", name="max.bf16x2", min_sm=80, isa="max", **_FACTS)
def max_bf16x2(gpu: Machine, thread: Thread, a: u32, b: u32, *, nan: Literal["", "NaN"] = "") -> u32:
    """Return the greater numbers of two bfloat16 pairs, ignoring NaN; with nan="NaN", NaN propagates."""
    return _bfloats(greatest, nan == "NaN", a, b)


@instruction("min{.nan}.bf16x2 {result}, {a}, {b};", name="min.bf16x2", min_sm=80, isa="min", **_FACTS)
def min_bf16x2(gpu: Machine, thread: Thread, a: u32, b: u32, *, nan: Literal["", "NaN"] = "") -> u32:
    """Return the smaller numbers of two bfloat16 pairs, ignoring NaN; with nan="NaN", NaN propagates."""
    return _bfloats(least, nan == "NaN", a, b)


def _fused_halves(kind: str, *values: object) -> Any:
    """Return a b + c of the halves of three words, each rounded once."""
    words = [np.atleast_1d(np.asarray(value, np.uint64)) for value in values]
    result = np.zeros(np.broadcast(*words).shape, np.int64)
    for shift in (0, 16):
        a, b, c = (
            FORMATS[kind].decoded((word >> np.uint64(shift)) & np.uint64(0xFFFF)).astype(np.float64) for word in words
        )
        with np.errstate(all="ignore"):
            near = FORMATS[kind].rounded(sum_to_odd(a * b, c), "rn")
            result |= FORMATS[kind].encoded(near).astype(np.int64) << shift
    return result if any(isinstance(value, np.ndarray) and value.ndim for value in values) else int(result[0])


@instruction("fma.rn.f16x2 {result}, {a}, {b}, {c};", name="fma.f16x2", min_sm=70, isa="fma", **_FACTS)
def fma_f16x2(gpu: Machine, thread: Thread, a: u32, b: u32, c: u32) -> u32:
    """Return the products of two float16 pairs plus a third pair, each rounded once."""
    return _fused_halves("f16", a, b, c)


@instruction("fma.rn.bf16x2 {result}, {a}, {b}, {c};", name="fma.bf16x2", min_sm=80, isa="fma", **_FACTS)
def fma_bf16x2(gpu: Machine, thread: Thread, a: u32, b: u32, c: u32) -> u32:
    """Return the products of two bfloat16 pairs plus a third pair, each rounded once."""
    return _fused_halves("bf16", a, b, c)
