"""The threads of a CTA that a condition may select, as determined by thread indices alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tirx_mini.ir import Binary, Cast, Const, Expr, Select, Special, Unary, Var

from ..machine import LANES

_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.mod, "<<": np.left_shift,
    ">>": np.right_shift, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "min": np.minimum,
    "max": np.maximum, "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip
_UNARY: Mapping[str, Callable[[Any], Any]] = {"-": np.negative, "~": np.invert, "not": np.logical_not}


def thread_values(
    expr: Expr, warps: int, variable: Callable[[Var], np.ndarray | None] = lambda var: None
) -> np.ndarray | None:
    """Return the value of `expr` in each thread, broadcastable to [warps, 32]; None if it depends on more.

    variable: the value of a variable in each thread.
    """
    if isinstance(expr, Const):
        return np.asarray(expr.value)
    if isinstance(expr, Var):
        return variable(expr)
    if isinstance(expr, Special):
        if expr.name == "threadIdx.x":
            return np.arange(warps * LANES).reshape(warps, LANES)
        return np.arange(warps)[:, None] if expr.name == "warp_id_in_cta" else None
    if isinstance(expr, Cast):
        known = expr.dtype.is_integer or expr.dtype.is_bool
        return thread_values(expr.value, warps, variable) if known else None
    if isinstance(expr, Binary) and expr.op in _BINARY:
        a = thread_values(expr.a, warps, variable)
        b = None if a is None else thread_values(expr.b, warps, variable)
        if a is None or b is None or (expr.op in ("//", "%") and not np.all(b)):
            return None
        return np.asarray(_BINARY[expr.op](a, b))
    if isinstance(expr, Unary):
        value = thread_values(expr.value, warps, variable)
        return None if value is None else np.asarray(_UNARY[expr.op](value))
    if isinstance(expr, Select):
        parts = [thread_values(part, warps, variable) for part in (expr.cond, expr.a, expr.b)]
        return None if any(part is None for part in parts) else np.where(*parts)  # type: ignore[call-overload]
    return None


def selected(cond: Expr, warps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return bool[warps, 32] masks of the threads for which `cond` may hold and for which it may fail."""
    if isinstance(cond, Unary) and cond.op == "not":
        holds, fails = selected(cond.value, warps)
        return fails, holds
    if isinstance(cond, Binary) and cond.op in ("and", "or"):
        (a, not_a), (b, not_b) = selected(cond.a, warps), selected(cond.b, warps)
        return (a & b, not_a | not_b) if cond.op == "and" else (a | b, not_a & not_b)
    value = thread_values(cond, warps)
    if value is None:
        return np.ones((warps, LANES), bool), np.ones((warps, LANES), bool)
    known = np.broadcast_to(value.astype(bool), (warps, LANES))
    return known, ~known
