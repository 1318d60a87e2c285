"""The threads of a CTA that a condition may select, as determined by thread indices alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tirx_mini.ir import Binary, Cast, Const, DataType, Expr, Select, Special, Unary, Var, const

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
        return _wrapped(expr.dtype, thread_values(expr.value, warps, variable)) if known else None
    if isinstance(expr, Binary) and expr.op in _BINARY:
        a = thread_values(expr.a, warps, variable)
        b = None if a is None else thread_values(expr.b, warps, variable)
        if a is None or b is None or (expr.op in ("//", "%") and not np.all(b)):
            return None
        return _wrapped(expr.dtype, np.asarray(_BINARY[expr.op](a, b)))
    if isinstance(expr, Unary):
        value = thread_values(expr.value, warps, variable)
        return None if value is None else _wrapped(expr.dtype, np.asarray(_UNARY[expr.op](value)))
    if isinstance(expr, Select):
        parts = [thread_values(part, warps, variable) for part in (expr.cond, expr.a, expr.b)]
        return None if any(part is None for part in parts) else np.where(*parts)  # type: ignore[call-overload]
    return None


def _wrapped(dtype: DataType, values: np.ndarray | None) -> np.ndarray | None:
    """Return integers reduced to the bits of their type; 64 bits are NumPy's own."""
    if values is None or not dtype.is_integer or dtype.bits > 32 or values.dtype == bool:
        return values
    low = -(1 << dtype.bits - 1) if dtype.is_signed else 0
    return (values - low & (1 << dtype.bits) - 1) + low


def selected(
    cond: Expr,
    warps: int,
    variable: Callable[[Var], np.ndarray | None] = lambda var: None,
    bound: Mapping[Var, Expr] = MappingProxyType({}),
) -> tuple[np.ndarray, np.ndarray]:
    """Return bool[warps, 32] masks of the threads for which `cond` may hold and for which it may fail.

    variable: as of `thread_values`. bound: the definitions of variables.
    """
    value = thread_values(cond, warps, variable)
    if value is not None:
        known = np.broadcast_to(value.astype(bool), (warps, LANES))
        return known, ~known
    if isinstance(cond, Var) and cond in bound:
        return selected(bound[cond], warps, variable, bound)
    if isinstance(cond, Unary) and cond.op == "not":
        holds, fails = selected(cond.value, warps, variable, bound)
        return fails, holds
    parts = _parts(cond, bound)
    if parts is None:
        return np.ones((warps, LANES), bool), np.ones((warps, LANES), bool)
    (a, not_a), (b, not_b) = (selected(part, warps, variable, bound) for part in parts[1:])
    return (a & b, not_a | not_b) if parts[0] == "and" else (a | b, not_a & not_b)


def _parts(cond: Expr, bound: Mapping[Var, Expr]) -> tuple[str, Expr, Expr] | None:
    """Return "and" or "or" with the two conditions that it joins, also of `(a | b) == 0`; None for any other one."""
    if not isinstance(cond, Binary):
        return None
    if cond.op in ("and", "or"):
        return cond.op, cond.a, cond.b
    joined = cond.a
    while (isinstance(joined, Var) and joined in bound) or (isinstance(joined, Cast) and joined.dtype.is_integer):
        joined = joined.value if isinstance(joined, Cast) else bound[joined]
    zero = isinstance(cond.b, Const) and not cond.b.value
    if cond.op not in ("==", "!=") or not zero or not isinstance(joined, Binary) or joined.op != "|":
        return None
    a, b = (Binary(cond.dtype, cond.op, part, const(0, part.dtype)) for part in (joined.a, joined.b))
    return ("and" if cond.op == "==" else "or"), a, b
