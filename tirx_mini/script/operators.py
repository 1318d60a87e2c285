"""Operators, dtypes and special registers under their TVMScript names: ``T.And(a, b)``, ``T.f32``, ``T.threadIdx``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

from tirx_mini.ir import binary, unary


def _of_all(op: str, *values: Any) -> Any:
    return reduce(partial(binary, op), values)


OPERATORS: Mapping[str, Callable[..., Any]] = {
    "And": partial(_of_all, "and"),
    "Or": partial(_of_all, "or"),
    "Not": partial(unary, "not"),
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_not": operator.invert,
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "truncdiv": operator.floordiv,  # equal to floor division, because indices are not negative
    "truncmod": operator.mod,
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
)
"""The dtypes that completion shows; vectors of them (``Tx.float16x8``) also exist."""

AXES = ("threadIdx", "blockIdx", "clusterCtaIdx", "gridDim")
"""Special registers with the components x, y and z."""
