"""Tensor expressions as in Apache TVM's `te`: definitions (`compute`) and schedules (`create_schedule`)."""

from typing import Any

from .advice import check
from .axis import IterVar, reduce_axis, thread_axis
from .build import Launches, build
from .index_map import IndexMap
from .intrinsic import TensorIntrin, decl_tensor_intrin
from .lower import lower
from .mathematics import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    copysign,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    exp10,
    floor,
    fmod,
    hypot,
    if_then_else,
    isfinite,
    isinf,
    isnan,
    ldexp,
    log,
    log1p,
    log2,
    log10,
    nearbyint,
    nextafter,
    popcount,
    pow,
    power,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)  # fmt: skip
from .prim_func import create_prim_func
from .reduction import Reduce, comm_reducer, max, max_value, min, min_value, prod, sum
from .registered import RegisteredIntrin
from .scalars import (
    all,
    any,
    const,
    div,
    floordiv,
    floormod,
    indexdiv,
    indexmod,
    refused,
    size_var,
    truncdiv,
    truncmod,
    var,
)  # fmt: skip
from .schedule import Schedule, create_schedule
from .stage import Stage
from .symbolic import SymbolicFunction, SymbolicModule
from .tensor import ComputeOp, Operation, PlaceholderOp, Tensor, compute, placeholder
from .tensor_core import mma, mma_store
from .tir_schedule import Schedule as TirSchedule
from .trace import BlockRV, LoopRV, Trace

__all__ = [
    "abs", "acos", "acosh", "all", "any", "asin", "asinh", "atan", "atan2", "atanh", "BlockRV", "build", "ceil",
    "check", "comm_reducer", "compute", "ComputeOp", "const", "copysign", "cos", "cosh", "create_prim_func",
    "create_schedule", "decl_tensor_intrin", "div", "erf", "exp", "exp10", "exp2", "floor", "floordiv", "floormod",
    "fmod", "hypot", "if_then_else", "indexdiv", "IndexMap", "indexmod", "isfinite", "isinf", "isnan", "IterVar",
    "Launches", "ldexp", "log", "log10", "log1p", "log2", "LoopRV", "lower", "max", "max_value", "min", "min_value",
    "mma", "mma_store", "nearbyint", "nextafter", "Operation", "placeholder", "PlaceholderOp", "popcount", "pow",
    "power", "prod", "Reduce", "reduce_axis", "RegisteredIntrin", "round", "rsqrt", "Schedule", "sigmoid", "sin",
    "sinh", "size_var", "sqrt", "Stage", "sum", "SymbolicFunction", "SymbolicModule", "tan", "tanh", "Tensor",
    "TensorIntrin", "thread_axis", "TirSchedule", "Trace", "trunc", "truncdiv", "truncmod", "var",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    found = refused(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found
