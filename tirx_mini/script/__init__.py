"""The front end: translates a Python function to IR and records the source location of every node."""

from . import ir, tirx
from .builder import Builder, current, in_dialect_of_tvm, is_reading
from .diagnostics import caller_span, did_you_mean, explained
from .encoding import add_16B_offset, encode_matrix_descriptor
from .from_source import from_source
from .functions import inline
from .handles import BufferType, DType, Loop, OpenHint, OpenRole, Untyped, data_type, loop, shape_of
from .pool import PoolAllocator
from .prim_func import caller_locals, ir_module, prim_func, read, reading
from .refused import REFUSALS, Refusal, refusal
from .source import FunctionSource, check_function, source_of

__all__ = [
    "REFUSALS",
    "Untyped",
    "BufferType",
    "Builder",
    "DType",
    "FunctionSource",
    "Loop",
    "OpenHint",
    "OpenRole",
    "PoolAllocator",
    "Refusal",
    "add_16B_offset",
    "caller_locals",
    "caller_span",
    "check_function",
    "current",
    "data_type",
    "did_you_mean",
    "encode_matrix_descriptor",
    "explained",
    "from_source",
    "in_dialect_of_tvm",
    "inline",
    "ir",
    "ir_module",
    "is_reading",
    "loop",
    "prim_func",
    "read",
    "reading",
    "refusal",
    "shape_of",
    "source_of",
    "tirx",
]
