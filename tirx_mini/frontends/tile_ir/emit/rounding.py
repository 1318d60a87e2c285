"""Operations with explicit rounding: directed rounding, tf32 and flush-to-zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.ir import FLOAT32, UINT32, Call, DataType, Expr, TirxError, cast, reinterpret
from tirx_mini.isa import TABLE

from ..ssa import Op
from .arithmetic import FLOAT64, Compute, instruction

_MODES: Mapping[str, str] = {
    "nearest_even": "rn", "nearest_away": "rna", "zero": "rz", "negative_inf": "rm", "positive_inf": "rp",
}  # fmt: skip
_EXACT = ("nearest_even", "approx", "full")
"""Modes that the plain operation has, or is more exact than."""
_INSTRUCTIONS: Mapping[str, str] = {
    "arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul", "math.fma": "fma", "arith.maximumf": "max",
    "arith.minimumf": "min", "arith.maxnumf": "max", "arith.minnumf": "min",
}  # fmt: skip
_PTX: Mapping[str, str] = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}


def rounded(op: Op) -> Compute | None:
    """Return an operation's value with a rounding mode or `flush_to_zero`, or None if the default code is correct."""
    mode = getattr(op, "rounding_mode", "nearest_even")
    flushes = bool(getattr(op, "flush_to_zero", False))
    if mode in _EXACT and not flushes:
        return None
    name = _INSTRUCTIONS.get(op.kind.name)
    if name is None and mode in _EXACT:  # their instructions flush, or their results are no subnormal numbers
        return None
    extreme = name in ("max", "min")

    def compute(*values: Expr) -> Expr:
        dtype = values[0].dtype
        if name is None or dtype not in (FLOAT32, FLOAT64):
            raise _unsupported(mode, op.kind.name, dtype)
        if extreme:
            return instruction(f"{name}.f32", *values, ftz=flushes, nan=op.kind.name.endswith("imumf"))
        options: dict[str, Any] = {"rounding": _MODES.get(mode, "rn")}
        if dtype == FLOAT32:
            return instruction(f"{name}.f32", *values, **options, ftz=flushes)
        operands, attrs = TABLE[f"{name}.f64"].bind(values, options)
        return Call(FLOAT64, f"{name}.f64", operands, attrs)

    return compute


def float_conversion(mode: str, target: DataType, tf32: bool) -> Compute | None:
    """Return a float conversion with non-default rounding, or None if the default rounding applies.

    tf32: whether the result is to be one of tf32, which the IR has as float32.
    """
    if mode == "nearest_even" and not tf32:
        return None
    rounding = _MODES[mode]

    def compute(x: Expr) -> Expr:
        if tf32:
            if rounding not in ("rn", "rz", "rna"):
                raise _unsupported(mode, "a conversion", DataType("float32"))
            wide = x if x.dtype == FLOAT32 else cast(FLOAT32, x)
            return reinterpret(FLOAT32, _converted("cvt.packed", UINT32, wide, "tf32", "f32", rounding))
        exact = target.bits > x.dtype.bits or target == x.dtype
        known = _PTX.get(str(target)) if str(x.dtype) in ("float32", "float64") else None
        if exact:
            return cast(target, x)
        if known is None or rounding == "rna" or (known == "bf16" and rounding in ("rm", "rp")):
            raise _unsupported(mode, "a conversion", target)
        result = target if target.bits > 16 else DataType("uint16")
        return reinterpret(target, _converted("cvt", result, x, known, _PTX[str(x.dtype)], rounding))

    return compute


def _converted(name: str, result: DataType, x: Expr, dtype: str, atype: str, rounding: str) -> Expr:
    operands, attrs = TABLE[name].bind((x,), {"dtype": dtype, "atype": atype, "rounding": rounding})
    return Call(result, name, operands, attrs)


def _unsupported(mode: str, what: str, dtype: DataType) -> TirxError:
    return TirxError(
        f"the compiler has no code for {what} of {dtype} that is rounded by {mode}: only the interpreter has",
        hint="leave the rounding mode out, or compute in float32",
    )
