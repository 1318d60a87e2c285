"""Tabulation of index expressions: their values in each thread and each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tirx_mini.ir import Binary, Cast, Const, Expr, Var

_BINARY: Mapping[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.mod, "<<": np.left_shift,
    ">>": np.right_shift, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


def table_of(expr: Expr, values: Mapping[Var, np.ndarray]) -> Any:
    """Evaluate an integer expression over tables of its variables' values, or return None if a variable has no table.
    """
    if isinstance(expr, Const):
        return int(expr.value)
    if isinstance(expr, Var):
        return values.get(expr)
    if isinstance(expr, Cast) and expr.dtype.is_integer:
        return table_of(expr.value, values)
    if isinstance(expr, Binary) and expr.op in _BINARY:
        a, b = table_of(expr.a, values), table_of(expr.b, values)
        return None if a is None or b is None else _BINARY[expr.op](a, b)
    return None
