"""The front end: translates a Python function to IR and records the source location of every node."""

from . import ir, tirx
from .builder import in_dialect_of_tvm, is_reading
from .diagnostics import caller_span, did_you_mean, explained
from .encoding import add_16B_offset, encode_matrix_descriptor
from .from_source import from_source
from .functions import inline
from .handles import OpenRole
from .pool import PoolAllocator
from .prim_func import ir_module, prim_func
from .refused import REFUSALS, Refusal, refusal
from .source import FunctionSource, check_function, source_of

__all__ = [
    "REFUSALS",
    "FunctionSource",
    "OpenRole",
    "PoolAllocator",
    "Refusal",
    "add_16B_offset",
    "caller_span",
    "check_function",
    "did_you_mean",
    "encode_matrix_descriptor",
    "explained",
    "from_source",
    "in_dialect_of_tvm",
    "inline",
    "ir",
    "ir_module",
    "is_reading",
    "prim_func",
    "refusal",
    "source_of",
    "tirx",
]
