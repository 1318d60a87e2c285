"""Tensor expressions: what is computed (`compute`), and how (`create_schedule`), as Apache TVM's `te` has them."""

from .axis import IterVar, reduce_axis, thread_axis
from .lower import lower
from .reduction import Reduce, comm_reducer, max, max_value, min, min_value, prod, sum
from .schedule import Schedule, create_schedule
from .stage import Stage
from .tensor import ComputeOp, Operation, PlaceholderOp, Tensor, compute, placeholder

__all__ = [
    "ComputeOp",
    "IterVar",
    "Operation",
    "PlaceholderOp",
    "Reduce",
    "Schedule",
    "Stage",
    "Tensor",
    "comm_reducer",
    "compute",
    "create_schedule",
    "lower",
    "max",
    "max_value",
    "min",
    "min_value",
    "placeholder",
    "prod",
    "reduce_axis",
    "sum",
    "thread_axis",
]
