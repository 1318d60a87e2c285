"""Operators, dtypes and special registers under their TVMScript names: ``T.And(a, b)``, ``T.f32``, ``T.threadIdx``."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

import ml_dtypes
import numpy as np

from tirx_mini.ir import Expr, as_expr, binary, const, magnitude, unary

from .handles import data_type


def _of_all(op: str, *values: object) -> object:
    return reduce(partial(binary, op), values)


def _quotient(a: object, b: object) -> object:
    """Return ``T.Div``, which truncates for non-negative integers, as in indices."""
    whole = as_expr(a).dtype.is_integer and as_expr(b).dtype.is_integer
    return binary("//" if whole else "/", a, b)


def _limit(which: str, dtype: object) -> Expr:
    """Return the smallest or largest finite value of a dtype; `which` is "min" or "max"."""
    kind = data_type(dtype)
    if kind.is_integer:
        return const(int(getattr(np.iinfo(str(kind)), which)), kind)
    return const(float(getattr(ml_dtypes.finfo(str(kind)), which)), kind)


def _of_two(function: Callable[[Any, Any], object]) -> Callable[[Any, Any], Any]:
    """Wrap a Python operator as a language function with named parameters."""

    def operation(a: object, b: object) -> Any:
        return function(a, b)

    return operation


_NODES = {"Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "Mod": "%", "FloorMod": "%", "EQ": "==", "NE": "!=",
          "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "Max": "max", "Min": "min"}  # fmt: skip
"""Names of TVM for the nodes of expressions."""

OPERATORS: Mapping[str, Callable[..., Any]] = {
    **{name: _of_two(partial(binary, op)) for name, op in _NODES.items()},
    "Div": _quotient,
    "IntImm": lambda dtype, value: const(int(value), data_type(dtype)),
    "FloatImm": lambda dtype, value: const(float(value), data_type(dtype)),
    "infinity": lambda dtype: const(math.inf, data_type(dtype)),
    "max_value": partial(_limit, "max"),
    "min_value": partial(_limit, "min"),
    "isnan": lambda x: binary("!=", x, x),
    "abs": magnitude,
    "fabs": magnitude,
    "And": partial(_of_all, "and"),
    "Or": partial(_of_all, "or"),
    "all": partial(_of_all, "and"),
    "any": partial(_of_all, "or"),
    "Not": lambda x: unary("not", x),
    "bitwise_and": _of_two(operator.and_),
    "bitwise_or": _of_two(operator.or_),
    "bitwise_xor": _of_two(operator.xor),
    "bitwise_not": lambda x: operator.invert(x),  # Python's own takes no keyword
    "shift_left": _of_two(operator.lshift),
    "shift_right": _of_two(operator.rshift),
    "floordiv": _of_two(operator.floordiv),
    "floormod": _of_two(operator.mod),
    "truncdiv": _of_two(operator.floordiv),  # equal to floor division, because indices are not negative
    "truncmod": _of_two(operator.mod),
}

SHORT_DTYPES: Mapping[str, str] = {
    "boolean": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
}

DTYPES = (
    *"bool handle int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64".split(),
    "float8_e4m3fn",
    "float8_e5m2",
    "float6_e2m3fn",
    "float6_e3m2fn",
)
"""The dtypes that completion shows; vectors of them (``Tx.float16x8``) also exist."""

AXES = ("threadIdx", "blockIdx", "clusterCtaIdx", "gridDim")
"""Special registers with the components x, y and z."""
