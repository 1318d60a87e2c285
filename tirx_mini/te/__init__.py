"""Tensor expressions: what is computed (`compute`), and how (`create_schedule`), as Apache TVM's `te` has them."""

from .advice import check
from .axis import IterVar, reduce_axis, thread_axis
from .build import Launches, build
from .intrinsic import TensorIntrin, decl_tensor_intrin
from .lower import lower
from .mathematics import abs, exp, exp2, if_then_else, log, log2, rsqrt, sigmoid, sqrt, tanh
from .prim_func import create_prim_func
from .reduction import Reduce, comm_reducer, max, max_value, min, min_value, prod, sum
from .schedule import Schedule, create_schedule
from .stage import Stage
from .tensor import ComputeOp, Operation, PlaceholderOp, Tensor, compute, placeholder
from .tensor_core import mma, mma_store
from .tir_schedule import Schedule as TirSchedule
from .trace import BlockRV, LoopRV, Trace

__all__ = [
    "ComputeOp",
    "BlockRV",
    "Launches",
    "LoopRV",
    "TirSchedule",
    "Trace",
    "IterVar",
    "Operation",
    "PlaceholderOp",
    "Reduce",
    "Schedule",
    "Stage",
    "Tensor",
    "abs",
    "build",
    "check",
    "comm_reducer",
    "compute",
    "create_prim_func",
    "create_schedule",
    "decl_tensor_intrin",
    "mma",
    "mma_store",
    "TensorIntrin",
    "exp",
    "exp2",
    "if_then_else",
    "log",
    "log2",
    "lower",
    "max",
    "max_value",
    "min",
    "min_value",
    "placeholder",
    "prod",
    "reduce_axis",
    "rsqrt",
    "sigmoid",
    "sqrt",
    "sum",
    "tanh",
    "thread_axis",
]
